"""Scheduling changes order and nothing else: the same trips, on the same slots, with the same data."""

import random
from collections.abc import Mapping

import pytest
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import IntegerAttr, ModuleOp

from pto_buf.dialect.ptobuf import AllocSlotsOp
from pto_buf.errors import Diagnostic, UsageError, collecting_warnings
from pto_buf.lowering.schedule import SchedulePass
from pto_buf.source import parse_text
from pto_buf.universe import make_context
from pto_buf.verification import verify_module
from support.vec_text import kernel
from support.walk import Done, Slot, Walk, walk


def scheduled(text: str, interleave: int | None = None) -> tuple[ModuleOp, list[Diagnostic]]:
    module = kernel(text)
    with collecting_warnings() as warnings:
        SchedulePass(interleave=interleave).apply(make_context(), module)
    verify_module(module)
    printed = str(module)
    assert "ptobuf.stage" not in printed
    assert str(parse_text(make_context(), printed, "again.mlir")) == printed
    return module, warnings


def by_line(run: Walk) -> dict[int, list[Done]]:
    found: dict[int, list[Done]] = {}
    for done in run.done:
        found.setdefault(done.line, []).append(done)
    return found


def check_same(before: ModuleOp, after: ModuleOp, numbers: Mapping[str, int]) -> None:
    """Check that each op runs in the same trips on the same slots, and finds and leaves the same."""
    source, result = walk(before, numbers), walk(after, numbers)
    assert by_line(source) == by_line(result), numbers
    assert source.holds == result.holds, numbers


def same(text: str, *numbers: Mapping[str, int]) -> None:
    source, (module, _) = kernel(text), scheduled(text)
    for given in numbers:
        check_same(source, module, given)


def words(text: str, interleave: int | None = None, **numbers: int) -> str:
    """The executed ops by the first letters of their names."""
    module, _ = scheduled(text, interleave)
    run = walk(module, numbers)
    return " ".join(done.op.removeprefix("ptobuf.").removesuffix("_into") for done in run.done)


def stages(text: str, **numbers: int) -> list[str]:
    """The messages of the warnings."""
    return [warning.message for warning in scheduled(text)[1]]


def pipe(lower: str = "%c0", upper: str = "%n", step: str = "%c1", stage: int = 2, slots: int = 2) -> str:
    """A load, a sum and a store for each trip, in slots by the number of the trip."""
    return f"""
set ring {slots} 1x128
set sum {slots} owned 1x128
%count = arith.constant {slots} : index
scf.for %i = {lower} to {upper} step {step} {{
%gone = arith.subi %i, {lower} : index
%trip = arith.divui %gone, {step} : index
%k = arith.remui %trip, %count : index
x = load ring[%k] @%i
y = exp sum[%k] x
store y @%i
release x
}} {{ptobuf.stage = {stage} : i64}}
"""


@pytest.mark.parametrize("stage", [2, 3])
@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize("lower", [0, 1, 3])
def test_the_domain_is_kept(lower: int, step: int, stage: int):
    """For every number of trips from 0 to 2 N + 1, with constant and with run-time bounds."""
    assert stages(pipe("%m", "%n", f"%c{step}", stage, stage)) == []
    ends = [lower + trips * step - cut for trips in range(2 * stage + 2) for cut in range(step)]
    same(pipe("%m", "%n", f"%c{step}", stage, stage), *({"m": lower, "n": end} for end in ends))
    same(pipe(f"%c{lower}", "%n", f"%c{step}", stage, stage), *({"n": end} for end in ends))
    constant = kernel(f"%end = arith.constant 99 : index\n{pipe(f'%c{lower}', '%end', f'%c{step}', stage, stage)}")
    for end in ends:
        source = constant.clone()
        for op in source.walk():
            if isinstance(op, ConstantOp) and op.result.name_hint == "end":
                op.properties["value"] = IntegerAttr.from_index_int_value(end)
        module = source.clone()
        SchedulePass().apply(make_context(), module)
        verify_module(module)
        check_same(source, module, {})


