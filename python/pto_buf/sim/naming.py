"""What people call the bytes that an op touches: slots of a set, or tiles by where they lie. No IR."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pto_buf.hw import Space
from pto_buf.machine.steps import Exec, Region
from pto_buf.sim.timeline import Slice


@dataclass(frozen=True)
class SlotRange:
    """A slot set in its place: `count` slots of `size` bytes, `stride` bytes apart, from `start`."""

    name: str
    space: Space
    start: int
    size: int
    stride: int
    count: int


@dataclass(frozen=True)
class SlotName:
    """One slot. `group` is its set, or all tiles of the same size in one buffer; `number` its place among `count`."""

    group: str
    number: int
    count: int
    label: str

    @property
    def mark(self) -> str:
        """One character that tells it from the others of its group; `#` for the only one."""
        return "#" if self.count == 1 else "0123456789abcdefghijklmnopqrstuvwxyz"[self.number % 36]


@dataclass(frozen=True)
class Names:
    """Finds the names. Sets come first; bytes that lie in none have the names in `tiles`."""

    sets: tuple[SlotRange, ...] = ()
    tiles: Mapping[Region, SlotName] = field(default_factory=dict[Region, SlotName])

    def of(self, region: Region) -> SlotName:
        """The name of the slot that the region starts in."""
        return self.in_set(region) or self.tiles.get(region) or _alone(region)

    def of_step(self, step: Exec) -> SlotName | None:
        """The slot that a step writes; for one that writes none, such as a store, the one that it reads."""
        region = next(iter((*step.writes, *step.reads)), None)
        return None if region is None else self.of(region)

    def in_set(self, region: Region) -> SlotName | None:
        """The slot of a set that the region starts in."""
        for one in self.sets:
            if one.space is region.space and 0 <= (ahead := region.start - one.start) < one.stride * one.count:
                number = ahead // one.stride
                return SlotName(one.name, number, one.count, one.name if one.count == 1 else f"{one.name}[{number}]")
        return None


def names_of(sets: Sequence[SlotRange], slices: Iterable[Slice]) -> Names:
    """Names for the given sets, and for whatever else these slices touch: by space, size and address.

    A run of bytes that lies within another that is touched has the name of the other one.
    """
    known = Names(tuple(sets))
    found = dict.fromkeys(region for one in slices for region in (*one.step.writes, *one.step.reads))
    rest = sorted((one for one in found if known.in_set(one) is None), key=lambda one: (one.space, one.start, -one.end))
    whole: dict[Region, Region] = {}
    around: Region | None = None
    for region in rest:
        if around is None or around.space is not region.space or region.end > around.end:
            around = region
        whole[region] = around
    alike: dict[tuple[Space, int], list[Region]] = {}
    for region in dict.fromkeys(whole.values()):
        alike.setdefault((region.space, region.end - region.start), []).append(region)
    names = {
        region: replace(_alone(region), number=number, count=len(regions))
        for regions in alike.values()
        for number, region in enumerate(regions)
    }
    return Names(tuple(sets), {region: names[other] for region, other in whole.items()})


def _alone(region: Region) -> SlotName:
    group = f"{region.space.buffer} tiles of {region.end - region.start} bytes"
    return SlotName(group, 0, 1, f"{region.space.buffer}+{region.start}")
