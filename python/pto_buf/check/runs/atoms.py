"""Cuts memory into atoms: pieces that every access of a run covers whole or not at all. Pure.

Accesses overlap exactly when they share an atom. On-chip spaces are cut at the ends of the byte ranges that occur. A
global array is cut in a grid when all windows on it have one shape and one stride and stay inside, as tilings do;
otherwise at the ends of the contiguous runs of bytes.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import TypeAlias

from pto_buf.check.runs.steps import Access, Box, Bytes
from pto_buf.hw import Space

Where: TypeAlias = Bytes | Box
Atom: TypeAlias = tuple[tuple[Space, int] | int, tuple[int, ...]]
"""The space of a core or the argument, and which piece of it."""


class Atoms:
    """The atoms of all the accesses of a run. Arguments that are only read have none: nothing on them conflicts."""

    def __init__(self, accesses: Iterable[Access]):
        found: dict[Where, bool] = {}
        for access in accesses:
            found[access.where] = found.get(access.where, False) or access.writes
        spaces: dict[tuple[Space, int], set[int]] = {}
        boxes: dict[int, list[Box]] = {}
        written: set[int] = set()
        for where, writes in found.items():
            if isinstance(where, Bytes):
                spaces.setdefault((where.space, where.core), set()).update(end for run in where.runs for end in run)
            else:
                boxes.setdefault(where.argument, []).append(where)
                if writes:
                    written.add(where.argument)
        self._ends = {space: sorted(ends) for space, ends in spaces.items()}
        self._arrays = {number: _array(boxes[number]) for number in boxes if number in written}
        self._of: dict[Where, tuple[Atom, ...]] = {}

    def of(self, where: Where) -> tuple[Atom, ...]:
        """The atoms that an access covers."""
        atoms = self._of.get(where)
        if atoms is None:
            atoms = self._of[where] = tuple(self._find(where))
        return atoms

    def _find(self, where: Where) -> Iterator[Atom]:
        if isinstance(where, Box):
            array = self._arrays.get(where.argument)
            if array is not None:
                yield from ((where.argument, piece) for piece in array.pieces(where))
            return
        space = where.space, where.core
        ends = self._ends[space]
        for start, end in where.runs:
            for number in range(bisect_left(ends, start), bisect_left(ends, end)):
                yield space, (number,)


def _array(boxes: Sequence[Box]) -> "_Grid | _Flat":
    first = boxes[0]
    tiled = all(
        (box.base, box.shape, box.strides, box.size) == (first.base, first.shape, first.strides, first.size)
        and _inside(box)
        for box in boxes
    )
    return _Grid(boxes) if tiled and _injective(first) else _Flat(boxes)


def _inside(box: Box) -> bool:
    return all(o >= 0 and o + e <= s for o, e, s in zip(box.offsets, box.extents, box.shape, strict=True))


def _injective(box: Box) -> bool:
    """Whether different indices of the whole array lie at different addresses, the strides being nested."""
    order = sorted(zip(box.strides, box.shape, strict=True))
    reach = 1
    for stride, extent in order:
        if extent > 1 and stride < reach:
            return False
        reach = max(reach, stride * extent)
    return True


class _Grid:
    def __init__(self, boxes: Sequence[Box]):
        rank = len(boxes[0].shape)
        cuts: list[set[int]] = [set() for _ in range(rank)]
        for box in boxes:
            for dim in range(rank):
                cuts[dim].update((box.offsets[dim], box.offsets[dim] + box.extents[dim]))
        self._cuts = [sorted(one) for one in cuts]

    def pieces(self, box: Box) -> Iterator[tuple[int, ...]]:
        return product(
            *(
                range(bisect_left(cuts, offset), bisect_left(cuts, offset + extent))
                for cuts, offset, extent in zip(self._cuts, box.offsets, box.extents, strict=True)
            )
        )


class _Flat:
    def __init__(self, boxes: Sequence[Box]):
        self._ends = sorted({end for box in boxes for run in byte_runs(box) for end in run})

    def pieces(self, box: Box) -> Iterator[tuple[int, ...]]:
        for start, stop in byte_runs(box):
            for number in range(bisect_left(self._ends, start), bisect_left(self._ends, stop)):
                yield (number,)


def byte_runs(box: Box) -> Iterator[tuple[int, int]]:
    """The contiguous runs of bytes of a window, as [start, stop) from the start of the array."""
    if any(extent <= 0 for extent in box.extents):
        return
    dims = sorted(zip(box.strides, box.extents, strict=True), key=lambda dim: (dim[0], -dim[1]))
    length = 1
    while dims and (dims[0][1] == 1 or dims[0][0] == length):
        length *= dims[0][1]
        dims = dims[1:]
    origin = box.base + sum(offset * stride for offset, stride in zip(box.offsets, box.strides, strict=True))
    for steps in product(*(range(extent) for _, extent in dims)):
        start = origin + sum(step * stride for step, (stride, _) in zip(steps, dims, strict=True))
        yield start * box.size, (start + length) * box.size