def test_the_domain_is_kept_with_more_trips_together():
    test_the_domain_is_kept(1, 2, 5)


def test_a_step_that_is_not_known():
    text = pipe("%c0", "%n", "%m")
    assert "trips stay one after another" in stages(text)[0]
    same(text, *({"n": n, "m": m} for n in range(7) for m in (1, 2, 3)))
    # the step does not matter to a chain of one slot
    chain = "set sum 1\nset ring 2\nx = load ring[%c0]\nscf.for %i = %c2 to %n step %m {\n"
    text = f"{chain}y = add sum[%c0] sum[%c0] x\n}} {STAGE}\nstore sum[%c0]"
    assert stages(text) == []
    same(text, *({"n": n, "m": m} for n in range(12) for m in (1, 2, 3)))


def test_a_loop_that_ends_before_it_starts():
    same(pipe("%m", "%n"), {"m": 5, "n": 0}, {"m": 5, "n": 4}, {"m": 5, "n": 6})


def test_the_order_of_two_trips():
    text = pipe(stage=2)
    assert words(text, n=2) == "load load exp exp store store release release"
    assert words(text, n=3) == "load load exp exp store store release release load exp store release"
    assert words(text, n=1) == "load exp store release"
    assert words(text, n=0) == ""


def test_nothing_changes_unless_it_is_asked_for():
    text = pipe().replace(" {ptobuf.stage = 2 : i64}", "")
    module, warnings = scheduled(text)
    assert str(module) == str(kernel(text))
    assert warnings == []


def test_a_stage_of_one_is_forgotten():
    assert words(pipe(stage=1), n=2) == "load exp store release load exp store release"


def test_the_option_overrides_innermost_loops():
    plain = pipe(slots=3).replace(" {ptobuf.stage = 2 : i64}", "")
    assert words(plain, interleave=3, n=3) == "load load load exp exp exp store store store release release release"
    assert words(pipe(), interleave=1, n=2) == "load exp store release load exp store release"
    with pytest.raises(UsageError, match="interleave=0 is not a number of trips"):
        SchedulePass(interleave=0).apply(make_context(), kernel(plain))


def test_a_loop_of_fewer_trips_runs_them_all_together():
    text = pipe("%c0", "%c3", "%c1", stage=4, slots=4)
    assert words(text) == "load load load exp exp exp store store store release release release"
    assert scheduled(text)[1] == []
    assert words(pipe("%c0", "%c1", "%c1")) == "load exp store release"


# --- loops in loops -------------------------------------------------------------------------------------------------

NESTED = """
set wide 2
set thin 2
scf.for %i = %c0 to %n step %c1 {
%p = arith.remui %i, %c2 : index
x = load wide[%p] @%i
scf.for %j = %c0 to %m step %c1 {
%q = arith.remui %j, %c2 : index
y = exp thin[%q] x
store y @%j
} INNER
release x
} OUTER
"""
STAGE = "{ptobuf.stage = 2 : i64}"


def nested(outer: str, inner: str) -> str:
    return NESTED.replace("OUTER", outer).replace("INNER", inner)


@pytest.mark.parametrize(("outer", "inner"), [(STAGE, STAGE), (STAGE, ""), ("", STAGE)])
def test_nested_loops(outer: str, inner: str):
    same(nested(outer, inner), *({"n": n, "m": m} for n in range(6) for m in range(6)))


def test_an_inner_loop_is_one_step():
    once = "exp store"
    assert words(nested(STAGE, ""), n=2, m=2) == f"load load {once} {once} {once} {once} release release"
    twice = "exp exp store store"
    assert words(nested(STAGE, STAGE), n=2, m=2) == f"load load {twice} {twice} release release"
    # the trip that is left over stays behind its own loop
    whole = f"{twice} {once}"
    assert words(nested(STAGE, STAGE), n=2, m=3) == f"load load {whole} {whole} release release"
    assert words(nested("", STAGE), n=1, m=3) == f"load {whole} release"


