"""Mixed kernels: which signals order the cores, where they stand, and what is refused."""

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.dialects.scf import ForOp, IfOp
from xdsl.ir import Operation

from pto_buf.dialect.cross_core import CoreSignalOp, SyncSetOp, SyncWaitOp
from pto_buf.dialect.ptobuf import SetOp, WaitOp
from pto_buf.errors import DiagnosticError, collecting_warnings
from pto_buf.hw import A2A3, A5, Target
from pto_buf.lowering.split_sections import SplitSectionsPass
from pto_buf.universe import make_context
from support.kernel_text import ir

HEAD = """
@pl.jit.incore
def k(
    a: pl.Tensor[[16, 64], pl.FP16], b: pl.Tensor[[64, 64], pl.FP16], w: pl.InOut[pl.Tensor[[4096, 64], pl.FP32]],
    c: pl.InOut[pl.Tensor[[4096, 64], pl.FP32]], n: pl.Scalar[pl.INDEX], m: pl.Scalar[pl.INDEX],
):
    left = pl.move(pl.load(a, [0, 0], [16, 64], target_memory=pl.Mem.Mat), target_memory=pl.Mem.Left)
    right = pl.move(pl.load(b, [0, 0], [64, 64], target_memory=pl.Mem.Mat), target_memory=pl.Mem.Right)
"""
FIRST_LINE = 10
"""The line of the file behind the head."""


def give(row: str) -> str:
    return f"pl.store(pl.matmul(left, right), [{row}, 0], w)"


def take(row: str, to: str = "0") -> str:
    return f"pl.store(pl.load(w, [{row}, 0], [16, 64]), [{to}, 0], c)"


def loop(*body: str, over: str = "i in pl.range(n)") -> tuple[str, ...]:
    return (f"for {over}:", *(f"    {line}" for line in body))


def split(*lines: str, target: Target = A2A3) -> ModuleOp:
    module = ir(HEAD + "".join(f"    {line}\n" for line in lines), target=target)
    SplitSectionsPass().apply(make_context(), module)
    module.verify()
    return module


def signals(module: ModuleOp) -> list[str]:
    """What each core sends and hears, in order; an indent for each loop or branch around it, which comes first."""
    return [line for function in module.body.block.ops if isinstance(function, FuncOp) for line in _lines(function, "")]


def _lines(around: Operation, indent: str) -> list[str]:
    found: list[str] = []
    for op in (op for region in around.regions for block in region.blocks for op in block.ops):
        match op:
            case SyncSetOp() | SyncWaitOp():
                assert op.event_id is not None
                word = "send" if isinstance(op, SyncSetOp) else "hear"
                found.append(f"{indent}{word} {op.event_id.value.data} {op.pipe.data}")
            case ForOp() | IfOp():
                inner = _lines(op, indent + "  ")
                found += [f"{indent}{'for' if isinstance(op, ForOp) else 'if'}", *inner] if inner else []
            case _:
                pass
    return found


def test_one_product_is_handed_over_once():
    assert signals(split(give("0"), take("0"))) == ["send 0 FIX", "hear 0 MTE2"]


def test_what_lies_apart_is_not_ordered():
    assert signals(split(give("0"), take("16"))) == []


def test_a_place_that_is_used_again_is_given_back():
    assert signals(split(*loop(give("0"), take("0")))) == [
        *("for", "  hear 1 FIX", "  send 0 FIX", "hear 1 FIX"),
        *("send 1 MTE2", "for", "  hear 0 MTE2", "  send 1 MTE2"),
    ]


@pytest.mark.parametrize(
    ("row", "ahead"), [("i % 2 * 16", 2), ("i % 3 * 16", 3), ("(i + 1) % 2 * 16", 2), ("i // 2 * 16", 1)]
)
def test_as_many_trips_ahead_as_there_are_places(row: str, ahead: int):
    found = signals(split(*loop(give(row), take(row))))
    assert found.count("send 1 MTE2") == ahead
    assert found.count("hear 1 FIX") == ahead


def test_places_that_are_never_used_again_leave_the_counter_to_hold_the_sender():
    found = signals(split(*loop(give("i * 16"), take("i * 16"))))
    assert found.count("send 1 MTE2") == 15
    few = signals(split(*loop(give("i * 16"), take("i * 16"), over="i in pl.range(4)")))
    assert few == ["for", "  send 0 FIX", "for", "  hear 0 MTE2"]


@pytest.mark.parametrize(
    ("row", "over", "most", "why"),
    [
        ("i % 15 * 16", "", 15, ""),
        ("i % 16 * 16", "", 15, "as many as can be counted"),
        ("j % 4 * 16", "j in pl.range(m)", 4, ""),
        ("j % 5 * 16", "j in pl.range(m)", 4, "in an inner loop, which may be entered again at once"),
    ],
)
def test_places_for_more_trips_than_can_be_counted_are_said_to_be_of_no_use(row: str, over: str, most: int, why: str):
    lines = loop(*loop(give(row), take(row), over=over)) if over else loop(give(row), take(row))
    with collecting_warnings() as said:
        found = [line.strip() for line in signals(split(*lines))]
    assert max(found.count(f"send {id} MTE2") for id in range(3)) == most + 1  # behind each take, too
    assert [(one.kind, one.message, one.place and one.place.line) for one in said] == [
        (
            "lost-overlap",
            f"overlap is lost: the cube core is held at most {most} trips ahead of the vector core, {why}: "
            "places of 'w' for more trips are of no use",
            FIRST_LINE + len(lines) - 2,
        )
    ] * bool(why)


