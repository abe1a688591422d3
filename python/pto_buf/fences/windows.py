"""Windows of global memory: where an op reads or writes an array, and whether two windows are apart."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import NamedTuple

from pto_buf.slots.bounds import Interval
from pto_buf.slots.forms import Atoms
from pto_buf.slots.linear import Linear, constant
from pto_buf.slots.terms import Opaque, Term, Var


@dataclass(frozen=True)
class Array:
    """The global memory behind an argument of the kernel. `dtype` is for people."""

    number: int
    name: str
    dtype: str


@dataclass(frozen=True)
class Window:
    """What one operand touches. Numbers are elements of `size` bytes; `base` is where the view of the array starts."""

    array: Array
    reads: bool
    writes: bool
    base: Term
    shape: tuple[Term, ...]
    strides: tuple[Term, ...]
    offsets: tuple[Term, ...]
    extents: tuple[Term, ...]
    size: int


Windows = Mapping[int, tuple[Window, ...]]
"""By the key of the op, what it touches of arrays that the kernel writes."""


class Pair(NamedTuple):
    """Accesses to one array, by the keys of their ops, of which the later one has to come behind the earlier one.

    `carrier` is the key of the outermost loop in different trips of which they are met, -1 where it is the same trip of
    every loop around both. `crosses`: they run on two pipes.
    """

    earlier: int
    later: int
    carrier: int
    crosses: bool


Side = tuple[Linear, Linear]
"""Where something starts and ends."""


@dataclass(frozen=True, eq=False)
class Box:
    """A window in one trip: in each dimension of the view, or else in bytes, where it starts and ends.

    Windows of one `frame` are compared dimension by dimension, others by all bytes from their first to their last one.
    `Boxes` makes one object of equal ones, so that they are told apart without a look inside.
    """

    frame: tuple[Linear, ...] | None
    sides: tuple[Side, ...]
    reach: Side


def compared(one: Box, other: Box) -> Sequence[tuple[Side, Side]]:
    """What of two boxes is compared: where two sides are apart the boxes are."""
    alike = one.frame is not None and one.frame == other.frame
    return tuple(zip(one.sides, other.sides, strict=True)) if alike else ((one.reach, other.reach),)


@dataclass
class Boxes:
    """Works out boxes of windows, and whether they are apart in every run."""

    atoms: Atoms = field(default_factory=Atoms)
    _made: dict[Hashable, Box] = field(default_factory=dict[Hashable, Box])
    _apart: dict[tuple[Box, Box], bool] = field(default_factory=dict[tuple[Box, Box], bool])

    def leaf(self, what: Var | Opaque | str, held: Interval) -> Linear:
        """A number of which no more than an interval is known."""
        return Linear(((self.atoms.leaf(what, held), 1),), 0)

    def form(self, term: Term, known: Callable[[Var | Opaque], Linear]) -> Linear:
        """What a number is, where `known` says what its variables are now."""
        return self.atoms.form_where(term, known)

    def box(self, window: Window, known: Callable[[Var | Opaque], Linear]) -> Box:
        """The window, where `known` says what its variables are now."""

        def forms(terms: tuple[Term, ...]) -> tuple[Linear, ...]:
            return tuple(self.form(term, known) for term in terms)

        (base,) = forms((window.base,))
        shape, strides = forms(window.shape), forms(window.strides)
        offsets, extents = forms(window.offsets), forms(window.extents)
        first, last = base, constant(0)
        for offset, extent, stride in zip(offsets, extents, strides, strict=True):
            first += self.atoms.product(offset, stride)
            last += self.atoms.product(extent.shifted(-1), stride)
        start = first.times(window.size)
        reach = start, start + last.shifted(1).times(window.size)
        sides = tuple((offset, offset + extent) for offset, extent in zip(offsets, extents, strict=True))
        nested = all(
            self._natural(stride - self.atoms.product(inner, within))
            for stride, inner, within in zip(strides, shape[1:], strides[1:], strict=False)
        )
        content = (base, *shape, *strides) if nested else None, sides, reach
        return self._made.get(content) or self._made.setdefault(content, Box(*content))

    def apart(self, one: Box, other: Box) -> bool:
        """Whether they have no byte in common, whatever the arguments are."""
        key = one, other
        if key not in self._apart:
            self._apart[key] = any(
                self._natural(second[0] - first[1]) or self._natural(first[0] - second[1])
                for first, second in compared(one, other)
            )
        return self._apart[key]

    def _natural(self, form: Linear) -> bool:
        return self.atoms.range(form).low >= 0


_MOST_CELLS = 64

Cell = tuple[int, ...]


class Cells:
    """Finds what may overlap a box without going through all there is.

    Boxes of one family lie at known distances from each other. They are kept by the cells of a grid that they touch;
    a cell is as large as the family's first box.
    """

    def __init__(self) -> None:
        self._sizes: dict[Hashable, Cell] = {}

    def of(self, box: Box) -> tuple[Hashable, tuple[Cell, ...]]:
        """The family of a box, and its cells. Boxes of one family that share no cell are apart."""
        sides = box.sides if box.frame is not None else (box.reach,)
        family = box.frame, tuple(start.parts for start, _ in sides)
        lengths = [end - start for start, end in sides]
        if any(length.parts or length.const <= 0 for length in lengths):
            return (*family, "of unknown size"), ((),)
        sizes = self._sizes.setdefault(family, tuple(length.const for length in lengths))
        ranges = [
            range(start.const // size, (end.const - 1) // size + 1)
            for (start, end), size in zip(sides, sizes, strict=True)
        ]
        if prod(len(one) for one in ranges) > _MOST_CELLS:
            return (*family, "large"), ((),)
        return family, tuple(product(*ranges))
