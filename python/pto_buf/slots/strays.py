"""Windows of global memory that leave their array in some trip. Pure.

Found by trying trips, so that each one named does leave. Not followed: what a condition or a `while` lets through, and
how far loops get whose ends are arguments; of a counter of these, only what turns back by itself, as remainders do.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from pto_buf.fences.windows import Window, Windows
from pto_buf.slots.bounds import Interval, bounds, bounds_of
from pto_buf.slots.carried import evaluate
from pto_buf.slots.program import Block, Loop, Op, Program
from pto_buf.slots.terms import COUNT_LIMIT, Apply, Const, Opaque, Select, Term, Var, leaves

_MOST_TRIPS = 4096
_FAR = COUNT_LIMIT, COUNT_LIMIT // 2
"""Two ends of a counter that nobody knows the end of."""


@dataclass(frozen=True)
class Stray:
    """What `op` touches from `start` up to `end`, where counters are as in `trip`; `sure` if every run gets there."""

    op: Op
    array: str
    dimension: int
    start: int
    end: int
    extent: int
    trip: tuple[tuple[str, int], ...]
    sure: bool

    def __str__(self) -> str:
        where = ", ".join(f"{name} = {value}" for name, value in self.trip)
        window = f"the window [{self.start}, {self.end}) of dimension {self.dimension}"
        return f"{window} leaves '{self.array}' of extent {self.extent}{' where ' * bool(where)}{where}"


@dataclass(frozen=True)
class _Counts:
    """The values of a counter, as many as may be tried; `ends` if a constant says where it ends."""

    values: range
    ends: bool


def strays(program: Program, windows: Windows) -> Iterator[Stray]:
    """The first one of each dimension of each window, in program order. `windows`: by the key of the op."""
    yield from _in_block(program.body, windows, {})


def _in_block(block: Block, windows: Windows, loops: Mapping[Var, _Counts]) -> Iterator[Stray]:
    for node in block:
        match node:
            case Op():
                for window in windows.get(node.key, ()):
                    for dimension in range(len(window.offsets)):
                        found = _stray(node, window, dimension, loops)
                        if found is not None:
                            yield found
            case Loop(var=var, lower=Const(lower), step=Const(step)):
                ends = isinstance(node.upper, Const)
                upper = node.upper.value if isinstance(node.upper, Const) else lower + step * _MOST_TRIPS
                yield from _in_block(node.body, windows, {**loops, var: _Counts(range(lower, upper, step), ends)})
            case _:
                pass


def _stray(op: Op, window: Window, dimension: int, loops: Mapping[Var, _Counts]) -> Stray | None:
    offset, extent = window.offsets[dimension], window.view.shape[dimension]
    least, held = bounds(window.extents[dimension]).low, bounds(offset)
    if not isinstance(extent, Const) or least < 1 or (held.low >= 0 and held.high + least <= extent.value):
        return None
    named = frozenset(leaves(offset))
    own = [leaf for leaf in loops if leaf in named]
    far, nearer = ({leaf: end for leaf in own if not loops[leaf].ends} for end in _FAR)
    if _bounds(offset, far) != _bounds(offset, nearer):
        return None
    for trip, start in _tried(offset, own, loops):
        if start < 0 or start + least > extent.value:
            named = tuple((leaf.name, value) for leaf, value in zip(own, trip, strict=True))
            sure = all(counts.ends and counts.values for counts in loops.values())
            return Stray(op, window.array.name, dimension, start, start + least, extent.value, named, sure)
    return None


def _bounds(term: Term, ends: Mapping[Var, int]) -> Interval:
    """Numbers that a term cannot leave when counters end at these."""
    match term:
        case Var(low=low) if term in ends:
            return Interval(low, ends[term])
        case Apply(fn, left, right):
            return bounds_of(fn, _bounds(left, ends), _bounds(right, ends))
        case Select(_, if_true, if_false):
            return _bounds(if_true, ends).hull(_bounds(if_false, ends))
        case _:
            return bounds(term)


def _tried(offset: Term, own: list[Var], loops: Mapping[Var, _Counts]) -> Iterator[tuple[tuple[int, ...], int]]:
    """Trips of the loops that a number depends on, with the number; none where it depends on more than these."""
    each = round(_MOST_TRIPS ** (1 / max(1, len(own))))
    for trip in product(*(loops[leaf].values[:each] for leaf in own)):
        values: dict[Var | Opaque, int] = dict(zip(own, trip, strict=True))
        start = evaluate(offset, values)
        if start is None:
            return
        yield trip, start
