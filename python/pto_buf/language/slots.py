"""Explicit slots: which buffer an op writes, and when it is free again."""

from collections.abc import Sequence

from pto_buf.language.kinds import DataType, MemorySpace
from pto_buf.language.values import Slot, SlotSet, Tile, outside

__all__ = ["create_tile_buffers", "release"]


def create_tile_buffers(count: int, shape: Sequence[int], dtype: DataType, memory_space: MemorySpace) -> SlotSet:
    """`count` equal buffers of `shape` elements in one memory space, under one identity.

    Count (1 to 16) and shape are constants; the set is made outside loops. `slots[i % count]` selects a slot; the index
    must be provably within [0, count). Two slots are never merged. Mistakes: `capacity-or-count`, `memory-space`,
    `slot-index-out-of-range`, `set-misuse`.
    """
    outside("create_tile_buffers")


def release(tile: Slot | Tile) -> None:
    """End the lease of a slot, named by the slot or by the result of an op that wrote it.

    Optional: without it the lease ends at the last use before the slot is written again. Mistakes:
    `release-misuse`, `use-after-release`.
    """
    outside("release")
