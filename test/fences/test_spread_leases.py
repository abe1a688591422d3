"""Leases that go from loop to loop, that several loops or a `while` carry, or that several trips read: all in lanes."""

from collections.abc import Callable
from contextlib import nullcontext

import pytest

from pto_buf.compiler import Compiled, compile_file, compile_module
from pto_buf.dialect.ptobuf import EventOp
from pto_buf.lowering.pipeline import PipelineOptions
from pto_buf.walking import ops_in
from support.closure import closures
from support.kernel_text import FILE, source
from support.slot_text import SlotText
from support.trials import kernel_of, wrong_runs

STRICT = PipelineOptions(fail_on_lost_overlap=True)


def groups(tiles: int, slots: int) -> Compiled:
    """One inner loop loads some tiles, the next one stores them."""
    kernel = SlotText(P=slots)
    with kernel.loop("i", 0, "n"):
        with kernel.loop("j", 0, tiles):
            kernel.load(f"P[(i * {tiles} + j) % {slots}]", row=f"i * {tiles} + j")
        with kernel.loop("l", 0, tiles):
            kernel.store(f"P[(i * {tiles} + l) % {slots}]", row=f"i * {tiles} + l")
    return compile_module(kernel.module(), STRICT)


def tree(tiles: int, slots: int) -> Compiled:
    """One loop loads some tiles, V adds them up in place, and the first one is stored: no other gets to MTE3."""
    kernel = SlotText(P=slots)
    with kernel.loop("i", 0, "n"):
        with kernel.loop("j", 0, tiles):
            kernel.load(f"P[(i * {tiles} + j) % {slots}]", row=f"i * {tiles} + j")
        apart = 1
        while apart < tiles:
            for tile in range(0, tiles - apart, 2 * apart):
                sum, other = (f"P[(i * {tiles} + {at}) % {slots}]" for at in (tile, tile + apart))
                kernel.vector(sum, sum, other)
            apart *= 2
        kernel.store(f"P[(i * {tiles}) % {slots}]", row="i")
    return compile_module(kernel.module(), STRICT)


def running_sum(tiles: int) -> Compiled:
    """The same with the sum in a loop, whose trips all update the first tile."""
    kernel = SlotText(P=2 * tiles)
    first = f"(i % 2) * {tiles}"
    with kernel.loop("i", 0, "n"):
        with kernel.loop("j", 0, tiles):
            kernel.load(f"P[{first} + j]", row=f"i * {tiles} + j")
        with kernel.loop("k", 1, tiles):
            kernel.vector(f"P[{first}]", f"P[{first}]", f"P[{first} + k]")
        kernel.store(f"P[{first}]", row="i")
    return compile_module(kernel.module(), STRICT)


def rounds() -> Compiled:
    """Each of two tiles is updated in three rounds."""
    kernel = SlotText(P=4)
    with kernel.loop("i", 0, "n"):
        with kernel.loop("j", 0, 2):
            kernel.load("P[(i % 2) * 2 + j]", row="i * 2 + j")
        with kernel.loop("k", 0, 2), kernel.loop("round", 0, 3):
            kernel.vector("P[(i % 2) * 2 + k]", "P[(i % 2) * 2 + k]")
        with kernel.loop("l", 0, 2):
            kernel.store("P[(i % 2) * 2 + l]", row="i * 2 + l")
    return compile_module(kernel.module(), STRICT)


def some_past_v() -> Compiled:
    """V works on one of two tiles, and the other one goes from MTE2 to MTE3 without it."""
    kernel = SlotText(P=4)
    with kernel.loop("i", 0, "n"):
        with kernel.loop("j", 0, 2):
            kernel.load("P[(i % 2) * 2 + j]", row="i * 2 + j")
        kernel.vector("P[(i % 2) * 2]", "P[(i % 2) * 2]")
        kernel.store("P[(i % 2) * 2]", row="i * 2")
        kernel.store("P[(i % 2) * 2 + 1]", row="i * 2 + 1")
    return compile_module(kernel.module(), STRICT)


