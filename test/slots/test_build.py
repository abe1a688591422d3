"""From IR to the program of slot reasoning: terms of indices, keys back to ops, operands in slots."""

import pytest
from xdsl.dialects import scf
from xdsl.ir import OpResult

from pto_buf.dialect.ptobuf import SlotSelectOp
from pto_buf.dialect.table.row import Role
from pto_buf.errors import DiagnosticError
from pto_buf.hw import Pipe
from pto_buf.slots.build import Built, build
from pto_buf.slots.flow import SiteKey
from pto_buf.slots.program import Branch, Loop, Op, Release, While
from pto_buf.slots.terms import Apply, Const, Opaque, Select, Term, Var
from support.slot_kernels import func_of, load, pick, release, slots, store


def built(body: str) -> Built:
    return build(func_of(body))


def term_in_loop(index_ops: str, bounds: str = "%c0 to %n step %c1") -> Term:
    """The term of %s, worked out in a loop over %i."""
    body = f"scf.for %i = {bounds} {{\n{index_ops}\n{pick('p', 'r', 's', 4)}{load('p')}}}\n"
    (loop,) = built(slots("r", 4) + body).program.body
    assert isinstance(loop, Loop)
    op = loop.body[-1]
    assert isinstance(op, Op)
    return op.accesses[0].term


def shown(term: Term) -> str:
    """A term in the order of its operators, with names instead of keys."""
    match term:
        case Const(value):
            return str(value)
        case Var(name=name):
            return name
        case Opaque(name=name):
            return f"?{name}"
        case Apply(fn, left, right):
            return f"{fn}({shown(left)}, {shown(right)})"
        case Select(condition, if_true, if_false):
            return f"select({shown(condition)}, {shown(if_true)}, {shown(if_false)})"


def test_straight_line() -> None:
    result = built(slots("r", 2) + pick("p", "r", "c1", 2) + load("p", "t") + store("t", "tile") + release("p"))
    (ring,) = result.program.sets
    assert (ring.key, ring.name, ring.count, ring.owned) == (0, "r", 2, False)
    loading, storing, released = result.program.body
    assert isinstance(loading, Op) and isinstance(storing, Op) and isinstance(released, Release)
    assert loading.pipes == (Pipe.MTE2,) and storing.pipes == (Pipe.MTE3,)
    assert [(a.slots, a.term, a.role, a.operand, a.lease) for a in loading.accesses] == [
        (ring, Const(1), Role.WRITE, "dst", None)
    ]
    assert [(a.role, a.lease) for a in storing.accesses] == [(Role.READ, loading.key)]
    assert (released.slots, released.lease) == (ring, None)
    assert result.ops[loading.key].name == "ptobuf.load_into"
    index = result.indices[SiteKey(loading.key, 0)]
    select = result.ops[loading.key].operands[1]
    assert isinstance(select, OpResult) and isinstance(select.op, SlotSelectOp) and select.op.index is index
    assert loading.place is not None and loading.place.line < (storing.place.line if storing.place else 0)


def test_keys_are_in_program_order() -> None:
    result = built(slots("r", 1) + pick("p", "r", "c0", 1) + "scf.if %flag {\n" + load("p") + "}\n" + load("p"))
    branch, after = result.program.body
    assert isinstance(branch, Branch) and isinstance(after, Op)
    (inner,) = branch.then
    assert branch.otherwise == () and branch.key < inner.key < after.key
    assert isinstance(result.ops[branch.key], scf.IfOp)
    assert shown(branch.condition) == "flag"


