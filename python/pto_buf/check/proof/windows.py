"""Conflicts in global memory: one access is kept in mind, whichever it is, and later ones are compared with it. Pure.

Where all windows of an array lie at constant places they are atoms like on-chip bytes; this is for the others.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import gcd

from pto_buf.check.facts.poly import Poly, plus, replaced
from pto_buf.check.program import Code, Enter, Run, Touch, Window
from pto_buf.check.proof.survey import Forms, alternatives
from pto_buf.check.runs.clocks import PIPES, number_of
from pto_buf.check.terms import (
    Atom,
    Fn,
    Term,
    Var,
    add,
    apply,
    as_sum,
    const,
    constant_of,
    scale,
    sub,
    substitute,
    variables,
)
from pto_buf.check.values import ValueSets
from pto_buf.check.whole import Whole

At = tuple[int, int]
"""An instruction and the number of its operand."""


Operand = tuple[At, Run, Touch]


@dataclass(frozen=True)
class Against:
    """A later access: apart from the one kept in mind if one of `gaps` is at least 0.

    It writes all that the other one touched if there are `covers` and each is at least 0. There are two gaps in each
    dimension, one for each order of the two; `moduli` are what the first of these is to be known modulo, to see that.
    """

    operand: int
    reads: bool
    writes: bool
    gaps: tuple[Term, ...]
    covers: tuple[Term, ...]
    moduli: tuple[int, ...] = ()


@dataclass(frozen=True)
class Tracking:
    """The access at `at` is kept in mind: `kept` says where it lies, in variables of their own, numbers left out."""

    at: At
    pipes: tuple[int, ...]
    """By number, through all cores, as those below."""
    writes: bool
    argument: str
    kept: tuple[tuple[Var, Term], ...]
    against: Mapping[int, tuple[Against, ...]]
    conflicting: frozenset[int]
    pipes_at: Mapping[int, tuple[int, ...]]

    @property
    def remainders(self) -> tuple[Term, ...]:
        """What has to be known for the `moduli` of later accesses."""
        by = {var.key: term for var, term in self.kept}
        found: dict[Term, None] = {}
        for one in (one for later in self.against.values() for one in later):
            for gap, modulus in zip(one.gaps[::2], one.moduli, strict=True):
                for term in (gap, substitute(gap, by)) if modulus > 1 else ():
                    found[apply(Fn.REMU, term, const(modulus))] = None
        return tuple(found)

    @cached_property
    def told(self) -> frozenset[int]:
        """The variables, by key, in these."""
        return frozenset(var.key for term in self.remainders for var in variables(term))

    @property
    def crosses(self) -> bool:
        """Whether another core may conflict with it."""
        return any(pipe // len(PIPES) != self.pipes[0] // len(PIPES) for pipe in self.conflicting)


def constant_window(where: Window) -> bool:
    terms = (where.base, *where.shape, *where.strides, *where.offsets, *where.extents)
    return all(constant_of(term) is not None for term in terms)


def windows_by_argument(code: Code) -> dict[int, list[Operand]]:
    """Every operand in global memory of arrays that are written."""
    found: dict[int, list[Operand]] = {}
    written: set[int] = set()
    for at, one in enumerate(code.instructions):
        if isinstance(one, Run):
            for number, touch in enumerate(one.touches):
                if isinstance(touch.where, Window):
                    found.setdefault(touch.where.argument, []).append(((at, number), one, touch))
                    if touch.writes:
                        written.add(touch.where.argument)
    return {argument: touches for argument, touches in found.items() if argument in written}


def trackings(whole: Whole, first_key: int, values: ValueSets) -> Iterator[Tracking]:
    """One for each access that a later one may conflict with. Variables are numbered from `first_key`."""
    for touches in windows_by_argument(whole.code).values():
        wheres = [touch.where for _, _, touch in touches if isinstance(touch.where, Window)]
        if all(constant_window(where) for where in wheres):
            continue
        views = len({(where.base, where.shape, where.strides, where.size) for where in wheres})
        grid = views == 1 and _nested(wheres[0]) and not any(_leaves(where) for where in wheres)
        sides = {at: _sides(where, grid, values) for (at, _, _), where in zip(touches, wheres, strict=True)}
        for at, run, touch in touches:
            yield _tracking(whole, at, run, touch, touches, sides, grid, first_key)


def _tracking(
    whole: Whole,
    at: At,
    run: Run,
    touch: Touch,
    touches: list[Operand],
    sides_of: Mapping[At, list[tuple[Term, Term]]],
    grid: bool,
    first_key: int,
) -> Tracking:
    assert isinstance(touch.where, Window)
    kept: list[tuple[Var, Term]] = []

    def held(term: Term) -> Term:
        """The term as it is when the access is made."""
        if constant_of(term) is not None:
            return term
        kept.append((Var(first_key + len(kept), "kept"), term))
        return kept[-1][0]

    sides: list[tuple[Term, Term]] = []
    for start, end in sides_of[at]:
        first, size = held(start), sub(end, start)
        sides.append((first, held(end) if constant_of(size) is None else add(first, size)))
    steps = _steps(whole.code)
    against: dict[int, list[Against]] = {}
    conflicting: dict[int, None] = {}

    def numbers(place: At, op: Run) -> tuple[int, ...]:
        return tuple(number_of(whole.core_of(place[0]), pipe) for pipe in op.pipes)

    for (where_at, number), other, later in touches:
        if not (later.writes or touch.writes):
            continue
        gaps: list[Term] = []
        covers: list[Term] = []
        for (start, end), (first, last) in zip(sides_of[where_at, number], sides, strict=True):
            gaps += [sub(start, last), sub(first, end)]
            if grid and later.writes and not later.reads:
                covers += [sub(first, start), sub(end, last)]
        moduli = tuple(_modulus(gap, dict(kept), steps) for gap in gaps[::2])
        one = Against(number, later.reads, later.writes, tuple(gaps), tuple(covers), moduli)
        against.setdefault(where_at, []).append(one)
        conflicting.update(dict.fromkeys(numbers((where_at, number), other)))
    return Tracking(
        at,
        numbers(at, run),
        touch.writes,
        touch.where.name,
        tuple(kept),
        {where_at: tuple(found) for where_at, found in against.items()},
        frozenset(conflicting),
        {place[0]: numbers(place, other) for place, other, _ in touches},
    )


def _steps(code: Code) -> dict[Var, int]:
    """Of the loops whose step is a number."""
    loops = [one.loop for one in code.instructions if isinstance(one, Enter)]
    steps = {
        loop.counter: constant_of(loop.step) for loop in loops if loop.counter is not None and loop.step is not None
    }
    return {counter: step for counter, step in steps.items() if step}


def _modulus(gap: Term, kept: Mapping[Var, Term], steps: Mapping[Var, int]) -> int:
    """Modulo what a gap between numbers of different loops is the same in all their trips; 1 if that says nothing."""
    parts: list[tuple[Atom, int]] = []
    for atom, factor in as_sum(gap).parts:
        held = as_sum(kept[atom] if isinstance(atom, Var) and atom in kept else atom)
        parts += [(own, factor * times) for own, times in held.parts]
    if len({atom for atom, _ in parts}) < 2 or not all(isinstance(atom, Var) and atom in steps for atom, _ in parts):
        return 1
    modulus = gcd(*(factor * steps[atom] for atom, factor in parts if isinstance(atom, Var)))
    return modulus if modulus > gcd(*(factor for _, factor in parts)) else 1


def _sides(where: Window, grid: bool, values: ValueSets) -> list[tuple[Term, Term]]:
    """Where the window starts and ends: in each dimension of one common view, or else in bytes from end to end.

    In a dimension whose stride is negative the last element lies lowest.
    """
    if grid:
        return [(offset, add(offset, extent)) for offset, extent in zip(where.offsets, where.extents, strict=True)]
    first, last = where.base, where.base
    for offset, extent, stride in zip(where.offsets, where.extents, where.strides, strict=True):
        start, reach = apply(Fn.MUL, offset, stride), apply(Fn.MUL, sub(extent, const(1)), stride)
        down, up = _ways(stride, reach, values)
        first, last = add(first, add(start, down)), add(last, add(start, up))
    return [(scale(first, where.size), scale(add(last, const(1)), where.size))]


def _ways(stride: Term, reach: Term, values: ValueSets) -> tuple[Term, Term]:
    """How far steps of this stride that lead `reach` further lead down, and up."""
    if values.is_not_negative(stride):
        return const(0), reach
    if values.is_not_negative(scale(stride, -1)):
        return reach, const(0)
    return apply(Fn.MINS, reach, const(0)), apply(Fn.MAXS, reach, const(0))


def _leaves(where: Window) -> bool:
    """Whether the window is known to reach out of the array in some dimension."""
    for extent, offset, size in zip(where.shape, where.offsets, where.extents, strict=True):
        over = constant_of(sub(add(offset, size), extent))
        if over is not None and over > 0:
            return True
    return False


def _nested(where: Window) -> bool:
    """Whether windows that are apart in one dimension are apart in memory: each stride spans the dimension inside."""
    least = constant_of(where.strides[-1]) if where.strides else None
    if least is not None and least <= 0:
        return False
    for dim in range(len(where.shape) - 1):
        inner = apply(Fn.MUL, where.shape[dim + 1], where.strides[dim + 1])
        gap = constant_of(sub(where.strides[dim], inner))
        if gap is None or gap < 0:
            return False
    return True


def tracking_forms(forms: Forms, tracking: Tracking) -> None:
    """Follows the gaps exactly enough to see whether windows are apart."""
    starts = {var.key: term for var, term in tracking.kept}
    for term in starts.values():
        forms.visit(term)
    for found in tracking.against.values():
        for one in found:
            for gap in one.gaps:
                forms.visit(gap)
                forms.turns(gap)
                for poly in alternatives(gap):
                    _need_gap(forms, poly, starts)


def _need_gap(forms: Forms, poly: Poly, starts: Mapping[int, Term]) -> None:
    """From the gap to the access itself, when it is made, to just apart."""
    low = 0
    for key, term in starts.items():
        for value in alternatives(term):
            first = replaced(poly, key, value).exact if key in poly.variables() else None
            if first is not None:
                low = min(low, first)
    forms.need(poly, low, 0)
    forms.need(plus(poly, Poly((), 1)), 0, 0)
