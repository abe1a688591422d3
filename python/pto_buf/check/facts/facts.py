"""What is known of the variables of a kernel at one point: ranges of polynomials, residues, outcomes. Pure.

Immutable; every operation gives new facts, or None where they contradict each other. A `Scope` says once and for all
which polynomials are followed, how exactly, and modulo what each variable may be looked at.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import gcd

from pto_buf.check.facts.poly import (
    EVERYTHING,
    Form,
    Mono,
    Poly,
    Range,
    clipped,
    divided,
    empty,
    exact,
    form_poly,
    form_variables,
    met,
    plus,
    replaced,
    scaled,
    shifted,
    split,
    summed,
    variable,
)
from pto_buf.check.terms import Node

_REMEMBERED = 1 << 16
"""Results about forms that are kept: a program asks the same few again and again."""

Residue = tuple[int, int]
"""`(r, m)`: the value is r modulo m, 0 <= r < m."""


@dataclass(frozen=True)
class Scope:
    """`forms` are the polynomials that are followed, each exact within the given bounds.

    `moduli` are the moduli that residues of variables are kept for; a variable that is not named has none. `known`
    are variables that stand for a number. `by_cases`: an operator that cannot be worked out, but has few values, has
    one of them, and the same as long as its operands are what they are.
    """

    forms: Mapping[Form, tuple[int, int]]
    moduli: Mapping[int, int]
    known: Mapping[int, int] = field(default_factory=dict[int, int])
    by_cases: bool = False
    by_variable: Mapping[int, tuple[Form, ...]] = field(init=False)

    def __post_init__(self) -> None:
        by_variable: dict[int, list[Form]] = {}
        for form in self.forms:
            for key in form_variables(form):
                by_variable.setdefault(key, []).append(form)
        object.__setattr__(self, "by_variable", {key: tuple(forms) for key, forms in by_variable.items()})


@dataclass(frozen=True, slots=True)
class Facts:
    ranges: Mapping[Form, Range]
    residues: Mapping[int, Residue]
    outcomes: Mapping[Node, bool]
    """Conditions that could not be worked out, and how they came out."""

    def key(self) -> tuple[object, ...]:
        """Equal for equal facts."""
        return (
            frozenset(self.ranges.items()),
            frozenset(self.residues.items()),
            frozenset(self.outcomes.items()),
        )


NOTHING = Facts({}, {}, {})


# --- asking ------------------------------------------------------------------------------------------------------


def range_of(scope: Scope, facts: Facts, poly: Poly) -> Range:
    """All that the facts say of where the value lies: of it alone, and of what it has to do with other values."""
    form, factor = split(poly)
    if not form:
        return poly.const, poly.const
    found = _form_range(scope, facts, form)
    for other, known in facts.ranges.items():
        for ratio, rest, rest_factor in _in_terms_of(form, other):
            rest_range = _form_range(scope, facts, rest) if rest else (0, 0)
            found = met(found, summed(scaled(known, ratio), scaled(rest_range, rest_factor)))
    return shifted(scaled(found, factor), poly.const)


def _is_variable(form: Form) -> bool:
    return len(form) == 1 and len(form[0][0]) == 1


@lru_cache(maxsize=_REMEMBERED)
def _in_terms_of(form: Form, other: Form) -> tuple[tuple[int, Form, int], ...]:
    """`(ratio, rest, factor)`: the form is `ratio * other + factor * rest`; one for each monomial that goes out so."""
    if other == form:
        return ()
    found: dict[int, None] = {}
    factors = dict(form)
    for mono, factor in other:
        ratio, uneven = divmod(factors.get(mono, 0), factor)
        if ratio and not uneven:
            found[ratio] = None
    rests = ((ratio, split(plus(form_poly(form), form_poly(other), -ratio))) for ratio in found)
    return tuple((ratio, rest, factor) for ratio, (rest, factor) in rests)


def _form_range(scope: Scope, facts: Facts, form: Form) -> Range:
    """From the form itself and from its monomials one by one."""
    found = facts.ranges.get(form, EVERYTHING)
    if _is_variable(form):
        number = scope.known.get(form[0][0][0])
        return found if number is None else (number, number)
    total: Range = (0, 0)
    for mono, factor in form:
        total = summed(total, scaled(_mono_range(scope, facts, mono), factor))
        if total == EVERYTHING:
            return found
    return met(found, total)


def _mono_range(scope: Scope, facts: Facts, mono: Mono) -> Range:
    if len(mono) == 1:
        number = scope.known.get(mono[0])
        return facts.ranges.get(((mono, 1),), EVERYTHING) if number is None else (number, number)
    whole = facts.ranges.get(((mono, 1),))
    ranges = [_mono_range(scope, facts, (key,)) for key in mono]
    if any(low is None or low < 0 for low, _ in ranges):
        return whole or EVERYTHING
    low, high = 1, 1
    unbounded = False
    for bottom, top in ranges:
        assert bottom is not None
        low *= bottom
        unbounded |= top is None
        high *= top or 0
    product: Range = (low, None if unbounded else high)
    return product if whole is None else met(whole, product)


def residue_of(scope: Scope, facts: Facts, key: int) -> Residue:
    """Of a variable. Modulus 0 for a value that is known exactly, 1 for nothing known."""
    value = exact(_mono_range(scope, facts, (key,)))
    return (value, 0) if value is not None else facts.residues.get(key, (0, 1))


def residue_of_poly(scope: Scope, facts: Facts, poly: Poly, modulus: int) -> Residue:
    """The value modulo the largest divisor of `modulus` for which it is known."""
    total, common = poly.const, modulus
    for mono, factor in poly.parts:
        value, unit = factor, 0
        for key in mono:
            r, m = residue_of(scope, facts, key)
            # (value + unit*x) * (r + m*y): what is unknown is a multiple of this
            value, unit = value * r, gcd(value * m, unit * r, unit * m)
        total += value
        common = gcd(common, unit)
    return total % common, common


# --- learning ----------------------------------------------------------------------------------------------------


def with_range(scope: Scope, facts: Facts, poly: Poly, limit: Range) -> Facts | None:
    """The facts and that the value lies within `limit`; kept only as exactly as the scope follows the polynomial."""
    form, factor = split(poly)
    if not form:
        return None if empty(met(limit, (poly.const, poly.const))) else facts
    found = met(range_of(scope, facts, form_poly(form)), divided(shifted(limit, -poly.const), factor))
    if empty(found):
        return None
    if form not in scope.forms:
        return facts
    changed = replace(facts, ranges={**facts.ranges, form: clipped(found, *scope.forms[form])})
    return _consistent(scope, changed, form)


def _consistent(scope: Scope, facts: Facts, form: Form) -> Facts | None:
    """A variable must fit its residue; one form that became exact may say more of its variables."""
    if _is_variable(form):
        key = form[0][0][0]
        return facts if key not in facts.residues else _fitted(scope, facts, key, facts.residues[key])
    if exact(facts.ranges[form]) is not None:
        return share_residues(scope, facts, form)
    return facts


def _fitted(scope: Scope, facts: Facts, key: int, residue: Residue) -> Facts | None:
    """The facts and the residue of a variable; instead of it its value, where the range leaves one and is followed."""
    form = variable(key).parts
    low, high = _of_residue(range_of(scope, facts, variable(key)), residue)
    if low is None or high is None or low < high:
        return replace(facts, residues={**facts.residues, key: residue})
    if low > high:
        return None
    least, most = scope.forms.get(form, (low + 1, high - 1))
    if not least <= low <= most:
        return replace(facts, residues={**facts.residues, key: residue})
    others = {other: known for other, known in facts.residues.items() if other != key}
    return replace(facts, ranges={**facts.ranges, form: (low, high)}, residues=others)


def _of_residue(limit: Range, residue: Residue) -> Range:
    """From the first to the last number in a range that has the residue."""
    (low, high), (r, m) = limit, residue
    return None if low is None else low + (r - low) % m, None if high is None else high - (high - r) % m


def with_residue(scope: Scope, facts: Facts, key: int, residue: int, modulus: int) -> Facts | None:
    """The facts and that a variable is `residue` modulo `modulus`, as far as the scope looks at it."""
    modulus = gcd(modulus, scope.moduli.get(key, 1))
    if modulus == 1:
        return facts
    residue %= modulus
    value, m = residue_of(scope, facts, key)
    if m == 0:
        return facts if value % modulus == residue else None
    joint = _chinese((value, m), (residue, modulus))
    if joint is None:
        return None
    return facts if joint == (value, m) else _fitted(scope, facts, key, joint)


def _chinese(one: Residue, other: Residue) -> Residue | None:
    """Both residues at once, or None if they contradict each other."""
    (a, m), (b, n) = one, other
    common = gcd(m, n)
    if (a - b) % common:
        return None
    step = n // common
    times = (b - a) // common * pow(m // common, -1, step) % step if step > 1 else 0
    return (a + m * times) % (m * step), m * step


def share_residues(scope: Scope, facts: Facts, form: Form) -> Facts | None:
    """What the exact value of a linear form says of the residue of each of its variables, given the others'."""
    value = exact(facts.ranges.get(form, EVERYTHING))
    if value is None:
        return facts
    for mono, factor in form:
        modulus = scope.moduli.get(mono[0], 1)
        if len(mono) != 1 or modulus == 1:
            continue
        rest = plus(Poly((), value), plus(form_poly(form), variable(mono[0]), -factor), -1)
        r, m = residue_of_poly(scope, facts, rest, modulus * abs(factor))
        common = gcd(factor, m)
        if r % common:
            return None
        m = gcd(m // common, modulus)
        shared = with_residue(scope, facts, mono[0], r // common * pow(factor // common, -1, m), m)
        if shared is None:
            return None
        facts = shared
    return facts


# --- changing ----------------------------------------------------------------------------------------------------


def assigned(scope: Scope, facts: Facts, values: Mapping[int, Poly | None]) -> Facts | None:
    """The facts after variables took new values, all at once; None stands for a value that nothing is known of."""
    ranges = _ranges_without(scope, facts, values)
    if ranges is None:
        return None
    residues = {key: residue for key, residue in facts.residues.items() if key not in values}
    outcomes = {node: outcome for node, outcome in facts.outcomes.items() if not _mentions(node, values)}
    changed: dict[Form, None] = {}
    for key in values:
        changed.update(dict.fromkeys(scope.by_variable.get(key, ())))
    new = tuple(values.items())
    for form in changed:
        after = _after(form, new)
        if after is not None:
            known = clipped(range_of(scope, facts, after), *scope.forms[form])
            if known != EVERYTHING:
                ranges[form] = known
    for key, value in values.items():
        modulus = scope.moduli.get(key, 1)
        if value is None or modulus == 1:
            continue
        r, m = residue_of_poly(scope, facts, value, modulus)
        if m > 1:
            residues[key] = (r, m)
    return Facts(ranges, residues, outcomes)


def _ranges_without(scope: Scope, facts: Facts, keys: Mapping[int, object]) -> dict[Form, Range] | None:
    """The ranges of all that has none of these variables: also what only those that have them tell, as `n - p < 0 = p`.

    None if they contradict each other.
    """
    kept = {form: known for form, known in facts.ranges.items() if not _has(form, keys)}
    for form, known in facts.ranges.items():
        if _is_variable(form) or not _has(form, keys):
            continue
        other, factor, rest, rest_factor = _parted(form, tuple(keys))
        if other not in scope.forms:
            continue
        told = divided(summed(known, scaled(_form_range(scope, facts, rest), -rest_factor)), factor)
        both = met(kept.get(other, EVERYTHING), told)
        if empty(both):
            return None
        both = clipped(both, *scope.forms[other])
        if both != EVERYTHING:
            kept[other] = both
    return kept


@lru_cache(maxsize=_REMEMBERED)
def _parted(form: Form, keys: tuple[int, ...]) -> tuple[Form, int, Form, int]:
    """`(other, a, rest, b)`: the form is `a * other + b * rest`, of which only the rest has these variables."""
    parts = [tuple(part for part in form if any(key in keys for key in part[0]) is has) for has in (False, True)]
    return *split(Poly(parts[0], 0)), *split(Poly(parts[1], 0))


def _has(form: Form, keys: Mapping[int, object]) -> bool:
    return any(key in keys for mono, _ in form for key in mono)


def _mentions(node: Node, keys: Mapping[int, object]) -> bool:
    from pto_buf.check.terms import variables

    return any(var.key in keys for var in variables(node))


@lru_cache(maxsize=_REMEMBERED)
def _after(form: Form, new: tuple[tuple[int, Poly | None], ...]) -> Poly | None:
    """What the form, of new values, is in old ones."""
    poly, values = form_poly(form), dict(new)
    own = [key for key in poly.variables() if key in values]
    marks = {key: -1 - number for number, key in enumerate(own)}  # so that the new value of one is not replaced again
    for key in own:
        poly = replaced(poly, key, variable(marks[key]))
    for key in own:
        value = values[key]
        if value is None:
            return None
        poly = replaced(poly, marks[key], value)
    return poly


def eliminated(scope: Scope, facts: Facts, key: int) -> Facts | None:
    """The facts without a variable that goes out of scope; what they said of it is said of what it equals."""
    for form in scope.by_variable.get(key, ()):
        value = exact(facts.ranges.get(form, EVERYTHING))
        factor = dict(form).get((key,))
        if value is None or factor is None or abs(factor) != 1 or form_poly(form).variables() == (key,):
            continue
        if sum(key in mono for mono, _ in form) > 1:
            continue
        rest = plus(Poly((), value), plus(form_poly(form), variable(key), -factor), -1)
        equal = plus(Poly((), 0), rest, factor)
        shared = share_residues(scope, facts, form)
        if shared is None:
            return None
        facts = shared
        for other in scope.by_variable[key]:
            known = facts.ranges.get(other)
            if known is not None and other != form:
                narrowed = with_range(scope, facts, replaced(form_poly(other), key, equal), known)
                if narrowed is None:
                    return None
                facts = narrowed
        break
    ranges = _ranges_without(scope, facts, {key: None})
    return None if ranges is None else forgotten(replace(facts, ranges=ranges), (key,))


def forgotten(facts: Facts, keys: Iterable[int]) -> Facts:
    """The facts without those on the given variables."""
    gone = dict.fromkeys(keys)
    if not gone:
        return facts
    return Facts(
        {form: known for form, known in facts.ranges.items() if not _has(form, gone)},
        {key: residue for key, residue in facts.residues.items() if key not in gone},
        {node: outcome for node, outcome in facts.outcomes.items() if not _mentions(node, gone)},
    )
