"""The arithmetic of the scalar unit: MLIR's `arith` on Python integers and numpy floats. No IR.

An integer of N bits is kept as the signed value of its bits, a single bit as 0 or 1. `index` has 64 bits.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pto_buf.machine.dtypes import numpy_dtype


class ScalarError(Exception):
    """An operation without a result, such as a division by zero."""


def wrap(value: int, bits: int) -> int:
    """The value that remains in `bits` bits."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if bits > 1 and value >> (bits - 1) else value


def unsigned(value: int, bits: int) -> int:
    return value & ((1 << bits) - 1)


def signed(value: int, bits: int) -> int:
    return -value if bits == 1 else value


def _divide(left: int, right: int) -> int:
    """Towards zero."""
    if right == 0:
        raise ScalarError("divides by zero")
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _floor_divide(left: int, right: int) -> int:
    if right == 0:
        raise ScalarError("divides by zero")
    return left // right


def _ceil_divide(left: int, right: int) -> int:
    if right == 0:
        raise ScalarError("divides by zero")
    return -(-left // right)


def _remainder(left: int, right: int) -> int:
    return left - right * _divide(left, right)


IntFn = Callable[[int, int], int]

_SIGNED: Mapping[str, IntFn] = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "divsi": _divide,
    "floordivsi": _floor_divide,
    "ceildivsi": _ceil_divide,
    "remsi": _remainder,
    "andi": lambda a, b: a & b,
    "ori": lambda a, b: a | b,
    "xori": lambda a, b: a ^ b,
    "minsi": min,
    "maxsi": max,
}
_UNSIGNED: Mapping[str, IntFn] = {
    "divui": _divide,
    "ceildivui": _ceil_divide,
    "remui": _remainder,
    "minui": min,
    "maxui": max,
}
_SHIFTS: Mapping[str, tuple[IntFn, Callable[[int, int], int]]] = {
    "shli": (lambda a, b: a << b, unsigned),
    "shrui": (lambda a, b: a >> b, unsigned),
    "shrsi": (lambda a, b: a >> b, signed),
}
_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


def integer_function(name: str, bits: int) -> IntFn | None:
    """`arith.<name>` on two integers of `bits` bits; None if there is no such operation."""
    if name in _SHIFTS:
        shift, read = _SHIFTS[name]

        def run(value: int, amount: int) -> int:
            if unsigned(amount, bits) >= bits:
                raise ScalarError(f"shifts {bits} bits by {unsigned(amount, bits)}")
            return wrap(shift(read(value, bits), amount), bits)

        return run
    if name in _SIGNED:
        fn = _SIGNED[name]
        return lambda a, b: wrap(fn(signed(a, bits), signed(b, bits)), bits)
    if name in _UNSIGNED:
        fn = _UNSIGNED[name]
        return lambda a, b: wrap(fn(unsigned(a, bits), unsigned(b, bits)), bits)
    return None


def comparison(predicate: str, bits: int) -> IntFn:
    """`arith.cmpi <predicate>`. Raises KeyError for an unknown predicate."""
    if predicate in ("eq", "ne"):
        fn = _COMPARISONS[predicate]
        return lambda a, b: int(fn(a, b))
    fn = _COMPARISONS[predicate[1:]]
    read = {"s": signed, "u": unsigned}[predicate[0]]
    return lambda a, b: int(fn(read(a, bits), read(b, bits)))


FloatFn = Callable[..., Any]

_FLOAT_COMPARISONS: Mapping[str, tuple[Callable[[Any, Any], bool], bool]] = {
    "true": (lambda a, b: True, True),
    "false": (lambda a, b: False, False),
    "ord": (lambda a, b: True, False),
    "uno": (lambda a, b: False, True),
}
"""The comparisons that look at no order: what they say of numbers, and with a NaN."""

_FLOATS: Mapping[str, FloatFn] = {
    "addf": np.add,
    "subf": np.subtract,
    "mulf": np.multiply,
    "divf": np.divide,
    "remf": np.fmod,
    "negf": np.negative,
    "maximumf": np.maximum,
    "minimumf": np.minimum,
    "maxnumf": np.fmax,
    "minnumf": np.fmin,
}


def float_function(name: str, dtype: str) -> FloatFn | None:
    """`arith.<name>` on floats of one type, rounded to it; None if there is no such operation."""
    fn = _FLOATS.get(name)
    if fn is None:
        return None
    kind = numpy_dtype(dtype)
    wide = np.dtype(np.float64) if kind.itemsize == 8 else np.dtype(np.float32)

    def run(*values: Any) -> Any:
        with np.errstate(all="ignore"):
            return fn(*(np.asarray(value).astype(wide) for value in values)).astype(kind)[()]

    return run


def float_comparison(predicate: str) -> FloatFn:
    """`arith.cmpf <predicate>`: `o...` is false and `u...` true when an operand is NaN. Raises KeyError if unknown."""
    fn, with_nan = _FLOAT_COMPARISONS.get(predicate) or (_COMPARISONS[predicate[1:]], predicate[0] == "u")

    def run(left: Any, right: Any) -> int:
        return int(with_nan if left != left or right != right else fn(left, right))

    return run


def to_float(value: Any, dtype: str) -> Any:
    with np.errstate(all="ignore"):
        return np.asarray(value).astype(numpy_dtype(dtype))[()]


def float_to_int(value: Any, bits: int) -> int:
    """Towards zero. Raises ScalarError for a value that does not fit, of which MLIR promises nothing."""
    number = float(value)
    if not np.isfinite(number) or not -(1 << bits) < number < 1 << bits:
        raise ScalarError(f"converts {number} to an integer of {bits} bits")
    return wrap(int(number), bits)


def reinterpret(value: Any, source: str, target: str) -> Any:
    """The same bits as another type."""
    bits = np.asarray(value).astype(numpy_dtype(source))
    result = bits.view(numpy_dtype(target))[()]
    return int(result) if target[0] in "isu" else result
