"""What an index operator yields for two numbers: MLIR's arith semantics on 64 bits."""

from collections.abc import Callable, Mapping

from pto_buf.slots.terms import Fn

BITS = 64
_SIZE = 1 << BITS
INDEX_MIN = -(_SIZE >> 1)
INDEX_MAX = (_SIZE >> 1) - 1


def wrapped(value: int) -> int:
    """`value` as a signed number of 64 bits."""
    return (value - INDEX_MIN) % _SIZE + INDEX_MIN


def unsigned(value: int) -> int:
    """The bits of `value` read as an unsigned number."""
    return value % _SIZE


def fold(fn: Fn, left: int, right: int) -> int | None:
    """The signed result, 0 or 1 for a comparison; None where MLIR defines none (division by zero, wide shift)."""
    result = _RESULTS[fn](left, right)
    return None if result is None else wrapped(result)


def _div_signed(left: int, right: int) -> int | None:
    if right == 0 or (left, right) == (INDEX_MIN, -1):
        return None
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _rem_signed(left: int, right: int) -> int | None:
    if right == -1:  # even where the quotient does not fit
        return 0
    quotient = _div_signed(left, right)
    return None if quotient is None else left - quotient * right


def _floor_div(left: int, right: int) -> int | None:
    return None if right == 0 or (left, right) == (INDEX_MIN, -1) else left // right


def _ceil_div(left: int, right: int) -> int | None:
    return None if right == 0 or (left, right) == (INDEX_MIN, -1) else -(-left // right)


def _div_unsigned(left: int, right: int) -> int | None:
    return None if right == 0 else unsigned(left) // unsigned(right)


def _ceil_div_unsigned(left: int, right: int) -> int | None:
    return None if right == 0 else -(-unsigned(left) // unsigned(right))


def _rem_unsigned(left: int, right: int) -> int | None:
    return None if right == 0 else unsigned(left) % unsigned(right)


def _shift(shifted: Callable[[int, int], int]) -> Callable[[int, int], int | None]:
    return lambda left, right: shifted(left, right) if 0 <= right < BITS else None


_RESULTS: Mapping[Fn, Callable[[int, int], int | None]] = {
    Fn.ADD: lambda a, b: a + b,
    Fn.SUB: lambda a, b: a - b,
    Fn.MUL: lambda a, b: a * b,
    Fn.DIVS: _div_signed,
    Fn.FLOORDIVS: _floor_div,
    Fn.CEILDIVS: _ceil_div,
    Fn.DIVU: _div_unsigned,
    Fn.CEILDIVU: _ceil_div_unsigned,
    Fn.REMS: _rem_signed,
    Fn.REMU: _rem_unsigned,
    Fn.AND: lambda a, b: a & b,
    Fn.OR: lambda a, b: a | b,
    Fn.XOR: lambda a, b: a ^ b,
    Fn.SHL: _shift(lambda a, b: a << b),
    Fn.SHRS: _shift(lambda a, b: a >> b),
    Fn.SHRU: _shift(lambda a, b: unsigned(a) >> b),
    Fn.MINS: min,
    Fn.MAXS: max,
    Fn.MINU: lambda a, b: min(a, b, key=unsigned),
    Fn.MAXU: lambda a, b: max(a, b, key=unsigned),
    Fn.EQ: lambda a, b: int(a == b),
    Fn.NE: lambda a, b: int(a != b),
    Fn.SLT: lambda a, b: int(a < b),
    Fn.SLE: lambda a, b: int(a <= b),
    Fn.SGT: lambda a, b: int(a > b),
    Fn.SGE: lambda a, b: int(a >= b),
    Fn.ULT: lambda a, b: int(unsigned(a) < unsigned(b)),
    Fn.ULE: lambda a, b: int(unsigned(a) <= unsigned(b)),
    Fn.UGT: lambda a, b: int(unsigned(a) > unsigned(b)),
    Fn.UGE: lambda a, b: int(unsigned(a) >= unsigned(b)),
}
