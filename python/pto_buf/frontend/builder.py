"""Building the IR of one kernel: every op gets its location here, and equal index arithmetic is written once.

Constants, views of tensors and slot sets stand at the top of the function, whatever loop first needs them.
"""

import ast
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TypeVar, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseArrayBase,
    Float16Type,
    Float32Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    Signedness,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

INDEX = IndexType()
I1 = IntegerType(1)

_FLOATS = {"f16": Float16Type(), "bf16": BFloat16Type(), "f32": Float32Type()}
_SIGNS = {"i": Signedness.SIGNLESS, "si": Signedness.SIGNED, "ui": Signedness.UNSIGNED}

_Op = TypeVar("_Op", bound=Operation)


@cache
def scalar_type(dtype: str) -> Attribute | None:
    """The IR type of a number of this element type; None where there is no scalar arithmetic (fp8, packed pairs)."""
    if dtype == "index":
        return INDEX
    if dtype in _FLOATS:
        return _FLOATS[dtype]
    sign = dtype.rstrip("0123456789")
    return IntegerType(int(dtype[len(sign) :]), _SIGNS[sign]) if sign in _SIGNS and sign != dtype else None


@cache
def segments(*sizes: int) -> dict[str, Attribute]:
    """The property that says how an op's operands are grouped. Not to be changed: it is shared."""
    return {"operandSegmentSizes": DenseArrayBase.from_list(i32, list(sizes))}


class Builder:
    """Appends ops to the current block of one function."""

    def __init__(self, entry: Block, locate: Callable[[ast.AST], LocationAttr], where: ast.AST):
        self._entry = entry
        self._top: list[Operation] = []
        self._sets: dict[Operation, Operation | None] = {}
        self._constants: dict[tuple[str, object], SSAValue] = {}
        self._known: list[dict[tuple[object, ...], SSAValue]] = [{}]
        self.block = entry
        self._locate = locate
        self.where: ast.AST | LocationAttr = where
        """What the ops made now stand for: a node, whose location is worked out when an op needs it, or a location."""

    @property
    def location(self) -> LocationAttr:
        """The location of the ops made now."""
        return self.where if isinstance(self.where, LocationAttr) else self._locate(self.where)

    def add(self, op: _Op) -> _Op:
        """Append an op at the current place."""
        op.location = self.location
        self.block.add_op(op)
        return op

    def pure(self, kind: type[Operation], operands: Sequence[SSAValue], *extra: object) -> SSAValue:
        """The result of `kind(*operands, *extra)`, of an earlier equal op where one is in sight."""
        key = (kind, *(id(operand) for operand in operands), *extra)
        for known in reversed(self._known):
            if (value := known.get(key)) is not None:
                return value
        value = self.add(kind(*operands, *extra)).results[0]
        self._known[-1][key] = value
        return value

    def constant(self, value: int | float | bool, dtype: str = "index") -> SSAValue:
        """A constant at the top of the function."""
        key = (dtype, repr(value))
        if key not in self._constants:
            type = scalar_type(dtype)
            assert type is not None, dtype
            attribute: Attribute
            if isinstance(type, (Float16Type, BFloat16Type, Float32Type)):
                attribute, hint = FloatAttr(float(value), type), "cst"
            else:
                attribute = IntegerAttr(int(value), INDEX if dtype == "index" else cast(IntegerType, type))
                hint = f"c{value}" if dtype == "index" else f"c{value}_{dtype}"
            self._constants[key] = self.at_top(
                arith.ConstantOp.create(result_types=[type], properties={"value": attribute})
            ).results[0]
            self._constants[key].name_hint = hint.replace("-", "m")
        return self._constants[key]

    def at_top(self, op: _Op) -> _Op:
        """Place an op among the constants and views at the top, behind those placed before."""
        op.location = self.location
        self._top.append(op)
        return op

    def slot_set(self, op: _Op) -> _Op:
        """Place an `alloc_slots` at the top, behind constants and views."""
        op.location = self.location
        self._sets[op] = op
        return op

    def drop(self, op: Operation) -> None:
        """Leave out a slot set that has become a part of another."""
        self._sets[op] = None

    def replace(self, op: Operation, by: Operation) -> None:
        """Put another slot set where `op` would have stood."""
        by.location = op.location
        self._sets[op] = by

    @contextmanager
    def at(self, where: ast.AST | LocationAttr) -> Generator[None]:
        """Ops made inside get this location."""
        outer, self.where = self.where, where
        try:
            yield
        finally:
            self.where = outer

    @contextmanager
    def inside(self, block: Block) -> Generator[None]:
        """Ops made inside go to `block`, a region of its own."""
        outer, self.block = self.block, block
        self._known.append({})
        try:
            yield
        finally:
            self._known.pop()
            self.block = outer

    def finish(self) -> None:
        """Put what belongs to the top of the function there."""
        ops = [*self._top, *(op for op in self._sets.values() if op is not None)]
        first = self._entry.first_op
        if first is None:
            self._entry.add_ops(ops)
        else:
            self._entry.insert_ops_before(ops, first)
