"""Slots that are written in parts."""

from dataclasses import replace

from pto_buf.hw import Pipe
from pto_buf.slots.flow import SiteKey
from pto_buf.slots.leases import analyse
from pto_buf.slots.program import Op, SlotSet
from support.lease_checks import accepted, complaints, origins
from support.slot_programs import Maker, Number, mod


def part(make: Maker, ring: SlotSet, index: Number, start: int, end: int) -> Op:
    """A load into some bytes of a slot."""
    (access,) = make.load(ring, index).accesses
    return make.op("load", Pipe.MTE2, replace(access, start=start, end=end))


HALF = 16 * 64 * 4 // 2


def test_halves_fill_one_lease_in_every_trip() -> None:
    make = Maker()
    ring, n = make.ring(2), make.argument("n")
    key, i = make.key(), make.counter("i", 0, n)
    top, bottom = part(make, ring, mod(i, 2), 0, HALF), part(make, ring, mod(i, 2), HALF, 2 * HALF)
    read = make.store(ring, mod(i, 2))
    flow = accepted(make.program(make.loop(key, i, 0, n, top, bottom, read)))
    assert origins(flow, bottom) == origins(flow, read) == [(top.key, None)]
    assert [o.opener.op for o in flow.ends[SiteKey(top.key, 0)]] == [top.key] and SiteKey(
        bottom.key, 0
    ) not in flow.ends


def test_a_read_of_more_than_was_filled_is_refused() -> None:
    make = Maker()
    ring = make.ring(2)
    top = part(make, ring, 0, 0, HALF)
    read = make.store(ring, 0)
    assert complaints(analyse(make.program(top, read))) == [("read-before-write", read.key)]
    (access,) = make.store(ring, 0).accesses
    half = make.op("store", Pipe.MTE3, replace(access, start=16, end=HALF))
    accepted(make.program(top, half))


def test_a_part_written_later_keeps_the_rest_and_the_value() -> None:
    make = Maker()
    ring = make.ring(1)
    whole = make.load(ring, 0)
    first = make.store(ring, 0, whole.key)
    top = part(make, ring, 0, 0, HALF)
    second = make.store(ring, 0, whole.key)
    flow = accepted(make.program(whole, first, top, second))
    assert origins(flow, second) == [(top.key, None)]
