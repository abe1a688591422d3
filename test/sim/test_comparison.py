"""Two timed kernels side by side."""

from pto_buf.hw import Pipe
from pto_buf.machine.exec import kernel_named
from pto_buf.sim.comparison import comparison, together
from pto_buf.sim.costs import Costs, Line, VectorOp
from pto_buf.sim.profile import Profile, profile
from pto_buf.sim.simulate import Launch
from support.pto_text import parse
from support.streams import stream

COSTS = Costs(
    1000, 0, 0, 0, 0, 32, {"gm->vec": Line(100, 1e9), "vec->gm": Line(50, 1e9)}, 0, {}, VectorOp(0, 30), 0, None
)


def timed(slots: int, trips: int) -> Profile:
    return profile(Launch(kernel_named(parse(stream(slots)), None), {}, {"n": trips}), COSTS)


def test_together_counts_the_cycles_in_which_both_work() -> None:
    one, two = timed(1, 2).slowest, timed(2, 3).slowest
    assert together(one, Pipe.MTE2, Pipe.V) == 0
    assert together(one, Pipe.MTE2, Pipe.MTE3) == 50  # the first store runs while the second tile is loaded
    assert together(two, Pipe.MTE2, Pipe.V) == together(two, Pipe.V, Pipe.MTE2) == 60
    assert together(two, Pipe.M, Pipe.V) == 0


def test_a_second_slot_is_seen_to_pay() -> None:
    assert comparison(timed(1, 2), timed(2, 2), ("one slot", "two slots")).splitlines() == [
        "                  one slot  two slots    change",
        "cycles                 310        280    -9.7 %",
        "bound                  280        280    +0.0 %",
        "MTE2 busy              200        200    +0.0 %",
        "MTE2 waits: slot        30          0  -100.0 %",
        "V busy                  60         60    +0.0 %",
        "V waits: data          200        170   -15.0 %",
        "MTE3 busy              100        100    +0.0 %",
        "MTE3 waits: data       210        180   -14.3 %",
        "MTE2 and V busy          0         30       new",
        "V and MTE3 busy          0          0         -",
    ]
