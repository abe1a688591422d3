"""After how many trips of a loop two windows of global memory may overlap, for every run.

Nothing is tried out: counters, arguments and loaded numbers stay open. Where a counter is divided by constants, it is
looked at for each remainder by itself, so that a workspace whose places take turns is seen to do so.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import lcm

from pto_buf.fences.windows import Box, Boxes, Window
from pto_buf.slots.bounds import Interval, bounds
from pto_buf.slots.linear import Linear, constant
from pto_buf.slots.names import blocks_of
from pto_buf.slots.program import Block, Loop, While
from pto_buf.slots.terms import Apply, Const, Fn, Opaque, Select, Term, Var, leaves

MOST_TRIPS = 15
"""More trips than this are not told apart: signals for them could not be counted."""

_MOST_REMAINDERS = 64
_EVER = 1 << 40
"""More trips than any loop has."""

_REMAINDERS = (Fn.REMS, Fn.REMU)
_QUOTIENTS = (Fn.DIVS, Fn.FLOORDIVS, Fn.CEILDIVS, Fn.DIVU, Fn.CEILDIVU)

Nest = Loop | While


@dataclass
class Distances:
    """Compares windows of one program, which `body` is."""

    body: Block
    _boxes: Boxes = field(default_factory=Boxes)
    _owners: dict[int, int] = field(default_factory=dict[int, int])
    """By the key of a counter or carried number, the loop that it belongs to."""
    _outer: dict[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])
    """By the key of a loop, the loops around it and itself."""

    def __post_init__(self) -> None:
        self._enter(self.body, ())

    def _enter(self, block: Block, around: tuple[int, ...]) -> None:
        for node in block:
            inner = around
            if isinstance(node, Loop | While):
                inner = self._outer[node.key] = (*around, node.key)
                self._owners[node.var.key] = node.key
                self._owners.update((carried.var.key, node.key) for carried in node.carried)
            for part in blocks_of(node):
                self._enter(part, inner)

    def meet(self, one: Window, other: Window, shared: tuple[int, ...]) -> bool:
        """Whether they may overlap where the loops in `shared`, all that hold both, are in one trip."""
        return not self._boxes.apart(self._box(one, shared, 0, {}), self._box(other, shared, 1, {}))

    def trips(self, earlier: Window, later: Window, loop: Nest, shared: tuple[int, ...]) -> int | None:
        """The least number of trips after which `later` may overlap what `earlier` was: from MOST_TRIPS + 1 on, that.

        The loops in `shared`, those around `loop`, are in one trip. None: they never overlap in different trips.
        """
        for distance in range(1, MOST_TRIPS + 1):
            if self._overlap(earlier, later, loop, shared, Interval(distance, distance)):
                return distance
        if self._overlap(earlier, later, loop, shared, Interval(MOST_TRIPS + 1, _EVER)):
            return MOST_TRIPS + 1
        return None

    def _overlap(self, earlier: Window, later: Window, loop: Nest, shared: tuple[int, ...], ahead: Interval) -> bool:
        return any(
            not self._boxes.apart(
                self._box(earlier, shared, 0, {loop.var.key: now}), self._box(later, shared, 1, {loop.var.key: then})
            )
            for now, then in self._counters(loop, (earlier, later), ahead)
        )

    def _counters(self, loop: Nest, windows: tuple[Window, ...], ahead: Interval) -> Iterator[tuple[Linear, Linear]]:
        """The counter of a loop in a trip, and in one that is `ahead` of it: for each remainder, if it is divided."""
        var, shared = loop.var, self._outer[loop.key][:-1]
        step = constant(1)
        if isinstance(loop, Loop):
            step = self._boxes.form(loop.step, lambda what: self._known(what, shared, 0, {}))
        divisor = _divisor(windows, var)
        if step.parts or not 1 < divisor <= _MOST_REMAINDERS:
            now = self._boxes.leaf(f"counter {var.key}", Interval(var.low, var.high))
            yield now, now + self._travelled(step, ahead, f"{var.key}")
            return
        for rest in range(divisor):
            low, high = -((rest - var.low) // divisor), (var.high - rest) // divisor
            turns = self._boxes.leaf(f"counter {var.key} by {divisor}, {rest}", Interval(low, high))
            now = turns.times(divisor).shifted(rest)
            if ahead.is_point:
                yield now, now.shifted(ahead.low * step.const)
                continue
            for more in range(divisor):
                least = -(-(ahead.low - more) // divisor)
                rounds = self._boxes.leaf(f"rounds of {divisor} from {least}", Interval(least, _EVER))
                yield now, now + rounds.times(divisor).shifted(more).times(step.const)

    def _travelled(self, step: Linear, ahead: Interval, name: str) -> Linear:
        if ahead.is_point:
            return step.times(ahead.low)
        if step.parts:  # a product of unknowns: no more is known than that it goes forward
            return self._boxes.leaf(f"way {name}", Interval(0, _EVER))
        return self._boxes.leaf(f"trips {name} from {ahead.low}", ahead).times(step.const)

    def _box(self, window: Window, shared: tuple[int, ...], side: int, counters: Mapping[int, Linear]) -> Box:
        return self._boxes.box(window, lambda what: self._known(what, shared, side, counters))

    def _known(self, what: Var | Opaque, shared: tuple[int, ...], side: int, counters: Mapping[int, Linear]) -> Linear:
        """What a number is on one of two sides: the same on both where it is that of a trip of the shared loops."""
        held = Interval(what.low, what.high)
        if what.key in counters and isinstance(what, Var):
            return counters[what.key]
        owner = what.loop if isinstance(what, Opaque) else self._owners.get(what.key)
        if owner is None or owner in shared:
            return self._boxes.leaf(what, held)
        return self._boxes.leaf(f"{type(what).__name__} {what.key} of side {side}", held)


def _divisor(windows: tuple[Window, ...], var: Var) -> int:
    """The number after which everything that is made of `var` by dividing comes back, as far as constants say."""
    rests, quotients = 1, 1
    for window in windows:
        for term in (window.view.base, *window.offsets, *window.extents):
            for fn, divisor, of in _divisions(term):
                if var not in leaves(of):
                    continue
                if fn in _QUOTIENTS:
                    quotients = lcm(quotients, divisor)
                else:
                    rests = lcm(rests, divisor)
    return rests * quotients if rests > 1 else 1


def _divisions(term: Term) -> Iterator[tuple[Fn, int, Term]]:
    """Each remainder and quotient by a constant in a term: what it is, the constant, and what is divided."""
    match term:
        case Apply(fn, left, right):
            yield from _divisions(left)
            yield from _divisions(right)
            divisor = right.value if isinstance(right, Const) else 0
            if fn is Fn.AND and divisor >= 0 and divisor & (divisor + 1) == 0:
                yield fn, divisor + 1, left
            elif fn in (Fn.SHRS, Fn.SHRU) and 0 <= divisor < 16:
                yield Fn.DIVS, 1 << divisor, left
            elif fn in (*_REMAINDERS, *_QUOTIENTS) and divisor > 0:
                yield fn, divisor, left
        case Select(condition, if_true, if_false):
            for part in (condition, if_true, if_false):
                yield from _divisions(part)
        case _:
            pass


def runs_at_most(loops: tuple[Nest, ...]) -> int | None:
    """How often a block in these loops is run at most; None where no constants say."""
    total = 1
    for loop in loops:
        if isinstance(loop, While):
            return None
        lower, upper, step = bounds(loop.lower), bounds(loop.upper), bounds(loop.step)
        if not isinstance(loop.upper, Const):
            return None
        total *= max(0, -(-(upper.high - lower.low) // max(1, step.low)))
    return total
