"""Two timed kernels side by side."""

from pto_buf.hw import Pipe
from pto_buf.report.comparison import comparison
from pto_buf.report.table import plain
from pto_buf.sim.naming import names_of
from pto_buf.sim.overlap import together
from support.timed import timed_stream


def test_together_counts_the_cycles_in_which_both_work() -> None:
    one, two = timed_stream(1, 2).slowest, timed_stream(2, 3).slowest
    assert together(one, Pipe.MTE2, Pipe.V) == 0
    assert together(one, Pipe.MTE2, Pipe.MTE3) == 50  # the first store runs while the second tile is loaded
    assert together(two, Pipe.MTE2, Pipe.V) == together(two, Pipe.V, Pipe.MTE2) == 60
    assert together(two, Pipe.M, Pipe.V) == 0


def test_a_second_slot_is_seen_to_pay() -> None:
    assert plain(comparison(timed_stream(1, 2), timed_stream(2, 2), ("one slot", "two slots"))).splitlines() == [
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


def test_what_slots_are_good_for_is_compared_where_they_have_names() -> None:
    one, two = timed_stream(1, 3), timed_stream(2, 3)
    names = names_of((), one.slowest.slices), names_of((), two.slowest.slices)
    rows = {row[0]: row[1:] for row in comparison(one, two, slots=names).rows}
    assert rows["UB tiles of 4096 bytes: V reads one, MTE2 writes another"] == ("0", "60", "new")