def test_the_option_leaves_outer_loops_to_their_stage():
    text = nested(STAGE, "")
    module, _ = scheduled(text, 2)
    run = walk(module, {"n": 2, "m": 2})
    assert [done.op for done in run.done][:4] == ["ptobuf.load_into"] * 2 + ["ptobuf.exp_into"] * 2


def test_three_deep():
    text = f"""
set a 2
set b 2
set c 2
scf.for %h = %c0 to %n step %c1 {{
%o = arith.remui %h, %c2 : index
w = load c[%o] @%h
scf.for %i = %c0 to %n step %c1 {{
%p = arith.remui %i, %c2 : index
x = load a[%p] @%i
scf.for %j = %c0 to %m step %c1 {{
%q = arith.remui %j, %c2 : index
y = add b[%q] x w
store y @%j
}} {STAGE}
}} {STAGE}
}} {STAGE}
"""
    same(text, *({"n": n, "m": m} for n in range(4) for m in range(4)))


# --- carried values -------------------------------------------------------------------------------------------------


def test_carried_numbers_go_from_trip_to_trip():
    text = """
set ring 3
%end = scf.for %i = %c0 to %n step %c1 iter_args(%k = %c0) -> (index) {
x = load ring[%k] @%i
store x @%i
%next = arith.addi %k, %c1 : index
%wrapped = arith.remui %next, %c3 : index
scf.yield %wrapped : index
} {ptobuf.stage = 2 : i64}
y = load ring[%end]
store y
"""
    same(text, *({"n": n} for n in range(8)))
    assert words(text, n=2) == "load load store store load store"


def test_what_an_inner_loop_leaves_differs_from_trip_to_trip():
    text = """
set ring 2
scf.for %i = %c0 to %n step %c1 {
%end = scf.for %j = %c0 to %n step %c1 iter_args(%k = %c0) -> (index) {
%sum = arith.addi %k, %m : index
%odd = arith.muli %sum, %sum : index
%wrapped = arith.remui %odd, %c2 : index
scf.yield %wrapped : index
}
%both = arith.addi %end, %i : index
%s = arith.remui %both, %c2 : index
x = load ring[%s] @%i
store x @%i
} {ptobuf.stage = 2 : i64}
"""
    assert "slot set 'ring'" in stages(text)[0]


def test_carried_numbers_that_change_places():
    text = """
set ring 2
%a, %b = scf.for %i = %c0 to %n step %c1 iter_args(%k = %c0, %l = %c1) -> (index, index) {
x = load ring[%k] @%i
store x @%i
scf.yield %l, %k : index, index
} {ptobuf.stage = 2 : i64}
y = load ring[%a]
store y
"""
    same(text, *({"n": n} for n in range(6)))
    assert words(text, n=2).startswith("load load store store")


def test_a_carried_tile_keeps_its_chain():
    tile = "!pto.tile_buf<vec, 64x128xf32, blayout=row_major, slayout=none_box>"
    text = f"""
set ring 2
set sum 1 owned
s = load sum[%c0]
%r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %s) -> ({tile}) {{
%k = arith.remui %i, %c2 : index
x = load ring[%k] @%i
y = add sum[%c0] sum[%c0] x
scf.yield %y : {tile}
}} {STAGE}
store sum[%c0]
"""
    same(text, *({"n": n} for n in range(6)))
    assert words(text, n=2) == "load load load add add store"


def test_a_step_that_needs_what_the_trip_before_makes_later_stays():
    tile = "!pto.tile_buf<vec, 64x128xf32, blayout=row_major, slayout=none_box>"
    text = f"""
set sum 1 owned
set ring 2
s = load sum[%c0]
%r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %s) -> ({tile}) {{
%k = arith.remui %i, %c2 : index
%v = pto.partition_view %whole_dst, offsets = [%i, %c0], sizes = [%c64, %c128] : \
!pto.tensor_view<256x256xf32> -> !pto.partition_tensor_view<64x128xf32>
ptobuf.store ins(%t : {tile}) outs(%v : !pto.partition_tensor_view<64x128xf32>)
y = load sum[%c0] @%i
scf.yield %y : {tile}
}} {STAGE}
"""
    same(text, *({"n": n} for n in range(6)))
    assert "'store' needs what the trip before makes after it" in stages(text)[0]


