"""Tile ops in the assembler's generic form: operands in the order of its definitions, one segment for each of them."""

from collections.abc import Iterator, Mapping, Sequence

from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.ir import Attribute, SSAValue

from pto_buf.dialect.table.row import Operand, OpRow
from pto_buf.dialect.tile_op import spec_of

_SEGMENTS = "operandSegmentSizes"

Parts = tuple[Sequence[SSAValue], Mapping[str, Attribute], Mapping[str, Attribute]]
"""Operands, properties and attributes."""


def own_form(
    rows: Sequence[OpRow],
    operands: Sequence[SSAValue],
    properties: Mapping[str, Attribute],
    attributes: Mapping[str, Attribute],
) -> Parts:
    """The same op with two segments, inputs and outputs, and its attributes as attributes."""
    found = properties.get(_SEGMENTS, attributes.get(_SEGMENTS))
    sizes = [int(size) for size in found.get_values()] if isinstance(found, DenseArrayBase) else None
    if sizes is not None and len(sizes) == 2:
        return operands, properties, attributes
    for row in rows:
        named = _named(row, operands, sizes)
        if named is not None:
            ins = [named[operand.name] for operand in row.ins if operand.name in named]
            outs = [named[operand.name] for operand in row.outs if operand.name in named]
            own = {_SEGMENTS: DenseArrayBase.from_list(i32, [len(ins), len(outs)])}
            rest = {name: value for name, value in {**properties, **attributes}.items() if name != _SEGMENTS}
            return [*ins, *outs], own, rest
    return operands, properties, attributes


def _named(row: OpRow, operands: Sequence[SSAValue], sizes: Sequence[int] | None) -> Mapping[str, SSAValue] | None:
    """The operands by the row's names, if they are the row's."""
    known = {operand.name: operand for operand in row.operands}
    order = row.generic or tuple(known)
    if sizes is None:
        order = tuple(name for name in order if name and not known[name].optional)
        sizes = [1] * len(order)
    if len(sizes) != len(order) or any(size > bool(name) for size, name in zip(sizes, order, strict=True)):
        return None
    names = [name for name, size in zip(order, sizes, strict=True) if size]
    if len(names) != len(operands) or not {operand.name for operand in _required(row)} <= set(names):
        return None
    named = dict(zip(names, operands, strict=True))
    return named if all(known[name].takes(spec_of(value.type)) for name, value in named.items()) else None


def _required(row: OpRow) -> Iterator[Operand]:
    return (operand for operand in row.operands if not operand.optional)
