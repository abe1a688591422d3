"""Lanes of sets and waits while only remainders of loop counters are known.

A lane is a number where the remainders settle it. Elsewhere it is named by its term and by the trips in which the
variables of the term got their values: equal names are equal lanes, of others nothing is known.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from itertools import product
from math import lcm

from pto_buf.fences.actions import Action
from pto_buf.slots.bounds import Interval, bounds
from pto_buf.slots.forms import Atoms
from pto_buf.slots.linear import Linear, constant
from pto_buf.slots.program import Loop, While
from pto_buf.slots.terms import Apply, Const, Fn, Opaque, Select, Term, Var, leaves

LARGEST = 64
"""Remainders are followed up to this divisor, and so many combinations of them for several counters."""

_REMAINDERS = frozenset({Fn.REMS, Fn.REMU})
_QUOTIENTS = frozenset({Fn.DIVS, Fn.DIVU, Fn.FLOORDIVS})


class Divisors:
    """For each counter that lanes turn with, the divisor whose remainders settle them."""

    def __init__(self, actions: Iterable[Action]):
        self._of: dict[int, int] = {}
        terms = {(a.lane.access.term, a.modulus) for a in actions if not isinstance(a.lane, int)}
        for term, modulus in terms:
            self._need(term, modulus or 1)

    def of(self, counter: Var) -> int | None:
        """None if no lane turns with it, or with too large a number."""
        found = self._of.get(counter.key, 1)
        return found if 1 < found <= LARGEST else None

    def choices(self, loops: Iterable[Loop | While]) -> Iterator[dict[int, int]]:
        """Every combination of remainders of the counters of these loops, inner ones first while they are not many."""
        wanted: dict[int, int] = {}
        many = 1
        for loop in reversed(tuple(loops)):
            divisor = self.of(loop.var)
            if isinstance(loop, Loop) and divisor is not None and many * divisor <= LARGEST and _counts_up(loop):
                wanted[loop.var.key] = divisor
                many *= divisor
        for chosen in product(*(range(divisor) for divisor in wanted.values())):
            yield dict(zip(wanted, chosen, strict=True))

    def _need(self, term: Term, divisor: int) -> None:
        match term:
            case Var():
                self._of[term.key] = lcm(self._of.get(term.key, 1), divisor)
            case Apply(fn, left, Const(value)) if fn in _REMAINDERS and value > 0:
                self._need(left, value)
            case Apply(Fn.AND, left, Const(value)) if value > 0 and value & (value + 1) == 0:
                self._need(left, value + 1)
            case Apply(fn, left, Const(value)) if fn in _QUOTIENTS and value > 0:
                self._need(left, divisor * value)
            case Apply():
                self._need(term.left, divisor)
                self._need(term.right, divisor)
            case Select():
                for part in (term.condition, term.if_true, term.if_false):
                    self._need(part, divisor)
            case _:
                pass


def _counts_up(loop: Loop) -> bool:
    return bounds(loop.lower).low >= 0 and bounds(loop.step).low >= 1


class Lanes:
    """What is known of the counters on one way through the program, and the lanes by that."""

    def __init__(self, divisors: Divisors, atoms: Atoms, remainders: Mapping[int, int]):
        self._divisors = divisors
        self._atoms = atoms
        self._remainders = dict(remainders)
        self._trips: dict[tuple[type, int], int] = {}
        """By the key of a variable or loop, a number that is another one in each trip."""
        self._count = 0
        self._found: dict[Hashable, int | None] = {}

    def enter(self, loop: Loop | While) -> None:
        """Begins a first trip."""
        self._renew(loop)
        divisor = self._divisors.of(loop.var)
        if isinstance(loop, Loop) and isinstance(loop.lower, Const) and divisor is not None and _counts_up(loop):
            self._remainders[loop.var.key] = loop.lower.value % divisor

    def advance(self, loop: Loop | While) -> None:
        """Begins another trip."""
        remainder, divisor = self._remainders.get(loop.var.key), self._divisors.of(loop.var)
        self._renew(loop)
        if isinstance(loop, Loop) and isinstance(loop.step, Const) and divisor is not None and remainder is not None:
            self._remainders[loop.var.key] = (remainder + loop.step.value) % divisor

    def leave(self, loop: Loop | While) -> None:
        """Goes on behind a loop."""
        self._renew(loop)

    def remainder(self, loop: Loop | While) -> int | None:
        """That of the loop's counter, if it is known."""
        return self._remainders.get(loop.var.key)

    def _renew(self, loop: Loop | While) -> None:
        self._count += 1
        self._remainders.pop(loop.var.key, None)
        self._trips[Opaque, loop.key] = self._count
        for var in (loop.var, *(carried.var for carried in loop.carried)):
            self._trips[Var, var.key] = self._count

    def of(self, action: Action) -> Hashable:
        """The lane: a number, or a name that only equal lanes share."""
        if isinstance(action.lane, int):
            return action.lane
        term = action.lane.access.term
        known = {leaf: self._remainders.get(leaf.key) for leaf in leaves(term) if isinstance(leaf, Var)}
        asked = (term, action.modulus, tuple(known.items()))
        if asked not in self._found:
            self._found[asked] = self._number(term, action.modulus, known)
        number = self._found[asked]
        if number is not None:
            return number
        trips = tuple(self._trips.get(_owner(leaf), 0) for leaf in leaves(term))
        return term, action.modulus, trips

    def _number(self, term: Term, modulus: int | None, remainders: Mapping[Var, int | None]) -> int | None:
        def known(leaf: Var | Opaque) -> Linear:
            remainder = remainders.get(leaf) if isinstance(leaf, Var) else None
            divisor = self._divisors.of(leaf) if isinstance(leaf, Var) else None
            if remainder is None or divisor is None:
                return Linear(((self._atoms.leaf(leaf, Interval(leaf.low, leaf.high)), 1),), 0)
            group = self._atoms.leaf(f"groups of {leaf.key}", Interval(0, leaf.high))
            return Linear(((group, 1),), 0).times(divisor) + constant(remainder)

        form = self._atoms.form_where(term, known)
        if modulus is not None:
            form = self._atoms.mod(form, modulus)
        return None if form.parts else form.const


def _owner(leaf: Var | Opaque) -> tuple[type, int]:
    """What says when it gets another value; nothing does (-1) for an unknown that is fixed for the run."""
    if isinstance(leaf, Var):
        return Var, leaf.key
    return Opaque, -1 if leaf.loop is None else leaf.loop
