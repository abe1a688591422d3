"""Windows of global memory: where an op reads or writes an array, and whether two windows are apart."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from math import prod
from typing import NamedTuple

from pto_buf.slots.bounds import Interval
from pto_buf.slots.forms import Atoms
from pto_buf.slots.linear import Linear, constant
from pto_buf.slots.terms import Opaque, Term, Var, leaves


@dataclass(frozen=True)
class Array:
    """The global memory behind an argument of the kernel. `dtype` is for people."""

    number: int
    name: str
    dtype: str


@dataclass(frozen=True, eq=False)
class View:
    """How ops see an array. Numbers are elements of `size` bytes; `base` is where the view starts."""

    array: Array
    base: Term
    shape: tuple[Term, ...]
    strides: tuple[Term, ...]
    size: int

    @cached_property
    def leaves(self) -> tuple[Var | Opaque, ...]:
        """The variables and unknowns that say where it is."""
        terms = (self.base, *self.shape, *self.strides)
        return tuple(dict.fromkeys(leaf for term in terms for leaf in leaves(term)))


class Window(NamedTuple):
    """What one operand touches."""

    view: View
    reads: bool
    writes: bool
    offsets: tuple[Term, ...]
    extents: tuple[Term, ...]

    @property
    def array(self) -> Array:
        return self.view.array


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
class Frame:
    """A view in one trip. `nested`: no row reaches into the next one, so that windows are compared by dimensions."""

    base: Linear
    strides: tuple[Linear, ...]
    size: int
    nested: bool


@dataclass(frozen=True, eq=False)
class Box:
    """A window in one trip: in each dimension of the view, where it starts and ends.

    `Boxes` makes one object of equal ones, and of equal frames, so that they are told apart without a look inside.
    """

    frame: Frame
    sides: tuple[Side, ...]


@dataclass
class Boxes:
    """Works out boxes of windows, and whether they are apart in every run."""

    atoms: Atoms = field(default_factory=Atoms)
    _frames: dict[Hashable, Frame] = field(default_factory=dict[Hashable, Frame])
    _of_view: dict[Hashable, Frame] = field(default_factory=dict[Hashable, Frame])
    _made: dict[Hashable, Box] = field(default_factory=dict[Hashable, Box])
    _reaches: dict[Box, Side] = field(default_factory=dict[Box, Side])
    _apart: dict[tuple[Box, Box], bool] = field(default_factory=dict[tuple[Box, Box], bool])

    def leaf(self, what: Var | Opaque | str, held: Interval) -> Linear:
        """A number of which no more than an interval is known."""
        return Linear(((self.atoms.leaf(what, held), 1),), 0)

    def form(self, term: Term, known: Callable[[Var | Opaque], Linear]) -> Linear:
        """What a number is, where `known` says what its variables are now."""
        return self.atoms.form_where(term, known)

    def box(self, window: Window, known: Callable[[Var | Opaque], Linear]) -> Box:
        """The window, where `known` says what its variables are now."""
        frame = self._frame(window.view, known)
        offsets = [self.form(term, known) for term in window.offsets]
        extents = [self.form(term, known) for term in window.extents]
        content = frame, tuple([(start, start + extent) for start, extent in zip(offsets, extents, strict=True)])
        return self._made.get(content) or self._made.setdefault(content, Box(*content))

    def _frame(self, view: View, known: Callable[[Var | Opaque], Linear]) -> Frame:
        """The view, looked at once for all trips in which its variables are the same."""
        now = view, tuple([known(leaf) for leaf in view.leaves])
        if now not in self._of_view:
            base = self.form(view.base, known)
            shape, strides = ([self.form(term, known) for term in terms] for terms in (view.shape, view.strides))
            nested = all(
                self._natural(stride - self.atoms.product(inner, within))
                for stride, inner, within in zip(strides, shape[1:], strides[1:], strict=False)
            )
            content = base, *shape, *strides, view.size
            self._of_view[now] = self._frames.setdefault(content, Frame(base, tuple(strides), view.size, nested))
        return self._of_view[now]

    def reach(self, box: Box) -> Side:
        """Where a box starts and ends in bytes: all from its first to its last one."""
        if box not in self._reaches:
            first, last = box.frame.base, constant(0)
            for (start, end), stride in zip(box.sides, box.frame.strides, strict=True):
                first += self.atoms.product(start, stride)
                last += self.atoms.product((end - start).shifted(-1), stride)
            begins = first.times(box.frame.size)
            self._reaches[box] = begins, begins + last.shifted(1).times(box.frame.size)
        return self._reaches[box]

    def compared(self, one: Box, other: Box) -> Sequence[tuple[Side, Side]]:
        """What of two boxes is compared, by dimensions or else by bytes: where two sides are apart the boxes are."""
        if one.frame is other.frame and one.frame.nested:
            return tuple(zip(one.sides, other.sides, strict=True))
        return ((self.reach(one), self.reach(other)),)

    def apart(self, one: Box, other: Box) -> bool:
        """Whether they have no byte in common, whatever the arguments are."""
        key = one, other
        if key not in self._apart:
            self._apart[key] = any(
                self._natural(second[0] - first[1]) or self._natural(first[0] - second[1])
                for first, second in self.compared(one, other)
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

    def __init__(self, boxes: Boxes) -> None:
        self._boxes = boxes
        self._sizes: dict[Hashable, Cell] = {}
        self._found: dict[Box, tuple[Hashable, tuple[Cell, ...]]] = {}

    def of(self, box: Box) -> tuple[Hashable, tuple[Cell, ...]]:
        """The family of a box, and its cells. Boxes of one family that share no cell are apart."""
        if box not in self._found:
            self._found[box] = self._of(box)
        return self._found[box]

    def _of(self, box: Box) -> tuple[Hashable, tuple[Cell, ...]]:
        sides = box.sides if box.frame.nested else (self._boxes.reach(box),)
        family = box.frame if box.frame.nested else None, tuple([start.parts for start, _ in sides])
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
