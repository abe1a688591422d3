"""Extents of tensors that are known only at run time."""

import ast
from collections.abc import Mapping

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from pto_buf.frontend.builder import Builder
from pto_buf.frontend.names import DynExpr, DynVar
from pto_buf.frontend.syntax.annotations import Extent
from pto_buf.frontend.values import Number, Scalar, Static

_OPS: Mapping[type[ast.operator], type[Operation]] = {
    ast.Add: arith.AddiOp,
    ast.Sub: arith.SubiOp,
    ast.Mult: arith.MuliOp,
    ast.FloorDiv: arith.DivUIOp,
    ast.Mod: arith.RemUIOp,
}


def dimensions(extent: Extent) -> tuple[str, ...]:
    """The names of the dimensions that an extent is made of."""
    if isinstance(extent, int):
        return ()
    return (extent,) if isinstance(extent, str) else extent.dimensions


def worked_out(extent: Extent, dynamic: Mapping[str, Scalar], builder: Builder) -> Number:
    """The extent as a number; what is worked out is so at the top of the function."""
    if isinstance(extent, int):
        return Static(extent)
    if isinstance(extent, str):
        return dynamic[extent]
    return Scalar(_value(extent, dynamic, builder), "index", 0)


def _value(extent: "DynExpr | DynVar | int", dynamic: Mapping[str, Scalar], builder: Builder) -> SSAValue:
    if isinstance(extent, int):
        return builder.constant(extent)
    if isinstance(extent, DynVar):
        return dynamic[extent.name].ssa
    left, right = (_value(side, dynamic, builder) for side in (extent.left, extent.right))
    return builder.at_top(_OPS[extent.op].create(operands=[left, right], result_types=[left.type])).results[0]
