"""Which variables a program may still look at from each instruction on, and which of their residues. Pure."""

from collections.abc import Callable, Iterable, Sequence

from pto_buf.check.program import (
    Assign,
    Branch,
    Code,
    End,
    Enter,
    Instruction,
    Jump,
    Leave,
    defined,
)
from pto_buf.check.proof.demand import Demand
from pto_buf.check.proof.survey import all_terms_of, terms_of
from pto_buf.check.terms import Term, variables

Keys = frozenset[int]
_NONE: Keys = frozenset()


def successors(code: Sequence[Instruction], at: int) -> tuple[int, ...]:
    one = code[at]
    if isinstance(one, Branch):
        return at + 1, one.otherwise
    if isinstance(one, Jump):
        return (one.target,)
    return () if isinstance(one, End) else (at + 1,)


def live_variables(code: Code, windows: bool) -> list[Keys]:
    """For each instruction, the variables whose values matter before it; with `windows`, to global windows too."""

    def uses(one: Instruction, after: Keys) -> Keys:
        if isinstance(one, Assign):
            return _of_terms(term for var, term in one.pairs if var.key in after)
        found = _of_terms(all_terms_of(one) if windows else terms_of(one))
        if isinstance(one, Leave) and one.loop.counter is not None and one.loop.upper is not None:
            found |= _of_terms((one.loop.counter, one.loop.upper))
        return found

    return _backwards(code.instructions, uses)


def live_residues(code: Code, evaluated: Callable[[Instruction], Iterable[Term]], bounds: bool) -> list[Keys]:
    """For each instruction, the variables whose residues matter before it.

    `evaluated` says which terms are worked out exactly; with `bounds`, leaving a loop compares the residues of its
    counter and its end.
    """

    def uses(one: Instruction, after: Keys) -> Keys:
        demand = Demand()
        if isinstance(one, Assign):
            for _, term in one.pairs:
                demand.exactly(term)
            return frozenset(demand.moduli) | _of_terms(term for var, term in one.pairs if var.key in after)
        if isinstance(one, Leave) and bounds and one.loop.counter is not None and one.loop.upper is not None:
            return _of_terms((one.loop.counter, one.loop.upper))
        for term in evaluated(one):
            demand.exactly(term)
        found = frozenset(demand.moduli)
        if isinstance(one, Leave) and one.loop.counter is not None and one.loop.upper is not None:
            keys = _of_terms((one.loop.upper,))
            if keys & after:
                found |= {one.loop.counter.key}
        return found

    return _backwards(code.instructions, uses)


def _of_terms(terms: Iterable[Term]) -> Keys:
    return frozenset(var.key for term in terms for var in variables(term))


def _backwards(code: Sequence[Instruction], uses: Callable[[Instruction, Keys], Keys]) -> list[Keys]:
    before: list[Keys] = [_NONE] * len(code)
    changed = True
    while changed:
        changed = False
        for at in range(len(code) - 1, -1, -1):
            after = _NONE.union(*(before[to] for to in successors(code, at)))
            one = code[at]
            found = (after - {var.key for var in defined(one)}) | uses(one, after)
            if found != before[at]:
                before[at] = found
                changed = True
    return before


def joins(code: Sequence[Instruction]) -> frozenset[int]:
    """Where paths come together, or go round: the instructions at which states are compared."""
    found: dict[int, int] = {}
    for at in range(len(code)):
        for to in successors(code, at):
            found[to] = found.get(to, 0) + 1
    return frozenset(at for at, count in found.items() if count > 1)


def loop_counters(code: Sequence[Instruction]) -> frozenset[int]:
    return frozenset(one.loop.counter.key for one in code if isinstance(one, Enter) and one.loop.counter is not None)