@pytest.mark.parametrize(
    ("ops", "expected"),
    [
        ("%s = arith.remui %i, %c2 : index", "remui(i, 2)"),
        ("%s = arith.andi %i, %c3 : index", "andi(i, 3)"),
        ("%a = arith.addi %c1, %i : index\n%s = arith.remsi %a, %c3 : index", "remsi(addi(i, 1), 3)"),
        ("%a = arith.subi %i, %c1 : index\n%s = arith.remui %a, %c3 : index", "remui(addi(i, -1), 3)"),
        ("%a = arith.addi %c2, %c1 : index\n%s = arith.remui %a, %c2 : index", "1"),
        ("%a = arith.shrui %i, %c2 : index\n%s = arith.andi %a, %c1 : index", "andi(shrui(i, 2), 1)"),
        ("%b = arith.cmpi slt, %i, %n : index\n%s = arith.select %b, %c0, %c1 : index", "select(slt(i, n), 0, 1)"),
        (
            "%b = arith.cmpi eq, %i, %c0 : index\n%s = scf.if %b -> (index) {\n scf.yield %c2 : index\n"
            "} else {\n scf.yield %c3 : index\n}",
            "select(eq(i, 0), 2, 3)",
        ),
        (
            "%a = arith.index_cast %i : index to i64\n%d = arith.constant 2 : i64\n%e = arith.remsi %a, %d : i64\n"
            "%s = arith.index_cast %e : i64 to index",
            "remsi(i, 2)",
        ),
        (  # 32 bits do not wrap here, but could in the next case
            "%a = arith.remui %i, %c4 : index\n%b = arith.index_cast %a : index to i32\n"
            "%d = arith.constant 1 : i32\n%e = arith.addi %b, %d : i32\n%f = arith.index_cast %e : i32 to index\n"
            "%s = arith.remui %f, %c4 : index",
            "remui(addi(remui(i, 4), 1), 4)",
        ),
        (
            "%d = arith.constant 1 : i32\n%e = arith.addi %small, %d : i32\n%f = arith.index_cast %e : i32 to index\n"
            "%s = arith.andi %f, %c3 : index",
            "andi(?e, 3)",
        ),
    ],
)
def test_index_terms(ops: str, expected: str) -> None:
    assert shown(term_in_loop(ops)) == expected


def test_a_loop_says_the_range_of_its_counter() -> None:
    (loop,) = built(
        slots("r", 4) + "scf.for %i = %c1 to %c4 step %c2 {\n" + pick("p", "r", "i", 4) + load("p") + "}\n"
    ).program.body
    assert isinstance(loop, Loop)
    assert (loop.lower, loop.upper, loop.step, loop.stage) == (Const(1), Const(4), Const(2), 1)
    assert (loop.var.low, loop.var.high) == (1, 3)


def carried(init: str, step: str, count: int = 2) -> tuple[Term, Loop]:
    """The term of a carried %k in its loop, with `%next` worked out by `step`."""
    body = (
        f"%last = scf.for %i = %c0 to %n step %c1 iter_args(%k = {init}) -> (index) {{\n"
        f"{pick('p', 'r', 'k', count)}{load('p')}{step}\nscf.yield %next : index\n}}\n"
    )
    (loop,) = built(slots("r", count) + body).program.body
    assert isinstance(loop, Loop)
    (op,) = loop.body
    assert isinstance(op, Op)
    return op.accesses[0].term, loop


@pytest.mark.parametrize(
    ("init", "step", "expected"),
    [
        ("%c1", "%next = arith.addi %k, %c2 : index", "addi(muli(i, 2), 1)"),
        ("%c1", "%next = arith.subi %c1, %k : index", "remui(addi(i, 1), 2)"),
        ("%c0", "%next = arith.xori %k, %c1 : index", "remui(i, 2)"),
        ("%c0", "%a = arith.addi %k, %c1 : index\n%next = arith.remui %a, %c3 : index", "remui(i, 3)"),
        ("%c0", "%a = arith.addi %k, %c2 : index\n%next = arith.remui %a, %c3 : index", "remui(muli(i, 2), 3)"),
        (
            "%c0",
            "%a = arith.addi %k, %c1 : index\n%b = arith.cmpi eq, %a, %c3 : index\n"
            "%next = arith.select %b, %c0, %a : index",
            "remui(i, 3)",
        ),
        ("%c1", "%next = arith.addi %k, %c0 : index", "1"),
    ],
)
def test_carried_values_with_a_closed_form(init: str, step: str, expected: str) -> None:
    term, loop = carried(init, step)
    assert (shown(term), loop.carried) == (expected, ())


def test_a_carried_value_without_a_closed_form_is_a_variable_of_its_loop() -> None:
    step = (
        "%a = arith.addi %k, %c1 : index\n%b = arith.remui %a, %c2 : index\n%next = arith.select %flag, %b, %k : index"
    )
    term, loop = carried("%c0", step)
    (entry,) = loop.carried
    assert term is entry.var and entry.init == Const(0)
    assert shown(entry.next) == "select(flag, remui(addi(k, 1), 2), k)"


