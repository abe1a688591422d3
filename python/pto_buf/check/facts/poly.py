"""Integer polynomials over variables, and intervals. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd
from typing import TypeAlias

Mono: TypeAlias = tuple[int, ...]
"""A product of variables, by key, in order; a variable may occur more than once."""

Form: TypeAlias = tuple[tuple[Mono, int], ...]
"""A polynomial without constant, its coefficients without common divisor, the first one positive."""

Range: TypeAlias = tuple[int | None, int | None]
"""Lowest and highest value; None where there is no bound."""

EVERYTHING: Range = (None, None)


@dataclass(frozen=True, slots=True)
class Poly:
    """`const` plus the monomials times their coefficients, in order, none 0."""

    parts: tuple[tuple[Mono, int], ...]
    const: int

    @property
    def exact(self) -> int | None:
        """The value, if it is a constant."""
        return None if self.parts else self.const

    def variables(self) -> tuple[int, ...]:
        return tuple(sorted({key for mono, _ in self.parts for key in mono}))


def constant(value: int) -> Poly:
    return Poly((), value)


def variable(key: int) -> Poly:
    return Poly((((key,), 1),), 0)


def _collected(parts: Mapping[Mono, int], const: int) -> Poly:
    return Poly(tuple(sorted((mono, factor) for mono, factor in parts.items() if factor)), const)


def plus(left: Poly, right: Poly, factor: int = 1) -> Poly:
    """`left + factor * right`."""
    if not right.parts:
        return Poly(left.parts, left.const + factor * right.const)
    parts = dict(left.parts)
    for mono, coefficient in right.parts:
        parts[mono] = parts.get(mono, 0) + factor * coefficient
    return _collected(parts, left.const + factor * right.const)


def times(left: Poly, right: Poly) -> Poly:
    parts: dict[Mono, int] = {}
    for mono, factor in (*left.parts, ((), left.const)):
        for other, coefficient in (*right.parts, ((), right.const)):
            product = tuple(sorted((*mono, *other)))
            parts[product] = parts.get(product, 0) + factor * coefficient
    return _collected({mono: factor for mono, factor in parts.items() if mono}, parts.get((), 0))


def replaced(poly: Poly, key: int, by: Poly) -> Poly:
    """The polynomial with a variable replaced."""
    result = constant(poly.const)
    for mono, factor in poly.parts:
        if key not in mono:
            result = plus(result, Poly(((mono, factor),), 0))
            continue
        product = constant(factor)
        for one in mono:
            product = times(product, by if one == key else variable(one))
        result = plus(result, product)
    return result


def split(poly: Poly) -> tuple[Form, int]:
    """`(form, factor)` with `poly = factor * form + poly.const`. The form of a constant is empty."""
    if not poly.parts:
        return (), 0
    common = gcd(*(factor for _, factor in poly.parts))
    if poly.parts[0][1] < 0:
        common = -common
    if common == 1:
        return poly.parts, 1
    return tuple((mono, factor // common) for mono, factor in poly.parts), common


def form_poly(form: Form) -> Poly:
    return Poly(form, 0)


def form_variables(form: Form) -> tuple[int, ...]:
    return Poly(form, 0).variables()


# --- intervals ---------------------------------------------------------------------------------------------------


def shifted(one: Range, by: int) -> Range:
    low, high = one
    return None if low is None else low + by, None if high is None else high + by


def scaled(one: Range, factor: int) -> Range:
    if factor == 0:
        return 0, 0
    low, high = one if factor > 0 else (one[1], one[0])
    return None if low is None else low * factor, None if high is None else high * factor


def divided(one: Range, factor: int) -> Range:
    """The numbers of which `factor` times each lies in the range."""
    low, high = one if factor > 0 else (one[1], one[0])
    return None if low is None else -(-low // factor), None if high is None else high // factor


def summed(one: Range, other: Range) -> Range:
    low = None if one[0] is None or other[0] is None else one[0] + other[0]
    high = None if one[1] is None or other[1] is None else one[1] + other[1]
    return low, high


def met(one: Range, other: Range) -> Range:
    """Both at once; the result is empty (low above high) if they contradict each other."""
    low = one[0] if other[0] is None else other[0] if one[0] is None else max(one[0], other[0])
    high = one[1] if other[1] is None else other[1] if one[1] is None else min(one[1], other[1])
    return low, high


def joined(one: Range, other: Range) -> Range:
    low = None if one[0] is None or other[0] is None else min(one[0], other[0])
    high = None if one[1] is None or other[1] is None else max(one[1], other[1])
    return low, high


def empty(one: Range) -> bool:
    return one[0] is not None and one[1] is not None and one[0] > one[1]


def exact(one: Range) -> int | None:
    return one[0] if one[0] is not None and one[0] == one[1] else None


def clipped(one: Range, low: int, high: int) -> Range:
    """What of a range can be told apart by comparisons with `low` to `high`: bounds beyond give way to infinity."""
    bottom, top = one
    if bottom is not None:
        bottom = None if bottom < low else min(bottom, high + 1)
    if top is not None:
        top = None if top > high else max(top, low - 1)
    return bottom, top
