"""Times of small kernels, worked out by hand, and of larger ones by their laws."""

import pytest

from pto_buf.errors import DiagnosticError
from pto_buf.hw import A2A3, Pipe
from pto_buf.machine.exec import kernel_named
from pto_buf.report.timing import headline
from pto_buf.sim.costs import Costs
from pto_buf.sim.profile import Profile, profile
from pto_buf.sim.simulate import Launch
from pto_buf.sim.timeline import Cause, Timeline
from support.pto_text import kernel, parse
from support.streams import LOADED, stream
from support.timed import ADD, COSTS, STORE


def timed(text: str, costs: Costs = COSTS, **scalars: int) -> Profile:
    return profile(Launch(kernel_named(parse(text), None), {}, scalars), costs)


def spans(timeline: Timeline, pipe: Pipe) -> list[tuple[int, int]]:
    return [(one.start, one.end) for one in timeline.slices if one.pipe is pipe]


def causes(timeline: Timeline) -> list[tuple[Pipe, Cause, int]]:
    return [(stall.pipe, stall.cause, stall.cycles) for stall in timeline.stalls]


def test_one_slot_makes_everything_wait_for_everything() -> None:
    timeline = timed(stream(1), n=2).slowest
    assert spans(timeline, Pipe.MTE2) == [(0, 100), (130, 230)]
    assert spans(timeline, Pipe.V) == [(100, 130), (230, 260)]
    assert spans(timeline, Pipe.MTE3) == [(130, 180), (260, 310)]
    assert timeline.end == 310
    assert causes(timeline) == [
        (Pipe.V, Cause.DATA, 100),
        (Pipe.MTE3, Cause.DATA, 130),
        (Pipe.MTE2, Cause.SLOT, 30),
        (Pipe.V, Cause.DATA, 100),
        (Pipe.MTE3, Cause.DATA, 80),
    ]


def test_a_second_slot_lets_the_next_load_run_while_this_one_is_used() -> None:
    timeline = timed(stream(2), n=3).slowest
    assert spans(timeline, Pipe.MTE2) == [(0, 100), (100, 200), (200, 300)]
    assert timeline.end == 300 + ADD + STORE
    assert timeline.busiest is Pipe.MTE2
    assert timeline.bound == timeline.end
    assert all(stall.pipe is not Pipe.MTE2 for stall in timeline.stalls)


def test_stalls_say_what_they_wait_for() -> None:
    timeline = timed(stream(1), n=2).slowest
    whys = [stall.why for stall in timeline.stalls]
    assert whys[0] == "data from MTE2: load at line 25"
    assert whys[2] == "slot in use by V: add at line 29"


def test_issue_takes_its_time_and_is_named_as_a_cause() -> None:
    slow = Costs(**{**vars(COSTS), "instruction": 1000})
    timeline = timed(stream(2), slow, n=2).slowest
    assert {cause for pipe, cause, _ in causes(timeline) if pipe is Pipe.MTE2} == {Cause.ISSUE}
    assert timeline.issue == timeline.end - STORE or timeline.issue <= timeline.end
    assert timed(stream(2), n=2).slowest.issue == 0


def test_a_full_queue_holds_the_scalar_unit_and_what_it_issues_next() -> None:
    loads = "\n".join(["pto.tabs ins(%t : T) outs(%t : T)"] * 4)
    body = f"""
%a = arith.constant 0 : i64
%b = arith.constant 8192 : i64
%t = pto.alloc_tile addr = %a : T
%u = pto.alloc_tile addr = %b : T
%g = pto.alloc_tile addr = %b : !pto.tile_buf<mat, 16x64xf32, blayout=col_major, slayout=row_major>
%c0 = arith.constant 0 : index
%c1 = arith.constant 1 : index
%c16 = arith.constant 16 : index
%c64 = arith.constant 64 : index
%v = pto.make_tensor_view %x, shape = [%c16, %c64], strides = [%c64, %c1] : !pto.tensor_view<?x?xf32>
%w = pto.partition_view %v, offsets = [%c0, %c0], sizes = [%c16, %c64] : !pto.tensor_view<?x?xf32> -> W
{loads}
pto.tload ins(%w : W) outs(%u : T)
""".replace("W", "!pto.partition_tensor_view<16x64xf32>").replace("T", "!pto.tile_buf<vec, 16x64xf32>")
    text = kernel(body, "%x: !pto.ptr<f32>")
    short = Costs(**{**vars(COSTS), "queue": 2})
    timeline = timed(text, short).slowest
    assert spans(timeline, Pipe.V) == [(0, 30), (30, 60), (60, 90), (90, 120)]
    # the fourth op enters when the second starts, at 30, and only then the load is issued
    assert spans(timeline, Pipe.MTE2) == [(30, 130)]
    assert causes(timeline)[-1] == (Pipe.MTE2, Cause.QUEUE, 30)
    assert spans(timed(text).slowest, Pipe.MTE2) == [(0, 100)]


