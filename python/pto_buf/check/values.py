"""Which numbers an address or an event id can be, over all runs. Pure."""

from collections.abc import Mapping
from itertools import product

from pto_buf.check.program import Assign, Code, Enter, Kind, Program
from pto_buf.check.reason import mask_of, modulus_of
from pto_buf.check.terms import DivisionError, Fn, Node, Sum, Term, Var, constant_of, value_of

MOST = 1024
"""Values of one term at most; a term with more counts as anything."""

_MOST_CARRIED = 64

Values = frozenset[int] | None
"""None: anything."""


class ValueSets:
    """Values of terms. A variable has those of everything that it is ever assigned."""

    def __init__(self, program: Program, code: Code, known: Mapping[int, int]):
        self._of: dict[int, Values] = {key: frozenset({value}) for key, value in known.items()}
        self._not_negative: dict[int, bool] = {}
        carried: dict[int, list[Term]] = {}
        counted: dict[int, tuple[Term, Term, Term]] = {}
        for one in code.instructions:
            if isinstance(one, Assign):
                for var, term in one.pairs:
                    carried.setdefault(var.key, []).append(term)
            elif isinstance(one, Enter) and one.loop.counter is not None:
                assert one.loop.lower is not None and one.loop.upper is not None and one.loop.step is not None
                counted[one.loop.counter.key] = (one.loop.lower, one.loop.upper, one.loop.step)
        for info in program.variables:
            key = info.var.key
            self._not_negative[key] = info.kind is Kind.ARGUMENT
            if info.boolean and info.kind in (Kind.UNKNOWN, Kind.FIXED, Kind.ARGUMENT):
                self._of[key] = frozenset({0, 1})
            elif key in counted:
                self._count(key, *counted[key])
            elif key not in self._of:
                self._of[key] = frozenset() if key in carried else None
        self._settle({key: terms for key, terms in carried.items() if key not in counted})

    def _count(self, key: int, lower: Term, upper: Term, step: Term) -> None:
        low, high, by = constant_of(lower), self.of(upper), constant_of(step)
        self._not_negative[key] = self._is_not_negative(lower)
        self._of[key] = None
        if low is not None and high is not None and len(high) == 1 and by:
            trips = range(low, max(high), by)
            if len(trips) <= MOST:
                self._of[key] = frozenset(trips)

    def _settle(self, carried: Mapping[int, list[Term]]) -> None:
        changed = True
        while changed:
            changed = False
            for key, terms in carried.items():
                before = self._of[key]
                after = before
                for term in terms:
                    more = self.of(term)
                    after = None if after is None or more is None else after | more
                if after is not None and len(after) > _MOST_CARRIED:
                    after = None
                if after != before:
                    self._of[key] = after
                    changed = True

    def _is_not_negative(self, term: Term) -> bool:
        if isinstance(term, Var):
            values = self._of.get(term.key)
            return self._not_negative.get(term.key, False) or (values is not None and min(values, default=0) >= 0)
        if isinstance(term, Sum):
            return term.const >= 0 and all(factor > 0 and self._is_not_negative(atom) for atom, factor in term.parts)
        values = self._of_node(term)
        return values is not None and min(values, default=0) >= 0

    def ends(self) -> dict[int, tuple[int, int]]:
        """The lowest and the highest value of each variable that has few."""
        return {key: (min(values), max(values)) for key, values in self._of.items() if values}

    def of(self, term: Term) -> Values:
        if isinstance(term, Var):
            return self._of.get(term.key)
        if isinstance(term, Node):
            return self._of_node(term)
        total = frozenset({term.const})
        for atom, factor in term.parts:
            part = self.of(atom)
            if part is None or len(part) * len(total) > MOST:
                return None
            total = frozenset(value + factor * one for value in total for one in part)
        return total

    def _of_node(self, term: Node) -> Values:
        if term.fn is Fn.SELECT:
            yes, no = self.of(term.args[1]), self.of(term.args[2])
            return None if yes is None or no is None else yes | no
        parts = [self.of(arg) for arg in term.args]
        modulus = modulus_of(term)
        if modulus is not None and modulus <= MOST and parts[0] is None:
            least = 0 if term.fn is not Fn.REMS or self._is_not_negative(term.args[0]) else 1 - modulus
            return frozenset(range(least, modulus))
        mask = mask_of(term)
        if mask is not None and mask < MOST and parts[0] is None:
            return frozenset(bits & mask for bits in range(mask + 1))
        known = [part for part in parts if part is not None]
        size = 1
        for part in known:
            size *= len(part)
        if len(known) != len(parts) or size > MOST:
            return frozenset({0, 1}) if term.fn in (Fn.EQ0, Fn.LE0, Fn.ULT, Fn.NOT) else None
        found: set[int] = set()
        for values in product(*known):
            try:
                found.add(value_of(term.fn, term.width, values))
            except DivisionError:
                return None
        return frozenset(found)
