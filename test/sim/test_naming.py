"""Names of slots, and how long pipes work on several at a time."""

from dataclasses import replace

from pto_buf.hw import Pipe, Space
from pto_buf.machine.steps import Region
from pto_buf.sim.naming import Names, SlotRange, names_of
from pto_buf.sim.overlap import slot_overlaps
from pto_buf.sim.timeline import Slice
from support.streams import BYTES
from support.timed import timed_stream

RING = SlotRange("ring", Space.VEC, 1024, 512, 1024, 3)


def test_a_slot_is_named_by_its_set_and_number():
    names = Names((RING, SlotRange("one", Space.ACC, 0, 512, 1024, 1)))
    assert names.of(Region(Space.VEC, 1024, 1536)).label == "ring[0]"
    assert names.of(Region(Space.VEC, 3072 + 64, 3072 + 128)).label == "ring[2]"
    assert names.of(Region(Space.ACC, 0, 512)).label == "one"
    assert [names.of(Region(Space.VEC, start, start + 8)).mark for start in (1024, 2048, 3072)] == ["0", "1", "2"]
    assert names.of(Region(Space.ACC, 0, 512)).mark == "#"
    assert names.of(Region(Space.VEC, 4096, 4100)).label == "UB+4096"
    assert names.of(Region(Space.MAT, 1024, 1536)).label == "L1+1024"


def test_what_is_in_no_set_is_told_apart_by_its_address():
    names = names_of((), timed_stream(2, 3).slowest.slices)
    slots = [names.of(Region(Space.VEC, number * BYTES, (number + 1) * BYTES)) for number in range(4)]
    assert [slot.label for slot in slots] == ["UB+0", "UB+4096", "UB+8192", "UB+12288"]
    assert [slot.mark for slot in slots] == ["0", "1", "2", "3"]
    assert {slot.group for slot in slots} == {"UB tiles of 4096 bytes"}


def test_a_part_of_a_tile_has_the_tiles_name():
    (one, *_) = timed_stream(1, 1).slowest.slices
    (whole,) = one.step.writes
    names = names_of((), [one])
    part = Region(whole.space, whole.start, whole.end)
    assert names.of(part).label == "UB+0"


def overlaps(slots: int, trips: int) -> dict[tuple[Pipe, Pipe], tuple[int, int]]:
    timeline = timed_stream(slots, trips).slowest
    sets = (SlotRange("in", Space.VEC, 0, BYTES, BYTES, slots),)
    found = slot_overlaps(timeline, names_of(sets, timeline.slices))
    return {(one.reader, one.writer): (one.cycles, one.busy) for one in found if one.group == "in"}


def test_a_slot_is_read_while_another_is_written():
    # each of the adds at 100 and 200 runs while the next load fills the other slot; the one at 300 has none beside it
    assert overlaps(2, 3) == {(Pipe.V, Pipe.MTE2): (60, 90)}
    assert overlaps(2, 1) == {(Pipe.V, Pipe.MTE2): (0, 30)}


def test_an_op_that_reads_two_slots_is_counted_once():
    def reading_another(one: Slice) -> Slice:
        (read, *rest) = one.step.reads
        start = (read.start + 2 * BYTES) % (3 * BYTES)
        another = Region(read.space, start, start + BYTES)
        return replace(one, step=replace(one.step, reads=(read, another, *rest)))

    timeline = timed_stream(3, 3).slowest
    slices = tuple(reading_another(one) if one.pipe is Pipe.V else one for one in timeline.slices)
    names = names_of((SlotRange("in", Space.VEC, 0, BYTES, BYTES, 3),), slices)
    found = {one.writer: (one.cycles, one.busy) for one in slot_overlaps(replace(timeline, slices=slices), names)}
    assert found[Pipe.MTE2] == (60, 90)


def test_one_slot_never_is():
    assert overlaps(1, 3) == {}
