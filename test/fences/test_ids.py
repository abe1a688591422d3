"""Ids for events: apart where both may be pending, used again where the source knows of the wait."""

from collections.abc import Mapping, Sequence

import pytest

from pto_buf.fences.numbering.ids import Ids, Lanes, Return, Shortage, missing_returns, number_events, surely_enough
from pto_buf.fences.reducing.reduction import Body, Nest, Signal
from pto_buf.hw import EVENT_IDS, Pipe

NONE = Ids()
BY_SOURCE = Ids(by_source=True)


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
    reserved = Ids(frozenset({(Pipe.MTE2, Pipe.V, 0), (Pipe.MTE2, Pipe.V, 3)}))
    assert number_events([ahead(2), ahead(1)], in_loop(2), reserved) == {0: 1, 1: 4}
    assert number_events([ahead(8)], in_loop(1), reserved) == Shortage(Pipe.MTE2, Pipe.V, 8)


def test_counting_is_enough_only_where_nothing_is_reserved():
    events = [ahead(3), ahead(5, Pipe.MTE1), Lanes(Pipe.V, Pipe.MTE2, 8)]
    assert surely_enough(events, Ids(frozenset({(Pipe.MTE1, Pipe.V, 0)})))
    assert not surely_enough(events, Ids(frozenset({(Pipe.MTE2, Pipe.V, 0)})))
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


def come_back(events: list[Lanes], body: Body, ids: Ids) -> Body:
    """The body with the returns that are missing; their events are put behind the others."""
    returns = missing_returns(events, body, ids)
    assert returns is not None
    with_returns = list(body)
    for missing in returns:
        back = len(events)
        events.append(Lanes(events[missing.waited].dst, events[missing.set_again].src, 1))
        with_returns.insert(with_returns.index(Signal(missing.waited, False, 0)) + 1, Signal(back, True, 0))
        with_returns.insert(with_returns.index(Signal(missing.set_again, True, 0)), Signal(back, False, 0))
    return tuple(with_returns)


@pytest.mark.parametrize("count", [8, 9, 10, 16, 17, 100])
@pytest.mark.parametrize("pending", [1, 2, 3])
def test_missing_returns_are_few_and_enough(count: int, pending: int):
    events = [ahead() for _ in range(count)]
    body = come_back(events, stream(count, pending=pending), NONE)
    assert len(events) - count <= max(0, count - EVENT_IDS) // 2 + 1
    ids = number_events(events, body, NONE)
    assert not isinstance(ids, Shortage)
    assert set(ids) == set(range(len(events)))


def test_no_return_helps_when_nine_are_open_at_once():
    events = [ahead() for _ in range(EVENT_IDS + 1)]
    assert missing_returns(events, stream(len(events), pending=EVENT_IDS + 1), NONE) is None


def test_a_return_goes_from_a_wait_to_the_set_that_lacks_an_id():
    events = [ahead() for _ in range(EVENT_IDS + 1)]
    assert missing_returns(events, stream(len(events)), NONE) == (Return(3, 8),)


def test_by_source_events_to_two_destinations_are_counted_together():
    events = [ahead(5), ahead(4, Pipe.MTE1)]
    assert number_events(events, in_loop(2), NONE) == {0: 0, 1: 0}
    assert number_events(events, in_loop(2), BY_SOURCE) == Shortage(Pipe.MTE2, Pipe.V, 9)
    assert number_events([ahead(5), ahead(3, Pipe.MTE1)], in_loop(2), BY_SOURCE) == {0: 0, 1: 5}


def test_by_source_a_reserved_flag_takes_its_id_from_all_destinations():
    ids = Ids(frozenset({(Pipe.MTE2, Pipe.MTE1, 0)}), by_source=True)
    assert number_events([ahead(8)], in_loop(1), ids) == Shortage(Pipe.MTE2, Pipe.V, 8)
    assert number_events([ahead(7)], in_loop(1), ids) == {0: 1}


def shared(events: Sequence[Lanes], found: Mapping[int, int]) -> bool:
    """Whether an id of a source serves two destinations."""
    flags = {(e.src, found[n] + lane, e.dst) for n, e in enumerate(events) for lane in range(e.lanes)}
    return len(flags) != len({flag[:2] for flag in flags})


@pytest.mark.parametrize("lasting", [0, 1, 3, 5])
@pytest.mark.parametrize("step", [2, 3, 5])
def test_by_source_no_id_of_a_stream_goes_to_two_destinations(step: int, lasting: int):
    events = [ahead(1, Pipe.MTE1 if number % step == 0 else Pipe.V) for number in range(20)]
    body = stream(20)
    if lasting:
        events.append(ahead(lasting))
        body = (*body, Nest(True, ((Signal(20, True, "i"), Signal(20, False, "i")),)))
    body = come_back(events, body, BY_SOURCE)
    found = number_events(events, body, BY_SOURCE)
    assert not isinstance(found, Shortage)
    assert not shared(events, found)
    by_pair = number_events(events, body, NONE)
    assert not isinstance(by_pair, Shortage)
    assert shared(events, by_pair)
