"""One run of a kernel, step by step in the order in which a core's scalar unit issues. Pure."""

from dataclasses import dataclass
from typing import TypeAlias

from pto_buf.check.program import Loop, Site
from pto_buf.hw import Core, Pipe, Space

Trips: TypeAlias = tuple[tuple[Loop, int], ...]
"""The loops around a step, outermost first, each with the number of its trip, counted from 0."""


@dataclass(frozen=True, slots=True)
class Bytes:
    """On-chip bytes: [start, end) for each run, of the buffers of core number `core`."""

    space: Space
    runs: tuple[tuple[int, int], ...]
    core: int = 0


@dataclass(frozen=True, slots=True)
class Box:
    """Elements `base + sum (offset_d + k_d) * stride_d`, 0 <= k_d < extent_d, of the array behind an argument."""

    argument: int
    name: str
    base: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offsets: tuple[int, ...]
    extents: tuple[int, ...]
    size: int
    """Bytes of an element."""


@dataclass(frozen=True, slots=True)
class Access:
    where: Bytes | Box
    reads: bool
    writes: bool


@dataclass(frozen=True, slots=True)
class Did:
    """A tile op on its pipes."""

    site: Site
    pipes: tuple[Pipe, ...]
    accesses: tuple[Access, ...]
    trips: Trips
    raises: tuple[tuple[Pipe, Pipe, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Set:
    site: Site
    src: Pipe
    dst: Pipe
    lane: int
    trips: Trips


@dataclass(frozen=True, slots=True)
class Wait:
    site: Site
    src: Pipe
    dst: Pipe
    lane: int
    trips: Trips


@dataclass(frozen=True, slots=True)
class Fence:
    """A barrier on one pipe, or on all; with `memory`, on global memory too."""

    site: Site
    pipe: Pipe
    trips: Trips
    memory: bool = False


@dataclass(frozen=True, slots=True)
class Locked:
    """A pipe takes a buffer lock, or gives it back."""

    site: Site
    pipe: Pipe
    lane: int
    take: bool
    trips: Trips


@dataclass(frozen=True, slots=True)
class Signalled:
    """To the other kind of core; `single`: to one vector core."""

    site: Site
    pipe: Pipe
    lane: int
    trips: Trips
    single: bool = False


@dataclass(frozen=True, slots=True)
class Awaited:
    """Of a signal from the other kind of core."""

    site: Site
    pipe: Pipe
    lane: int
    trips: Trips


@dataclass(frozen=True, slots=True)
class Outside:
    """The run stops: there is nothing of this kind with that number, but only `count` of them."""

    site: Site
    what: str
    number: int
    count: int
    trips: Trips


@dataclass(frozen=True, slots=True)
class Done:
    """The function returns."""

    site: Site
    trips: Trips


Step: TypeAlias = Did | Set | Wait | Fence | Locked | Signalled | Awaited | Outside | Done


@dataclass(frozen=True)
class Stream:
    """What one core does in a run. `number` tells the vector cores of a block apart."""

    core: Core | None
    number: int
    steps: tuple[Step, ...]

    @property
    def name(self) -> str:
        """`the cube core`, `vector core 1`; nothing where there is only one core."""
        return "" if self.core is None else "the cube core" if self.core is Core.CUBE else f"vector core {self.number}"
