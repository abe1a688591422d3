"""The allocation report: what lies where, space by space."""

from collections.abc import Sequence
from dataclasses import dataclass

from pto_buf.hw import Space, Target

PYPTO_NAMES = {
    Space.MAT: "Mat",
    Space.LEFT: "Left",
    Space.RIGHT: "Right",
    Space.ACC: "Acc",
    Space.VEC: "Vec",
    Space.BIAS: "Bias",
    Space.SCALING: "Scaling",
}


@dataclass(frozen=True)
class Resident:
    """A slot set with its place: `count` slots of `footprint` bytes, `stride` bytes apart, from `address`."""

    name: str
    space: Space
    count: int
    rows: int
    cols: int
    dtype: str
    footprint: int
    stride: int
    address: int
    owned: bool

    @property
    def end(self) -> int:
        """Behind the last byte."""
        return self.address + (self.count - 1) * self.stride + self.footprint


def size_text(size: int) -> str:
    """`size` bytes in the largest unit that divides it."""
    return f"{size // 1024} KiB" if size % 1024 == 0 else f"{size:,} B"


def allocation_text(residents: Sequence[Resident], target: Target) -> str:
    """One line for each space that is used, then one for each set in it, by address."""
    lines: list[str] = []
    for space in Space:
        here = sorted((r for r in residents if r.space is space), key=lambda r: (r.address, r.name))
        if not here:
            continue
        used, limit = max(r.end for r in here), target.capacity[space]
        title = f"{PYPTO_NAMES[space]} ({space.buffer})"
        lines.append(f"  {title:<12} {size_text(used)} of {size_text(limit)}")
        for r in here:
            shape = f"{r.count} x {size_text(r.footprint)}"
            kind = "compiler's tile" if r.owned else "slots"
            lines.append(f"    {shape:<14} at {r.address:<7} {r.name} [{r.rows}, {r.cols}] {r.dtype} ({kind})")
    return "\n".join(lines)
