"""What an assignment, a value from nowhere and the end of a loop do to facts. Pure."""

from pto_buf.check.facts.facts import Facts, assigned, eliminated, range_of, with_range, with_residue
from pto_buf.check.facts.poly import Poly, plus, split, variable
from pto_buf.check.facts.questions import Asked, Exactly
from pto_buf.check.facts.reason import MOST_VALUES, Reason
from pto_buf.check.program import Assign, Enter, Fresh, Leave, Program
from pto_buf.check.terms import Term, constant_of


def changed(
    one: Assign | Fresh | Enter | Leave, reason: Reason, program: Program, matters: frozenset[int]
) -> Facts | None:
    """The facts behind the instruction, None if they contradict each other; `matters`: the residues asked for there.

    Raises Asked.
    """
    if isinstance(one, Assign):
        return _assign(one, reason)
    if isinstance(one, Enter):
        return _enter(one, reason)
    if isinstance(one, Leave):
        return _leave(one, reason, matters)
    after = assigned(reason.scope, reason.facts, {one.var.key: None})
    if after is not None and program.variables[one.var.key].boolean:
        after = with_range(reason.scope, after, variable(one.var.key), (0, 1))
    return after


def _assign(one: Assign, reason: Reason) -> Facts | None:
    scope = reason.scope
    values: dict[int, Poly | None] = {}
    residues: list[tuple[int, int, int]] = []
    loose: list[tuple[int, Term]] = []
    for var, term in one.pairs:
        key = var.key
        values[key] = reason.poly(term)
        modulus = scope.moduli.get(key, 1)
        if modulus > 1:
            residue = reason.residue(term, modulus)
            if residue is not None:
                residues.append((key, residue, modulus))
        if values[key] is None:
            loose.append((key, term))
    ranges = [(key, reason.range(term)) for key, term in loose]
    after = assigned(scope, reason.facts, values)
    for key, residue, modulus in residues:
        after = None if after is None else with_residue(scope, after, key, residue, modulus)
    for key, limit in ranges:
        after = None if after is None else with_range(scope, after, variable(key), limit)
    return after


def _enter(one: Enter, reason: Reason) -> Facts | None:
    """A loop whose step is not positive has no meaning."""
    if one.loop.step is None or constant_of(one.loop.step) is not None:
        return reason.facts
    step = reason.poly(one.loop.step)
    return reason.facts if step is None else with_range(reason.scope, reason.facts, step, (1, None))


def _leave(one: Leave, reason: Reason, residues: frozenset[int]) -> Facts | None:
    """The counter goes; with a step above 1, how far it went past the end is worked out first if it matters."""
    scope, facts, loop = reason.scope, reason.facts, one.loop
    if loop.counter is None or loop.upper is None:
        return facts
    key = loop.counter.key
    upper = reason.poly(loop.upper)
    matters = upper is not None and any(one in residues for one in upper.variables())
    if upper is not None and matters and scope.moduli.get(key, 1) > 1:
        form, _ = split(plus(upper, variable(key), -1))
        if form in scope.forms:
            low, high = range_of(scope, facts, Poly(form, 0))
            if low is not None and high is not None and 0 < high - low < MOST_VALUES:
                raise Asked(Exactly(form, low, high))
    return eliminated(scope, facts, key)