def test_two_values_that_change_places() -> None:
    body = (
        "%x1, %y1 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %c0, %b = %c1) -> (index, index) {\n"
        f"{pick('p', 'r', 'a', 2)}{load('p')}{pick('q', 'r', 'b', 2)}{store('q')}scf.yield %b, %a : index, index\n}}\n"
    )
    (loop,) = built(slots("r", 2) + body).program.body
    assert isinstance(loop, Loop) and loop.carried == ()
    terms = [node.accesses[0].term for node in loop.body if isinstance(node, Op)]
    assert [shown(term) for term in terms] == ["remui(i, 2)", "remui(addi(i, 1), 2)"]


def test_a_counter_through_two_loops_is_flat() -> None:
    body = (
        "%outer = scf.for %i = %c0 to %n step %c1 iter_args(%k = %c0) -> (index) {\n"
        "%inner = scf.for %j = %c0 to %c3 step %c1 iter_args(%l = %k) -> (index) {\n"
        f"%s = arith.remui %l, %c2 : index\n{pick('p', 'r', 's', 2)}{load('p')}"
        "%m1 = arith.addi %l, %c1 : index\nscf.yield %m1 : index\n}\n"
        "scf.yield %inner : index\n}\n"
        f"%s2 = arith.remui %outer, %c2 : index\n{pick('q', 'r', 's2', 2)}{load('q')}"
    )
    outer, last = built(slots("r", 2) + body).program.body
    assert isinstance(outer, Loop) and isinstance(last, Op)
    (inner,) = outer.body
    assert isinstance(inner, Loop) and outer.carried == inner.carried == ()
    (op,) = inner.body
    assert isinstance(op, Op)
    assert shown(op.accesses[0].term) == "remui(addi(j, muli(i, 3)), 2)"
    assert shown(last.accesses[0].term) == "remui(muli(n, 3), 2)"


def test_a_while_counts_its_trips() -> None:
    body = (
        "%z = scf.while (%k = %c0) : (index) -> index {\n"
        f"%s = arith.remui %k, %c2 : index\n{pick('p', 'r', 's', 2)}{load('p')}"
        "scf.condition(%flag) %k : index\n} do {\n^bb0(%k2: index):\n"
        f"%s2 = arith.remui %k2, %c2 : index\n{pick('q', 'r', 's2', 2)}{store('q')}"
        "%k3 = arith.addi %k2, %c1 : index\nscf.yield %k3 : index\n}\n"
    )
    (loop,) = built(slots("r", 2) + body).program.body
    assert isinstance(loop, While)
    (filled,), (read,) = loop.before, loop.after
    assert isinstance(filled, Op) and isinstance(read, Op)
    assert shown(filled.accesses[0].term) == shown(read.accesses[0].term) == "remui(k, 2)"


def test_a_tile_out_of_a_branch_is_what_its_one_slot_holds() -> None:
    body = (
        slots("r", 2) + pick("p", "r", "c1", 2) + "%t = scf.if %flag -> (!tile) {\n" + load("p", "a") + "scf.yield %a"
        " : !tile\n} else {\n" + load("p", "b") + "scf.yield %b : !tile\n}\n" + store("t", "tile")
    )
    _, read = built(body).program.body
    assert isinstance(read, Op)
    assert (read.accesses[0].term, read.accesses[0].lease) == (Const(1), None)


def test_a_tile_in_two_places_is_refused() -> None:
    body = (
        slots("r", 2) + slots("q", 2) + pick("p", "r", "c1", 2) + pick("p2", "q", "c1", 2)
        + "%t = scf.if %flag -> (!tile) {\n" + load("p", "a") + "scf.yield %a : !tile\n} else {\n" + load("p2", "b")
        + "scf.yield %b : !tile\n}\n" + store("t", "tile")
    )  # fmt: skip
    with pytest.raises(DiagnosticError) as caught:
        built(body)
    (complaint,) = caught.value.diagnostics
    assert complaint.kind == "slot-join" and "slots of 'r' and 'q' that are not one slot" in complaint.message
    assert len(complaint.notes) == 2 and complaint.help is not None


def test_a_tile_carried_by_a_loop_in_one_slot() -> None:
    body = (
        slots("r", 1) + pick("p", "r", "c0", 1) + load("p", "a")
        + "%t = scf.for %i = %c0 to %n step %c1 iter_args(%old = %a) -> (!tile) {\n"
        + store("old", "tile") + load("p", "b") + "scf.yield %b : !tile\n}\n" + store("t", "tile")
    )  # fmt: skip
    _, loop, last = built(body).program.body
    assert isinstance(loop, Loop) and isinstance(last, Op)
    assert last.accesses[0].lease is None