def test_a_barrier_over_all_pipes_holds_every_pipe() -> None:
    text = stream(2).replace("\n}\n", "\npto.barrier #pto.pipe<PIPE_ALL>\n}\n", 1)
    timeline = timed(text, n=2).slowest
    assert spans(timeline, Pipe.MTE2) == [(0, 100), (180, 280)]
    assert (Pipe.MTE2, Cause.BARRIER, 80) in causes(timeline)


def test_a_scalar_wait_holds_what_is_issued_behind_it() -> None:
    text = stream(2).replace(
        "\n}\n",
        "\npto.set_flag[<PIPE_MTE3>, <PIPE_S>, <EVENT_ID0>]\npto.wait_flag[<PIPE_MTE3>, <PIPE_S>, <EVENT_ID0>]\n}\n",
        1,
    )
    assert spans(timed(text, n=2).slowest, Pipe.MTE2) == [(0, 100), (180, 280)]


def test_arrows_join_the_op_before_the_set_and_the_op_behind_the_wait() -> None:
    timeline = timed(stream(1), n=2).slowest
    loaded = [one for one in timeline.arrows if one.label == f"flag {LOADED.src} -> {LOADED.dst} id 0"]
    assert [(one.source, one.target) for one in loaded] == [(0, 1), (2, 4)]
    assert [(one.at, one.taken) for one in loaded] == [(100, 100), (230, 230)]
    primes = [one for one in timeline.arrows if not one.set.trips]
    assert all(one.source is None for one in primes)


def test_a_kernel_that_gets_stuck_is_an_error_at_the_wait() -> None:
    with pytest.raises(DiagnosticError, match=r"test.pto:3:1: error: deadlock: this waits for flag V -> MTE3 id 2"):
        timed(kernel("pto.wait_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID2>]"))
    with pytest.raises(DiagnosticError, match=r"test.pto:3:1: error: deadlock"):
        timed(kernel("pto.wait_flag[<PIPE_V>, <PIPE_S>, <EVENT_ID2>]"))
    with pytest.raises(DiagnosticError, match=r"test.pto:3:1: error: deadlock"):
        timed(kernel("pto.wait_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID2>]\npto.barrier #pto.pipe<PIPE_ALL>"))


def test_an_op_without_a_cost_is_an_error_at_the_op() -> None:
    with pytest.raises(DiagnosticError, match=r"test.pto:28:3: error: pto.tload: no cost for moving gm->vec"):
        timed(stream(2), Costs(**{**vars(COSTS), "moves": {}}), n=1)


@pytest.mark.parametrize("slots", [1, 2, 3])
@pytest.mark.parametrize("trips", [0, 1, 4, 7])
def test_laws_of_every_timeline(slots: int, trips: int) -> None:
    timeline = profile(Launch(kernel_named(parse(stream(slots)), None), {}, {"n": trips})).slowest
    assert timeline.bound <= timeline.end
    for pipe in timeline.busy:
        ends = 0
        for start, end in spans(timeline, pipe):
            assert ends <= start <= end
            ends = end
        gaps = sum(stall.cycles for stall in timeline.stalls if stall.pipe is pipe)
        assert gaps + timeline.busy[pipe] == ends
    for arrow in timeline.arrows:
        assert arrow.at <= arrow.taken
        if arrow.source is not None:
            assert timeline.slices[arrow.source].end <= arrow.at
        if arrow.target is not None:
            assert timeline.slices[arrow.target].start >= arrow.taken


def test_more_slots_are_never_slower() -> None:
    ends = [timed(stream(slots), n=8).cycles for slots in (1, 2, 3)]
    assert ends == sorted(ends, reverse=True)
    assert ends[0] > ends[1]


def test_several_blocks_are_timed_each() -> None:
    launch = Launch(kernel_named(parse(stream(2)), None), {}, {"n": 2}, blocks=3)
    found = profile(launch, COSTS)
    assert [timeline.block for timeline in found.timelines] == [0, 1, 2]
    assert "3 cores, 280 to 280 cycles; block 0 in detail:" in headline(found)


def test_the_shipped_table_is_used_for_the_kernels_target() -> None:
    found = profile(Launch(kernel_named(parse(stream(2)), None), {}, {"n": 1}))
    assert found.target is A2A3
    assert found.costs.clock_mhz == 1850