# --- what forbids it ------------------------------------------------------------------------------------------------


def loop(body: str, stage: int = 2) -> str:
    sets = "set one 1\nset ring 2\nset out 2 owned\n"
    head = "scf.for %i = %c0 to %n step %c1 {\n%k = arith.remui %i, %c2 : index\n%next = arith.addi %i, %c1 : index\n"
    rest = "%kn = arith.remui %next, %c2 : index\n%row = arith.muli %i, %c64 : index\n"
    return f"{sets}{head}{rest}{body.strip()}\n}} {{ptobuf.stage = {stage} : i64}}\n"


def test_one_slot_keeps_trips_apart():
    text = loop("x = load one[%c0] @%i\ny = exp out[%k] x\nstore y @%i")
    module, (warning,) = scheduled(text)
    assert warning.message == (
        "asked for 2 trips of this loop together, trips stay one after another: "
        "'load' of the next trip would pass 'exp' of this one, and both may touch slot set 'one'"
    )
    assert warning.help == "with more slots in slot set 'one', the next trip taking the next one, it would not"
    assert [note.message for note in warning.notes] == ["'exp' of this trip", "'load' of the next trip"]
    assert warning.place is not None
    assert all(note.place is not None for note in warning.notes)
    assert str(module) == str(kernel(text)).replace(" {ptobuf.stage = 2 : i64}", "")


PLAIN = """
set ring 2 SHAPE
set one 1 owned SHAPE
set two 1 owned SHAPE
scf.for %i = %c0 to %n step %c1 {
%k = arith.remui %i, %c2 : index
x = load ring[%k] @%i
y = exp one[%c0] x
z = exp two[%c0] y
store z @%i
} {ptobuf.stage = 2 : i64}
"""


def test_a_tile_of_the_compilers_gets_a_slot_for_each_trip():
    text = PLAIN.replace("SHAPE", "8x128")
    module, warnings = scheduled(text)
    assert warnings == []
    sets = {op.set_name.data: op.slots.type.data.count for op in module.walk() if isinstance(op, AllocSlotsOp)}
    assert sets == {"ring": 2, "one": 2, "two": 2}
    assert words(text, n=2) == "load load exp exp exp exp store store"
    found, source = walk(module, {"n": 5}), walk(kernel(text), {"n": 5})
    stored = [done.touched[0] for done in found.done if done.op == "ptobuf.store"]
    assert [slot.index for slot in stored if isinstance(slot, Slot)] == [0, 1, 0, 1, 0]
    # the same work on the same data, but for the slots of the tiles
    rows = [{key: value for key, value in run.holds.items() if isinstance(key, tuple)} for run in (source, found)]
    assert rows[0] == rows[1]


def test_without_room_for_more_slots_the_user_is_told():
    text = PLAIN.replace("SHAPE", "40x256")
    module, (warning,) = scheduled(text)
    assert "both may touch the compiler's tile 'one'" in warning.message
    assert warning.help == (
        "there is no room for more slots of the compiler's tile 'one': a smaller tile would make some"
    )
    assert str(module) == str(kernel(text)).replace(f" {STAGE}", "")


@pytest.mark.parametrize(("lower", "step"), [("%c0", "%c1"), ("%m", "%c1"), ("%c3", "%c2"), ("%m", "%c3")])
def test_slots_of_trips_count_from_the_start_of_the_loop(lower: str, step: str):
    text = f"""
set one 1 owned
scf.for %i = {lower} to %n step {step} {{
x = load one[%c0] @%i
store x @%i
}} {{ptobuf.stage = 3 : i64}}
"""
    for n in range(3, 14):
        run = walk(scheduled(text)[0], {"n": n, "m": 3})
        slots = [done.touched[1] for done in run.done if done.op == "ptobuf.load_into"]
        assert [slot.index for slot in slots if isinstance(slot, Slot)] == [number % 3 for number in range(len(slots))]


