"""What keeps trips one after another: slots, tiles, order that has to stay, and room."""

import random

import pytest

from pto_buf.dialect.ptobuf import AllocSlotsOp
from pto_buf.dialect.slot_op import SlotOp
from pto_buf.errors import collecting_warnings
from pto_buf.lowering.schedule import SchedulePass
from pto_buf.universe import make_context
from support.kernel_text import ir
from support.scheduling import STAGE, check_same, pipe, same, scheduled, stages, words
from support.vec_text import kernel
from support.walk import Slot, walk

pytestmark = pytest.mark.campaign

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


MIXED = """
@pl.jit.incore
def k(
    a: pl.Tensor[[16, 16], pl.FP16], w: pl.InOut[pl.Tensor[[64, 16], pl.FP32]], n: pl.Scalar[pl.INDEX],
):
    left = pl.move(pl.load(a, [0, 0], [16, 16], target_memory=pl.Mem.Mat), target_memory=pl.Mem.Left)
    right = pl.move(pl.load(a, [0, 0], [16, 16], target_memory=pl.Mem.Mat), target_memory=pl.Mem.Right)
    for i in pl.pipeline(n, stage=2):
        pl.store(pl.matmul(left, right), [ROW, 0], w)
        x = pl.load(w, [ROW, 0], [16, 16])
"""


@pytest.mark.parametrize(("row", "together"), [("0", False), ("i % 2 * 16", True), ("i // 2 % 2 * 16", False)])
def test_places_of_a_tensor_that_trips_take_in_turn_let_them_run_side_by_side(row: str, together: bool):
    module = ir(MIXED.replace("ROW", row))
    with collecting_warnings() as said:
        SchedulePass().apply(make_context(), module)
    assert [one.help for one in said] == [
        "with more places in tensor 'w', the next trip taking the next one, it would not"
    ] * (not together)
    found = [op.name.removeprefix("ptobuf.") for op in module.walk() if isinstance(op, SlotOp)][4:]
    trips = ["matmul_into", "store", "load_into"]
    assert found[: 2 * len(trips)] == ([op for op in trips for _ in range(2)] if together else trips)


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
