"""Translates `arith` ops into functions on numbers."""

from collections.abc import Callable
from functools import partial
from typing import Any, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IndexType, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Operation

from pto_buf.machine import scalar
from pto_buf.machine.dtypes import NUMPY_DTYPES
from pto_buf.machine.values import chosen

_INTEGER_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
_FLOAT_PREDICATES = (
    *("false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord"),
    *("ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true"),
)


def bits_of(type: Attribute) -> int | None:
    """Bits of an integer type or `index`; None for any other type."""
    if isinstance(type, IndexType):
        return 64
    return type.bitwidth if isinstance(type, IntegerType) else None


def scalar_function(op: Operation) -> Callable[..., Any] | None:
    """What the op computes from its operands; None if it is no op of `arith` that we know, or not on numbers."""
    if not op.name.startswith("arith.") or len(op.results) != 1:
        return None
    if isinstance(op, arith.ConstantOp):
        return _constant(op.value)
    if isinstance(op, arith.SelectOp):
        return chosen
    types = [*op.operand_types, *op.result_types]
    if not all(bits_of(type) is not None or str(type) in NUMPY_DTYPES for type in types):
        return None
    return _on_numbers(op, op.name.removeprefix("arith."))


def _constant(value: Attribute) -> Callable[..., Any] | None:
    match value:
        case IntegerAttr():
            number = scalar.wrap(value.value.data, bits_of(value.type) or 64)
        case FloatAttr() if str(cast(Attribute, value.type)) in NUMPY_DTYPES:
            number = scalar.to_float(value.value.data, str(cast(Attribute, value.type)))
        case DenseIntOrFPElementsAttr():  # a vector that an op fills beside its tile: nothing here reads it
            number = 0
        case _:
            return None
    return lambda: number


def _on_numbers(op: Operation, name: str) -> Callable[..., Any] | None:
    source, target = op.operands[0].type, op.results[0].type
    bits = bits_of(source)
    if isinstance(op, arith.CmpiOp) and bits is not None:
        return scalar.comparison(_INTEGER_PREDICATES[op.predicate.value.data], bits)
    if isinstance(op, arith.CmpfOp):
        return scalar.float_comparison(_FLOAT_PREDICATES[op.predicate.value.data])
    if name in _CONVERSIONS:
        return _conversion(name, source, target)
    return scalar.float_function(name, str(source)) if bits is None else scalar.integer_function(name, bits)


_CONVERSIONS = frozenset(
    {"index_cast", "index_castui", "extsi", "extui", "trunci", "sitofp", "uitofp"}
    | {"fptosi", "fptoui", "extf", "truncf", "bitcast"}
)


def _conversion(name: str, source: Attribute, target: Attribute) -> Callable[..., Any] | None:
    of, to = bits_of(source), bits_of(target)
    kind = str(target)
    if name == "bitcast":
        known = all(str(type) in NUMPY_DTYPES for type in (source, target))
        return partial(scalar.reinterpret, source=str(source), target=kind) if known else None
    if of is None:
        return partial(scalar.to_float, dtype=kind) if to is None else partial(scalar.float_to_int, bits=to)
    read = partial(scalar.unsigned if name in ("index_castui", "extui", "uitofp") else scalar.signed, bits=of)
    write = partial(scalar.to_float, dtype=kind) if to is None else partial(scalar.wrap, bits=to)

    def convert(value: int) -> Any:
        return write(read(value))

    return convert
