"""Ids for events: apart where both may be pending, used again where the source knows of the wait."""

import pytest

from pto_buf.fences.ids import Lanes, Return, Shortage, missing_returns, number_events, surely_enough
from pto_buf.fences.reduction import Body, Nest, Signal
from pto_buf.hw import EVENT_IDS, Pipe

NONE: frozenset[tuple[Pipe, Pipe, int]] = frozenset()


def ahead(lanes: int = 1, dst: Pipe = Pipe.V) -> Lanes:
    return Lanes(Pipe.MTE2, dst, lanes)


def stream(count: int, *, pending: int = 1) -> Body:
    """`count` pairs one behind the other, at most `pending` of them open at once."""
    items: list[Signal] = []
    for number in range(count + pending):
        if number < count:
            items.append(Signal(number, True, 0))
        if number >= pending:
            items.append(Signal(number - pending, False, 0))
    return tuple(items)


def in_loop(count: int) -> Body:
    return (Nest(True, (tuple(Signal(number, first, "i") for number in range(count) for first in (True, False)),)),)


def test_lanes_are_consecutive_and_the_largest_event_begins_at_zero():
    assert number_events([ahead(1), ahead(4), ahead(2)], in_loop(3), NONE) == {1: 0, 2: 4, 0: 6}


def test_events_of_one_source_are_apart_while_the_ids_last():
    assert number_events([ahead(2), ahead(2, Pipe.MTE1)], in_loop(2), NONE) == {0: 0, 1: 2}
    assert number_events([ahead(5), ahead(5, Pipe.MTE1)], in_loop(2), NONE) == {0: 0, 1: 0}


def test_reserved_ids_are_left_alone():
    reserved = frozenset({(Pipe.MTE2, Pipe.V, 0), (Pipe.MTE2, Pipe.V, 3)})
    assert number_events([ahead(2), ahead(1)], in_loop(2), reserved) == {0: 1, 1: 4}
    assert number_events([ahead(8)], in_loop(1), reserved) == Shortage(Pipe.MTE2, Pipe.V, 8)


def test_counting_is_enough_only_where_nothing_is_reserved():
    events = [ahead(3), ahead(5, Pipe.MTE1), Lanes(Pipe.V, Pipe.MTE2, 8)]
    assert surely_enough(events, frozenset({(Pipe.MTE1, Pipe.V, 0)}))
    assert not surely_enough(events, frozenset({(Pipe.MTE2, Pipe.V, 0)}))
    assert not surely_enough([*events, ahead(1)], NONE)


def test_too_many_lanes_are_a_shortage_with_its_number():
    assert number_events([ahead(5), ahead(4)], in_loop(2), NONE) == Shortage(Pipe.MTE2, Pipe.V, 9)


def test_single_pairs_do_not_share_an_id_before_the_source_knows_of_the_wait():
    events = [ahead() for _ in range(EVENT_IDS + 1)]
    assert isinstance(number_events(events, stream(len(events)), NONE), Shortage)


def test_a_way_back_lets_ids_serve_again():
    events = [ahead() for _ in range(EVENT_IDS + 1)] + [Lanes(Pipe.V, Pipe.MTE2, 1)]
    back = len(events) - 1
    body = list(stream(len(events) - 1))
    body[3:3] = [Signal(back, True, 0), Signal(back, False, 0)]
    ids = number_events(events, tuple(body), NONE)
    assert not isinstance(ids, Shortage)
    assert ids[2] == ids[0]


@pytest.mark.parametrize("count", [8, 9, 10, 16, 17, 100])
@pytest.mark.parametrize("pending", [1, 2, 3])
def test_missing_returns_are_few_and_enough(count: int, pending: int):
    events = [ahead() for _ in range(count)]
    body = stream(count, pending=pending)
    returns = missing_returns(events, body, NONE)
    assert returns is not None
    assert len(returns) <= max(0, count - EVENT_IDS) // 2 + 1
    body_with = list(body)
    for number, missing in enumerate(returns):
        events.append(Lanes(Pipe.V, Pipe.MTE2, 1))
        body_with.insert(body_with.index(Signal(missing.waited, False, 0)) + 1, Signal(count + number, True, 0))
        body_with.insert(body_with.index(Signal(missing.set_again, True, 0)), Signal(count + number, False, 0))
    ids = number_events(events, tuple(body_with), NONE)
    assert not isinstance(ids, Shortage)
    assert set(ids) == set(range(len(events)))


def test_no_return_helps_when_nine_are_open_at_once():
    events = [ahead() for _ in range(EVENT_IDS + 1)]
    assert missing_returns(events, stream(len(events), pending=EVENT_IDS + 1), NONE) is None


def test_a_return_goes_from_a_wait_to_the_set_that_lacks_an_id():
    events = [ahead() for _ in range(EVENT_IDS + 1)]
    assert missing_returns(events, stream(len(events)), NONE) == (Return(3, 8),)