def a_reader_each() -> Compiled:
    """V reads one of two tiles, MTE3 the other one."""
    kernel = SlotText(P=4, O=2)
    with kernel.loop("i", 0, "n"):
        with kernel.loop("j", 0, 2):
            kernel.load("P[(i % 2) * 2 + j]", row="i * 2 + j")
        kernel.vector("O[i % 2]", "P[(i % 2) * 2]")
        kernel.store("O[i % 2]", row="i * 2")
        kernel.store("P[(i % 2) * 2 + 1]", row="i * 2 + 1")
    return compile_module(kernel.module(), STRICT)


def first_trip_apart(slots: int) -> Compiled:
    """V fills the slot of the first trip, by its number, and MTE2 those of all others."""
    kernel = SlotText(P=slots)
    with kernel.loop("i", 0, "n"):
        with kernel.when("i == 0"):
            kernel.fill("P[0]")
        with kernel.otherwise():
            kernel.load(f"P[i % {slots}]", row="i")
        with kernel.when("i + 1 == n"):
            kernel.store(f"P[i % {slots}]", "z", row="i")
        with kernel.otherwise():
            kernel.store(f"P[i % {slots}]", row="i")
    return compile_module(kernel.module(), STRICT)


def three_loops(slots: int) -> Compiled:
    """The first one only stores what it loads, in the next one V reads it, and in the last one V works on it before."""
    kernel = SlotText("n m", wide=3, P=slots, O=1)
    with kernel.loop("i", 0, "n"):
        kernel.load(f"P[i % {slots}]", row="i")
        kernel.store(f"P[i % {slots}]", row="i")
    with kernel.loop("j", 0, "m"):
        kernel.load(f"P[(j + 1) % {slots}]", "h", row="j")
        kernel.vector("O", f"P[(j + 1) % {slots}]")
        kernel.store("O", row="j", column=64)
    with kernel.loop("k", 0, "n"):
        kernel.load(f"P[(2 * k) % {slots}]", row="k")
        kernel.vector(f"P[(2 * k) % {slots}]", f"P[(2 * k) % {slots}]")
        kernel.store(f"P[(2 * k) % {slots}]", row="k", column=128)
    return compile_module(kernel.module(), STRICT)


def resident(slots: int, *, by_counter: bool) -> Compiled:
    """Tiles are loaded once and read by two loops: V names them by its counter or by numbers, MTE3 by its counter."""
    kernel = SlotText("n m", P=slots, X=2, O=2)
    for tile in range(slots):
        kernel.load(f"P[{tile}]", row=tile)
    with kernel.loop("i", 0, "n"):
        kernel.load("X[i % 2]", "h", row="i")
        first, *others = [f"i % {slots}"] if by_counter else range(slots)
        kernel.vector("O[i % 2]", "X[i % 2]", f"P[{first}]")
        for tile in others:
            kernel.vector("O[i % 2]", "O[i % 2]", f"P[{tile}]")
        kernel.store("O[i % 2]", row="i")
    with kernel.loop("j", 0, "m"), kernel.when("j < 7"):
        kernel.store(f"P[(j + 1) % {slots}]", "z", row="j")
    return compile_module(kernel.module(), STRICT)


def prefetch_in_while() -> Compiled:
    """Each trip loads for the next one, if there is one."""
    text = """
    @pl.jit.incore
    def kernel(
        x: pl.Tensor[[512, 64], pl.FP32],
        y: pl.Out[pl.Tensor[[512, 64], pl.FP32]],
        n: pl.Scalar[pl.INDEX],
    ):
        s = pl.create_tile_buffers(3, [8, 64], pl.FP32, pl.Mem.Vec)
        if 0 < n:
            pl.tile.load_into(s[0], x, [0, 0], [8, 64])
        k = 0
        while k < n:
            if k + 1 < n:
                pl.tile.load_into(s[(k + 1) % 3], x, [(k + 1) * 8, 0], [8, 64])
            y = pl.store(s[k % 3], [k * 8, 0], y)
            k = k + 1
        return y
    """
    return compile_file(FILE, options=STRICT, source=source(text))


def window(slots: int) -> Compiled:
    """Each tile is loaded two trips ahead and read in three trips; the last ones are not read so often."""
    kernel = SlotText(P=slots, O=2)
    kernel.load("P[0]")
    kernel.load("P[1]", row=1)
    with kernel.loop("i", 0, "n"):
        kernel.load(f"P[(i + 2) % {slots}]", row="i + 2")
        kernel.vector("O[i % 2]", f"P[i % {slots}]", f"P[(i + 1) % {slots}]")
        kernel.vector("O[i % 2]", "O[i % 2]", f"P[(i + 2) % {slots}]")
        kernel.store("O[i % 2]", row="i")
    return compile_module(kernel.module(), STRICT)


