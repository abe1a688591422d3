"""Conversions that no instruction does in one go: through which element types they go. Pure."""

from collections import deque
from collections.abc import Iterable, Sequence
from functools import cache

from pto_buf.dialect.table import rows_by_dsl
from pto_buf.tile import DTYPE_BITS

_FLOATS = {"f32": (24, 8), "f16": (11, 5), "bf16": (8, 8)}
"""Bits of the significand, the hidden one included, and of the exponent."""


@cache
def chain(src: str, dst: str, target: str) -> tuple[str, ...]:
    """The element types that a conversion goes through, the last included; `(dst,)` where there is no better way.

    `target` is its name. A type on the way keeps all that the source can hold, or all that the result can.
    """
    direct = _directly(target)
    if (src, dst) in direct or src == dst:
        return (dst,)
    ways: deque[tuple[str, ...]] = deque([(src,)])
    seen = {src}
    while ways:
        way = ways.popleft()
        for after in _by_preference(b for a, b in direct if a == way[-1]):
            if after == dst:
                return (*way[1:], dst)
            if after not in seen and (_keeps(after, src) or _keeps(after, dst)):
                seen.add(after)
                ways.append((*way, after))
    return (dst,)


@cache
def _directly(target: str) -> tuple[tuple[str, str], ...]:
    """The conversions of the table."""
    found = {pair for form in rows_by_dsl()["cast"].forms for pair in form.dtypes.get(target, ())}
    return tuple(sorted((a, b) for a, b in found))


def _by_preference(types: Iterable[str]) -> Sequence[str]:
    """The widest floats first: they lose least."""
    return sorted(types, key=lambda one: (one not in _FLOATS, -DTYPE_BITS[one], one))


def _keeps(through: str, other: str) -> bool:
    """Whether a type holds every value of another."""
    here, there = _FLOATS.get(through), _FLOATS.get(other)
    if here is not None:
        if there is not None:
            return here[0] >= there[0] and here[1] >= there[1]
        return "i" in other and here[0] >= _value_bits(other)
    if there is not None or not through.lstrip("su").startswith("i") or not other.lstrip("su").startswith("i"):
        return False
    return _value_bits(through) >= _value_bits(other) and (_is_signed(through) or not _is_signed(other))


def _value_bits(integer: str) -> int:
    return DTYPE_BITS[integer] - _is_signed(integer)


def _is_signed(integer: str) -> bool:
    return not integer.startswith("u")
