"""The plainest dialect that xDSL's own means define: what its ops cost is what a machine is measured against."""

from typing import ClassVar

from xdsl.ir import Attribute, Dialect, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    VarConstraint,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    result_def,
)


@irdl_attr_definition
class ToyTile(ParametrizedAttribute, TypeAttribute):
    """A type of three fields, printed by xDSL."""

    name = "toy.tile"

    rows: Attribute
    cols: Attribute
    element: Attribute


@irdl_op_definition
class ToyAdd(IRDLOperation):
    """`toy.add %a, %b : !toy.tile<...>`"""

    T: ClassVar = VarConstraint("T", AnyAttr())

    name = "toy.add"

    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(T)

    assembly_format = "$lhs `,` $rhs attr-dict `:` type($result)"


TOY = Dialect("toy", [ToyAdd], [ToyTile])