def guarded_window(slots: int) -> Compiled:
    """A window whose first tiles are loaded if there is any trip, and one more in each trip but the last."""
    kernel = SlotText(P=slots, O=2)
    with kernel.when("n > 0"):
        kernel.load("P[0]")
        kernel.load("P[1]", row=1)
    with kernel.loop("i", 0, "n"):
        with kernel.when("i + 1 < n"):
            kernel.load(f"P[(i + 2) % {slots}]", row="i + 2")
        kernel.vector("O[i % 2]", f"P[i % {slots}]", f"P[(i + 1) % {slots}]")
        kernel.store("O[i % 2]", row="i")
    return compile_module(kernel.module(), STRICT)


def average(slots: int, *, again: bool = False) -> SlotText:
    """A state that goes from slot to slot, each made of the one before; a load fills the first one. `again`: in each
    trip of an outer loop."""
    kernel = SlotText("n m" if again else "n", S=slots, P=3)
    with kernel.loop("o", 0, "m") if again else nullcontext():
        kernel.load("S[0]", "h")
        with kernel.loop("i", 0, "n"):
            kernel.load("P[i % 3]", row="i")
            kernel.vector(f"S[(i + 1) % {slots}]", f"S[i % {slots}]", "P[i % 3]")
            kernel.store(f"S[(i + 1) % {slots}]", row="i")
        if again:
            kernel.store(f"S[n % {slots}]", "z")
    return kernel


def now_and_then(slots: int, trips: int, end: str = "n") -> Compiled:
    """Each tile is loaded once for several trips, all of which read it; the last one may have fewer of them."""
    kernel = SlotText(P=slots, O=2)
    with kernel.loop("i", 0, end):
        with kernel.when(f"i % {trips} == 0"):
            kernel.load(f"P[i // {trips} % {slots}]", row=f"i // {trips}")
        kernel.vector("O[i % 2]", f"P[i // {trips} % {slots}]")
        kernel.store("O[i % 2]", row="i")
    return compile_module(kernel.module(), STRICT)


def over_the_border() -> SlotText:
    """The last trip of the inner loop loads for the first one of its next run."""
    kernel = SlotText(P=3)
    with kernel.when("0 < n"):
        kernel.load("P[0]")
    with kernel.loop("i", 0, "n"), kernel.loop("j", 0, 4):
        with kernel.when("i * 4 + j + 1 < n * 4"):
            kernel.load("P[(i * 4 + j + 1) % 3]", row="i * 4 + j + 1")
        kernel.store("P[(i * 4 + j) % 3]", row="i * 4 + j")
    return kernel


def over_the_border_by_arms() -> SlotText:
    """The same; that trip loads in an arm of its own."""
    kernel = SlotText(P=3)
    with kernel.when("0 < n"):
        kernel.load("P[0]")
    with kernel.loop("i", 0, "n"), kernel.loop("j", 0, 4):
        with kernel.when("j < 3"):
            kernel.load("P[(i * 4 + j + 1) % 3]", row="i * 4 + j + 1")
        with kernel.otherwise(), kernel.when("i + 1 < n"):
            kernel.load("P[(i * 4 + j + 1) % 3]", row="i * 4 + j + 1")
        kernel.store("P[(i * 4 + j) % 3]", row="i * 4 + j")
    return kernel