def test_overlap_that_signals_lose_is_refused_on_request():
    row = "i % 16 * 16"
    module = ir(HEAD + "".join(f"    {line}\n" for line in loop(give(row), take(row))))
    with pytest.raises(DiagnosticError) as caught:
        SplitSectionsPass(fail_on_lost_overlap=True).apply(make_context(), module)
    assert [one.kind for one in caught.value.diagnostics] == ["lost-overlap"]


def test_loops_one_behind_the_other_hand_over_once():
    found = signals(split(*loop(give("i * 16")), *loop(take("i * 16"))))
    assert found == ["send 0 FIX", "hear 0 MTE2"]


def test_both_ends_stand_in_the_same_branch():
    found = signals(split(*loop("if i < m:", "    " + give("0"), "    " + take("0"))))
    assert found == [
        *("for", "  if", "    hear 1 FIX", "    send 0 FIX", "hear 1 FIX"),
        *("send 1 MTE2", "for", "  if", "    hear 0 MTE2", "    send 1 MTE2"),
    ]


def test_arms_of_a_branch_are_ordered_from_trip_to_trip():
    found = signals(split(*loop("if i < m:", "    " + give("0"), "else:", "    " + take("0"))))
    assert [line.strip() for line in found].count("hear 0 MTE2") == 2  # in each trip, and behind the loop
    assert "    if" not in found


def test_an_inner_loop_that_may_not_run_is_not_entered_ahead_without_end():
    """What is sent ahead of it in each trip of the outer one is bounded by a signal back there."""
    inner = loop(give("j % 2 * 16"), take("j % 2 * 16"), over="j in pl.range(m)")
    found = signals(split(*loop(*inner)))
    cube = found[: found.index("for", 1 + found.index("for"))]
    assert cube.count("send 0 FIX") == 4 and "  send 0 FIX" in cube


def test_only_some_pipes_send_on_a5():
    """A load is over when the pipe that sends has heard so."""
    module = split(*loop(give("0"), take("0")), target=A5)
    sent = {str(op.pipe.data) for op in module.walk() if isinstance(op, SyncSetOp)}
    assert sent == {"FIX", "MTE3"}
    (vector,) = [op for op in module.body.block.ops if isinstance(op, FuncOp) and op.sym_name.data == "k.vector"]
    kinds = [type(op) for op in vector.walk() if isinstance(op, SetOp | WaitOp | CoreSignalOp)]
    assert kinds == [SetOp, SyncSetOp, SyncWaitOp, WaitOp, SetOp, WaitOp, SetOp, SyncSetOp, WaitOp]
    heard = [op.event_id.value.data for op in module.walk() if isinstance(op, SyncWaitOp) and op.event_id is not None]
    assert {1, 17} <= set(heard), "the cube hears both vector cores"


def test_many_signals_become_few_and_that_is_said():
    lines = [line for number in range(12) for line in (give(f"{number * 16}"),)]
    with collecting_warnings() as said:
        found = signals(split(*lines, *(take(f"{number * 16}", f"{number * 16}") for number in range(12))))
    assert len(found) == 2 * 11
    assert [one.kind for one in said] == ["lost-overlap"]


def test_a_number_of_one_core_does_not_steer_the_other():
    with pytest.raises(DiagnosticError) as caught:
        split("if pl.tile.get_subblock_idx() == 0:", "    " + give("0"), take("0"))
    (found,) = caught.value.diagnostics
    assert found.message == "the cube core has to do this too, and needs a number for it that only the other core has"
    assert (found.kind, found.place.line if found.place else 0) == ("two-cores", FIRST_LINE)


def test_numbers_of_a_tensor_that_the_kernel_writes_are_not_read():
    lines = ("x = pl.read(w, [0, 0])", give("0"), "pl.store(pl.mul(pl.load(w, [0, 0], [16, 64]), x), [0, 0], c)")
    with pytest.raises(DiagnosticError) as caught:
        split(*lines)
    (found,) = caught.value.diagnostics
    assert found.message.startswith("reads a number from a tensor that this kernel writes")
    assert (found.kind, found.place.line if found.place else 0) == ("two-cores", FIRST_LINE)


def test_a_core_carries_round_a_loop_only_what_it_needs():
    body = (give("0"), "y = pl.mul(pl.load(w, [0, 0], [16, 64]), s)", "s = pl.tile.read(y, [0, 0])")
    module = split("s = 1.0", *loop(*body, "pl.store(y, [0, 0], c)"))
    carried = [len(op.results) for op in module.walk() if isinstance(op, ForOp)]
    assert carried == [0, 1], "the cube core knows nothing of the number that the vector core reads"


def test_a_barrier_over_all_pipes_names_no_core():
    with pytest.raises(DiagnosticError) as caught:
        split("pl.system.bar_all()", give("0"), take("0"))
    (found,) = caught.value.diagnostics
    assert found.message.startswith("'pto.barrier' does not say which core of this kernel does it")
    assert (found.kind, found.place.line if found.place else 0) == ("two-cores", FIRST_LINE)
