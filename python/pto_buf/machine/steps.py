"""What a kernel does when it runs, one step after another in the order in which its scalar unit issues them. No IR.

Addresses and lengths are bytes; offsets, extents and strides of global memory are elements.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pto_buf.dialect.table.row import OpRow
from pto_buf.errors import Place
from pto_buf.hw import Core, Pipe, Space
from pto_buf.tile import TileSpec

Trips: TypeAlias = tuple[tuple[Place | None, int], ...]
"""The loops around a step, outermost first, each with the number of its trip, counted from 0."""


@dataclass(frozen=True, slots=True)
class Region:
    """Bytes [start, end) of an on-chip space."""

    space: Space
    start: int
    end: int

    def overlaps(self, other: "Region") -> bool:
        return self.space is other.space and self.start < other.end and other.start < self.end


@dataclass(frozen=True, slots=True)
class GlobalRegion:
    """A window of the array behind pointer argument number `argument` of the function.

    Its elements are `offset + i0*strides[0] + i1*strides[1] + ...` for `0 <= i_d < extents[d]`.
    """

    argument: int
    offset: int
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str

    @property
    def empty(self) -> bool:
        return any(extent <= 0 for extent in self.extents)

    @property
    def bounds(self) -> tuple[int, int]:
        """The first element and the one behind the last; equal if there is none."""
        if self.empty:
            return self.offset, self.offset
        reach = [(extent - 1) * stride for extent, stride in zip(self.extents, self.strides, strict=True)]
        return self.offset + sum(min(0, r) for r in reach), self.offset + sum(max(0, r) for r in reach) + 1


@dataclass(frozen=True, slots=True)
class TileRef:
    """A tile operand as it is at run time.

    `base` is the geometry of the storage at byte `address` of `base.space`. The op sees the `rows` x `cols` elements of
    it from (`row`, `col`) on, of which the first `v_rows` x `v_cols` are valid.
    """

    base: TileSpec
    address: int
    row: int
    col: int
    rows: int
    cols: int
    v_rows: int
    v_cols: int

    @property
    def space(self) -> Space:
        return self.base.space

    @property
    def dtype(self) -> str:
        return self.base.dtype

    @property
    def whole(self) -> bool:
        return (self.row, self.col, self.rows, self.cols) == (0, 0, self.base.rows, self.base.cols)


Resolved: TypeAlias = TileRef | GlobalRegion | int | float | Any
"""An operand at run time: a tile, a window of global memory, or a number (floats as numpy scalars of their type)."""


@dataclass(frozen=True, slots=True)
class Exec:
    """A tile op runs. `site` numbers the ops of the function in program order and is the same for every trip.

    `reads` and `writes` cover the whole window of each tile, whatever its valid extent.
    """

    site: int
    name: str
    row: OpRow = field(repr=False)
    pipes: tuple[Pipe, ...]
    operands: Mapping[str, Resolved]
    attrs: Mapping[str, str]
    reads: tuple[Region, ...]
    writes: tuple[Region, ...]
    global_reads: tuple[GlobalRegion, ...]
    global_writes: tuple[GlobalRegion, ...]
    place: Place | None
    trips: Trips

    def memory(self, name: str) -> TileRef | GlobalRegion:
        """The tile or window that the operand is."""
        value = self.operands[name]
        assert isinstance(value, (TileRef, GlobalRegion)), name
        return value

    def tile(self, name: str) -> TileRef:
        """The tile that the operand is."""
        value = self.operands[name]
        assert isinstance(value, TileRef), name
        return value


@dataclass(frozen=True, slots=True)
class SetFlag:
    site: int
    src: Pipe
    dst: Pipe
    id: int
    place: Place | None
    trips: Trips


@dataclass(frozen=True, slots=True)
class WaitFlag:
    site: int
    src: Pipe
    dst: Pipe
    id: int
    place: Place | None
    trips: Trips


@dataclass(frozen=True, slots=True)
class Barrier:
    site: int
    pipe: Pipe
    place: Place | None
    trips: Trips


@dataclass(frozen=True, slots=True)
class SyncSet:
    """A signal to the other kind of core in the block, sent when the pipe has done everything before it.

    `mirrored`: the cube core tells both vector cores at once; else ids from 16 on are those of the second one.
    """

    site: int
    pipe: Pipe
    id: int
    mirrored: bool
    place: Place | None
    trips: Trips


@dataclass(frozen=True, slots=True)
class SyncWait:
    """Waits for a signal of the other kind of core; `mirrored` as there: the cube core waits for both vector cores."""

    site: int
    pipe: Pipe
    id: int
    mirrored: bool
    place: Place | None
    trips: Trips


@dataclass(frozen=True, slots=True)
class TakeLock:
    """The pipe takes the lock of a buffer id: locks of one id are taken in the order of issue, whatever the pipes."""

    site: int
    pipe: Pipe
    id: int
    place: Place | None
    trips: Trips


@dataclass(frozen=True, slots=True)
class GiveLock:
    """The pipe gives the lock back when it has done everything before it."""

    site: int
    pipe: Pipe
    id: int
    place: Place | None
    trips: Trips


@dataclass(frozen=True, slots=True)
class ScalarAccess:
    """The scalar unit reads or writes one element of global memory; `value` is what it writes, None where it reads."""

    site: int
    region: GlobalRegion
    value: Any
    place: Place | None
    trips: Trips


Step: TypeAlias = Exec | SetFlag | WaitFlag | Barrier | SyncSet | SyncWait | TakeLock | GiveLock | ScalarAccess


@dataclass(frozen=True)
class CoreId:
    """Which core of the chip runs: block number of `blocks`, and the vector core's number within its block."""

    block: int = 0
    blocks: int = 1
    core: Core | None = None
    """None for a kernel without sections, whose `kernel_kind` says it."""
    subblock: int = 0
    subblocks: int = 1