def test_a_tile_that_goes_from_trip_to_trip_keeps_its_slot():
    text = loop("y = add one[%c0] one[%c0] one[%c0]\nz = exp one[%c0] y\nstore z @%i")
    (warning,) = scheduled(text.replace("set one 1", "set one 1 owned"))[1]
    assert "both may touch the compiler's tile 'one'" in warning.message
    assert warning.help is None


def test_fewer_slots_than_trips_run_as_many_trips_together():
    text = loop("x = load ring[%k] @%i\ny = exp out[%k] x\nstore y @%i", stage=4)
    (message,) = stages(text)
    assert message.startswith("asked for 4 trips of this loop together, 2 run together: 'load' of the trip 2 later")
    same(text, *({"n": n} for n in range(9)))
    assert words(text, n=4) == "load load exp exp store store " * 1 + "load load exp exp store store"


def test_a_prefetch_stays_in_its_trip():
    text = loop("x = load ring[%kn] @%next\ny = exp out[%k] ring[%k]\nstore y @%i")
    assert "pass 'exp'" in stages(text)[0]
    same(text, *({"n": n} for n in range(6)))


def test_a_release_is_not_passed():
    text = loop("x = load ring[%k] @%i\nstore x @%i\nrelease x")
    assert words(text, n=2) == "load load store store release release"
    kept = loop("x = load one[%c0] @%i\nrelease x")
    assert "'load' of the next trip would pass 'release'" in stages(kept)[0]


def test_an_accumulation_keeps_its_order():
    text = loop("x = load ring[%k] @%i\ny = add one[%c0] one[%c0] x") + "store one[%c0]\n"
    assert words(text, n=2) == "load load add add store"
    same(text, *({"n": n} for n in range(6)))


@pytest.mark.parametrize(
    ("body", "together"),
    [
        # stores of one op keep their order, whatever they overlap
        ("x = load ring[%k] @%i\nstore x @%c0", True),
        # what is loaded may be what the trip before stores
        ("x = load ring[%k] @%i of dst\nstore x @%i", False),
        ("x = load ring[%k] @%row of dst\nstore x @%row", True),
        ("x = load ring[%k] @%i\nstore x @%i of src", False),
        # two stores of one trip to one tensor
        ("x = load ring[%k] @%i\nstore x @%row\nstore x @%c128", False),
        ("x = load ring[%k] @%i\nstore x @%row\nstore x @%row", True),
    ],
)
def test_global_memory_keeps_its_order(body: str, together: bool):
    text = loop(body)
    assert (stages(text) == []) is together
    same(text, *({"n": n} for n in range(6)))


def test_an_op_that_orders_others_keeps_its_place():
    text = loop("x = load ring[%k] @%i\npto.barrier #pto.pipe<PIPE_V>\nstore x @%i")
    (warning,) = scheduled(text)[1]
    assert "'pto.barrier' keeps its place among all other ops" in warning.message
    assert warning.notes[0].message == "'pto.barrier' stands here"


def test_a_branch_is_one_step():
    text = loop("x = load ring[%k] @%i\nscf.if %flag {\ny = exp out[%k] x\nstore y @%row\n}\nstore x @%row")
    same(text, *({"n": n, "flag": flag} for n in range(6) for flag in (0, 1)))
    assert words(text, n=2, flag=1) == "load load exp store exp store store store"


def test_a_while_inside_is_one_step():
    text = loop(
        "x = load ring[%k] @%i\n%w = scf.while (%a = %c0) : (index) -> (index) {\n"
        "%more = arith.cmpi slt, %a, %c2 : index\nscf.condition(%more) %a : index\n} do {\n^bb0(%b: index):\n"
        "store x @%i\n%up = arith.addi %b, %c1 : index\nscf.yield %up : index\n}"
    )
    assert words(text, n=2) == "load load store store store store"
    same(text, *({"n": n} for n in range(5)))