@pytest.mark.parametrize(
    "compiled",
    [
        lambda: groups(3, 6),
        lambda: groups(2, 5),
        lambda: tree(4, 4),
        lambda: tree(4, 8),
        lambda: tree(3, 6),
        lambda: tree(2, 5),
        lambda: running_sum(3),
        rounds,
        some_past_v,
        a_reader_each,
        lambda: first_trip_apart(2),
        lambda: first_trip_apart(3),
        prefetch_in_while,
        lambda: window(3),
        lambda: window(4),
        lambda: window(5),
        lambda: compile_module(average(2).module(), STRICT),
        lambda: compile_module(average(3).module(), STRICT),
        lambda: guarded_window(3),
        lambda: now_and_then(1, 2),
        lambda: now_and_then(3, 2),
        lambda: now_and_then(2, 3, "n * 2"),
    ],
    ids=[
        "groups",
        "groups of five slots",
        "tree of one group",
        "tree of two",
        "tree of three tiles",
        "tree of five slots",
        "running sum",
        "rounds",
        "some past V",
        "a reader each",
        "first trip apart of two slots",
        "first trip apart of three",
        "while",
        "window of 3",
        "window of 4",
        "window of 5",
        "average",
        "average of 3",
        "guarded window",
        "one slot for two trips",
        "three slots for two trips each",
        "two slots for three trips each",
    ],
)
def test_no_more_is_ordered_than_the_data_ask_for(compiled: Callable[[], Compiled]):
    module = compiled().module
    function = kernel_of(module)
    for n in (0, 1, 2, 3, 5, 7):
        found = closures(function, {"n": n})
        assert found.words(found.held - found.needed) == found.words(found.needed - found.held) == []
        assert wrong_runs(module, {"n": n}) == []


@pytest.mark.parametrize(
    "compiled",
    [
        lambda: resident(3, by_counter=False),
        lambda: resident(4, by_counter=False),
        lambda: resident(3, by_counter=True),
    ],
    ids=["numbers", "numbers of four", "counters"],
)
def test_each_read_of_a_tile_that_stays_waits_for_that_tile_alone(compiled: Callable[[], Compiled]):
    module = compiled().module
    function = kernel_of(module)
    for n, m in ((0, 0), (0, 1), (0, 2), (0, 9), (1, 3), (3, 2), (7, 7)):
        found = closures(function, {"n": n, "m": m})
        assert found.words(found.held - found.needed) == found.words(found.needed - found.held) == []
        assert wrong_runs(module, {"n": n, "m": m}) == []


def test_an_update_of_a_tile_that_stays_waits_for_the_update_before():
    """V works on each tile in place, once for each trip that names it."""
    kernel = SlotText("n m", P=3)
    for tile in range(3):
        kernel.load(f"P[{tile}]", row=tile)
    with kernel.loop("j", 0, "m"):
        kernel.vector("P[j % 3]", "P[j % 3]")
    with kernel.loop("i", 0, "n"):
        kernel.store("P[i % 3]", row="i")
    module = compile_module(kernel.module(), STRICT).module
    assert all(wrong_runs(module, {"n": n, "m": m}) == [] for n, m in ((0, 0), (1, 2), (3, 1), (5, 7)))


@pytest.mark.parametrize("slots", [2, 4])
def test_loops_one_behind_the_other_have_the_shortest_ring_that_fits_all(slots: int):
    module = three_loops(slots).module
    function = kernel_of(module)
    for n, m in ((0, 3), (1, 0), (1, 1), (2, 4), (2 * slots + 1, 1), (slots, 2 * slots + 1)):
        found = closures(function, {"n": n, "m": m})
        assert found.words(found.held - found.needed) == found.words(found.needed - found.held) == []
        assert wrong_runs(module, {"n": n, "m": m}) == []


@pytest.mark.parametrize("kernel", [over_the_border, over_the_border_by_arms], ids=["one arm", "two arms"])
def test_a_prefetch_over_the_border_of_loops_has_a_lane_for_each_slot(kernel: Callable[[], SlotText]):
    compiled = compile_module(kernel().module(), PipelineOptions(check=False, fail_on_lost_overlap=True))
    assert {event.event.type.data.lanes for event in ops_in(compiled.fenced) if isinstance(event, EventOp)} == {3}
    for n in (0, 1, 2, 3):
        assert wrong_runs(compiled.module, {"n": n}) == []


def test_a_slot_that_is_written_again_before_anyone_reads_it_is_no_one_lease():
    """One arm goes on with what the slot holds, the other one writes it anew."""
    kernel = SlotText(X=1, O=2)
    kernel.load("X")
    kernel.vector("O[1]", "X")
    with kernel.loop("i", 1, 2):
        with kernel.when("n < 2"):
            kernel.vector("O[1]", "O[1]", "X")
        with kernel.otherwise():
            kernel.vector("O[1]", "X")
    kernel.store("O[1]")
    module = compile_module(kernel.module(), STRICT).module
    assert all(wrong_runs(module, {"n": n}) == [] for n in (0, 1, 2, 3))
