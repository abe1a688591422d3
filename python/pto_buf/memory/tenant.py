"""What the memory plan is asked to place, and how a set is put into words."""

from dataclasses import dataclass, replace

from pto_buf.errors import Place
from pto_buf.hw import Target
from pto_buf.memory.footprint import set_bytes, slot_stride, why_larger
from pto_buf.tile import TileSpec


@dataclass(frozen=True)
class Life:
    """The stretch of program order, both ends included, in which a set holds something that is needed.

    Positions count ops; `first` and `last` are the source places of the two ends.
    """

    start: int
    end: int
    first: Place | None = None
    last: Place | None = None

    def meets(self, other: "Life") -> bool:
        return self.start <= other.end and other.start <= self.end


@dataclass(frozen=True)
class Tenant:
    """A slot set that wants an address.

    A set of the user's is there for the whole function, whatever its life: its identity is his. It gives bytes only
    to the sets that it, or they, `share` with, and only while their lives are apart. Sets that the compiler made
    (`owned`) share with each other when their lives are apart. `addr` pins the first slot.
    """

    key: int
    name: str
    count: int
    tile: TileSpec
    life: Life
    owned: bool = False
    addr: int | None = None
    share: tuple[str, ...] = ()
    place: Place | None = None
    """Where it is declared, or made by the op that needs it: errors about it stand there."""
    pipes: frozenset[str] = frozenset()
    """Names of the pipes that touch it."""

    def size(self, target: Target) -> int:
        return set_bytes(self.count, self.tile, target)

    def resized(self, shape: tuple[int, int]) -> "Tenant":
        """The set with tiles of another shape."""
        return replace(self, tile=self.tile.window(*shape))

    def describe(self, target: Target) -> str:
        """`'ring' 2 x 128x128xf32 = 128 KiB`, and why a slot has more bytes than its shape says, if it has."""
        tile = self.tile
        text = f"'{self.name}' {self.count} x {tile.rows}x{tile.cols}x{tile.dtype} = {in_bytes(self.size(target))}"
        why = why_larger(tile, target)
        if why is None or (self.count == 1 and self.size(target) == tile.footprint):
            return text
        return f"{text} ({in_bytes(slot_stride(tile, target))} a slot: {why})"


def in_bytes(count: int) -> str:
    """`128 KiB` where that is exact, `65,568 B` else."""
    return f"{count // 1024} KiB" if count and count % 1024 == 0 else f"{count:,} B"
