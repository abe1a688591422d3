"""Which events may go: by hand-made programs of sets, waits and work."""

from pto_buf.fences.reducing.reduction import Body, Dropped, Ends, Everything, Nest, Signal, Work, droppable
from pto_buf.hw import Pipe

LOAD, EXTRACT, CUBE = Work((Pipe.MTE2,)), Work((Pipe.MTE1,)), Work((Pipe.M,))
DOWN = Ends(Pipe.MTE1, Pipe.M)
UP = Ends(Pipe.M, Pipe.MTE1)


def put(event: int, lane: object = 0) -> Signal:
    return Signal(event, True, lane)


def take(event: int, lane: object = 0) -> Signal:
    return Signal(event, False, lane)


def gone(events: list[Ends], *body: Work | Signal | Nest | Everything) -> list[tuple[int, int | None]]:
    return [(dropped.event, dropped.by) for dropped in droppable(events, (*body, Everything()))]


def loop(*body: Work | Signal | Nest) -> Nest:
    return Nest(True, (body,))


def test_the_later_set_waited_for_first_implies_its_twin():
    body = (EXTRACT, put(0), EXTRACT, put(1), take(0), take(1), CUBE)
    assert gone([DOWN, DOWN], *body) == [(0, 1)]


def test_work_between_the_waits_keeps_the_twin():
    body = (EXTRACT, put(0), EXTRACT, put(1), take(0), CUBE, take(1), CUBE)
    assert gone([DOWN, DOWN], *body) == []


def test_a_set_by_the_destination_between_the_waits_keeps_the_twin():
    body = (EXTRACT, put(0), EXTRACT, put(1), take(0), put(2), take(1), CUBE, take(2), EXTRACT)
    assert gone([DOWN, DOWN, UP], *body) == []


def test_a_wait_by_the_source_between_the_sets_keeps_what_only_the_later_one_tells():
    body = (put(2), EXTRACT, put(0), take(2), put(1), take(0), take(1), CUBE)
    assert gone([DOWN, DOWN, UP], *body) == [(0, 1)]


def test_twins_in_a_loop_need_equal_lanes():
    def body(lane: object) -> Body:
        trip = loop(take(0, "i"), take(1, lane), EXTRACT, CUBE, put(0, "i"), put(1, lane))
        return (put(0), put(1), trip, take(0), take(1))

    assert gone([UP, UP], *body("i")) == [(1, 0)]
    assert gone([UP, UP], *body("j")) == []


def test_twins_in_different_blocks_stay():
    body = (put(0), put(1), loop(take(0), EXTRACT, put(0)), loop(take(1), EXTRACT, put(1)), take(0), take(1))
    assert gone([Ends(Pipe.MTE1, Pipe.MTE2)] * 2, *body) == []


def test_only_one_of_two_equal_events_goes():
    body = (EXTRACT, put(0), put(1), take(0), take(1), CUBE)
    assert gone([DOWN, DOWN], *body) == [(1, 0)]


def test_a_single_pair_is_covered_by_the_first_wait_of_every_trip():
    trip = loop(EXTRACT, put(1, "i"), take(1, "i"), CUBE)
    assert gone([DOWN, DOWN], EXTRACT, put(0), take(0), trip) == [(0, None)]


def test_a_single_pair_is_not_covered_if_work_may_come_first():
    inner = loop(put(1, "i"), take(1, "i"))
    assert gone([DOWN, DOWN], EXTRACT, put(0), take(0), inner, CUBE) == []
    assert gone([DOWN, DOWN], EXTRACT, put(0), take(0), loop(CUBE, put(1, "i"), take(1, "i"))) == []


def test_a_single_pair_is_not_covered_by_a_set_that_may_be_earlier():
    trip = loop(take(1, "i"), CUBE, EXTRACT, put(1, "i"))
    assert gone([DOWN, DOWN], put(1), EXTRACT, put(0), take(0), trip) == []


def test_one_arm_alone_does_not_cover():
    arms = Nest(False, ((put(1), take(1), CUBE), ()))
    assert gone([DOWN, DOWN], EXTRACT, put(0), take(0), arms, CUBE) == []
    assert gone([DOWN, DOWN], EXTRACT, put(0), take(0), arms) == [(0, None)]


def test_what_must_stay_stays():
    body = (EXTRACT, put(0), put(1), take(0), take(1), CUBE, Everything())
    assert droppable([DOWN, DOWN], body, {0, 1}) == ()
    assert [dropped.event for dropped in droppable([DOWN, DOWN], body, {1})] == [0]
    assert droppable([DOWN, DOWN], body) == (Dropped(1, 0),)
