"""What kind of operator a term is, and what follows from that alone. Pure."""

from collections.abc import Iterator, Sequence

from pto_buf.check.facts.poly import EVERYTHING, Range, exact
from pto_buf.check.terms import Fn, Node, Term, const, constant_of, equal


def is_value(term: Node, value: int) -> Node:
    """The condition that a term has this value."""
    condition = equal(term, const(value))
    assert isinstance(condition, Node)
    return condition


def modulus_of(term: Node) -> int | None:
    """Of a remainder by a positive constant, or a mask of low bits."""
    if term.fn is Fn.AND:
        mask = constant_of(term.args[1])
        return mask + 1 if mask is not None and mask >= 0 and mask & (mask + 1) == 0 else None
    by = constant_of(term.args[1]) if term.fn in (Fn.REMU, Fn.REMS) else None
    return by if by is not None and by > 0 else None


def mask_of(term: Node) -> int | None:
    """The bits that an operator lets through, where they are known."""
    mask = constant_of(term.args[1]) if term.fn is Fn.AND else None
    return mask if mask is not None and mask >= 0 else None


def divisor_of(term: Node) -> int | None:
    """Of a division by a positive constant that rounds down where its operand is not negative."""
    if term.fn in (Fn.DIVU, Fn.DIVS, Fn.FLOORDIV):
        by = constant_of(term.args[1])
        return by if by is not None and by > 0 else None
    if term.fn in (Fn.SHRS, Fn.SHRU):
        amount = constant_of(term.args[1])
        return 1 << amount if amount is not None and 0 <= amount < term.width else None
    return None


def compared_quotients(term: Node) -> Iterator[tuple[Node, Term, int]]:
    """Of a minimum or maximum of a quotient and a number: both, and the most that is divided for a lesser quotient.

    `x / 2` is at most 1 if `x` is at most 3, and not negative.
    """
    for one, other in (term.args, term.args[::-1]):
        divisor, number = divisor_of(one) if isinstance(one, Node) else None, constant_of(other)
        if isinstance(one, Node) and divisor is not None and number is not None and number >= 0:
            yield one, other, divisor * number + divisor - 1


def remainder_range(fn: Fn, ranges: Sequence[Range]) -> Range:
    by = exact(ranges[1])
    if by is None or by <= 0:
        return EVERYTHING
    if fn is Fn.AND:
        return 0, by
    low, high = ranges[0]
    if fn is Fn.REMU or (low is not None and low >= 0):
        most = by - 1
        return 0, most if high is None or low is None or low < 0 else min(most, high)
    return 1 - by, by - 1