def test_arithmetic_of_a_branch_is_worked_out_ahead():
    text = loop(
        "%s = scf.if %flag -> (index) {\nscf.yield %k : index\n} else {\nscf.yield %kn : index\n}\n"
        "x = load ring[%s] @%i\nstore x @%i"
    )
    same(text, *({"n": n, "flag": flag} for n in range(5) for flag in (0, 1)))


def test_every_copy_keeps_its_place():
    module, _ = scheduled(pipe())
    lines = {done.line for done in walk(module, {"n": 5}).done}
    assert lines == {done.line for done in walk(kernel(pipe()), {"n": 5}).done}


def test_trips_whose_tiles_do_not_fit_side_by_side_stay_apart():
    # one after another, a trip's three tiles share two places; side by side, four of 60 KiB would be live at once
    text = f"""
set a 1 owned 60x256
set b 2 owned 30x256
set c 2 owned 30x256
set d 2 owned 30x256
x = load a[%c0]
scf.for %i = %c0 to %n step %c1 {{
%k = arith.remui %i, %c2 : index
y = exp b[%k] b[%k]
z = exp c[%k] y
w = exp d[%k] z
store w @%i
}} {STAGE}
store x
"""
    text = text.replace("y = exp b[%k] b[%k]", "y = load b[%k] @%i")
    module, warnings = scheduled(text)
    (warning,) = warnings
    assert warning.message.startswith(
        "trips of 'kernel' stay one after another: side by side, 'd' does not fit in vec (UB): 240 KiB are needed"
    )
    assert str(module) == str(kernel(text)).replace(f" {STAGE}", "")
    roomy = text.replace("60x256", "1x256")
    assert words(roomy, n=2).startswith("load load load exp exp")


def any_loop(rng: random.Random) -> str:
    """A loop of a few ops on slots chosen by (i + c) % N, with rows of global memory that may overlap."""
    sizes = {name: rng.randint(1, 4) for name in "abc"}
    text = [f"set {name} {size} 1x128" for name, size in sizes.items()]
    text += [f"%n{name} = arith.constant {size} : index" for name, size in sizes.items()]
    text.append("scf.for %i = %c1 to %n step %c1 {")
    fresh = 0

    def slot(name: str) -> str:
        nonlocal fresh
        fresh += 1
        text.append(f"%o{fresh} = arith.addi %i, %c{rng.randint(0, 3)} : index")
        text.append(f"%s{fresh} = arith.remui %o{fresh}, %n{name} : index")
        return f"{name}[%s{fresh}]"

    for number in range(rng.randint(2, 4)):
        one, other = rng.choice("abc"), rng.choice("abc")
        row = rng.choice(("%i", "%c0", "%c2"))
        kind = rng.choice(("load", "exp", "store", "branch"))
        if kind == "load":
            text.append(f"v{number} = load {slot(one)} @{row} of {rng.choice(('src', 'dst'))}")
        elif kind == "exp":
            source = slot(other)
            text.append(f"v{number} = exp {slot(one)} {source}")
        elif kind == "store":
            text.append(f"store {slot(one)} @{row}")
        else:
            source = slot(other)
            target = slot(one)
            text += ["scf.if %flag {", f"v{number} = exp {target} {source}", "}"]
    return "\n".join([*text, f"}} {{ptobuf.stage = {rng.randint(2, 3)} : i64}}"])


def test_random_loops_do_the_same():
    together = 0
    for seed in range(60):
        text = any_loop(random.Random(seed))
        source, (module, warnings) = kernel(text), scheduled(text)
        together += not warnings
        for n in (0, 1, 3, 4, 6):
            check_same(source, module, {"n": n, "flag": seed % 2})
    assert 10 < together < 55
