"""What to do about common mistakes, in the words of a help line. Pure."""

import ast
from collections.abc import Mapping

from pto_buf.dialect.table.row import OpRow
from pto_buf.dialect.table.row import Value as TableValue
from pto_buf.hw import Space
from pto_buf.tile import TileSpec

_OPERATORS: Mapping[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.BitAnd: "and_",
    ast.BitOr: "or_",
    ast.BitXor: "xor",
    ast.LShift: "shl",
    ast.RShift: "shr",
}
_SPREAD = {"add": "add", "sub": "sub", "mul": "mul", "div": "div", "maximum": "max", "minimum": "min"}
"""Elementwise ops, and what follows `row_expand_` and `col_expand_` in the op that spreads the right operand."""
_CUBE = (Space.MAT, Space.LEFT, Space.RIGHT, Space.ACC, Space.BIAS, Space.SCALING)


def of_operator(op: ast.operator) -> str | None:
    """What an operator between tiles is written as."""
    name = _OPERATORS.get(type(op))
    return None if name is None else f"tiles have functions in place of operators: pl.{name}(a, b)"


def of_use(row: OpRow, operands: Mapping[str, TableValue]) -> str | None:
    """What to do about a use that the table does not allow, where it is one of the usual mistakes."""
    tiles = {name: value for name, value in operands.items() if isinstance(value, TileSpec)}
    only_vec = all(set(form.spaces.values()) == {Space.VEC} for form in row.forms if form.spaces)
    if only_vec and any(tile.space in _CUBE for tile in tiles.values()):
        return "the vector unit works in Vec alone: hand the tile over through a tensor, by pl.store and pl.load"
    if any(tile.space in _CUBE for tile in tiles.values()) and any(t.space is Space.VEC for t in tiles.values()):
        return "the two kinds of core hand a tile over through a tensor, by pl.store and pl.load"
    lhs, rhs = tiles.get("lhs"), tiles.get("rhs")
    if lhs is None or rhs is None or lhs.valid == rhs.valid:
        return None
    if lhs.shape == rhs.shape:
        return "give both the same valid_shape, or fill what is not valid by pl.fillpad"
    how = _SPREAD.get(row.dsl, row.dsl.removeprefix("row_expand_") if row.dsl.startswith("row_expand_") else None)
    if how is not None and rhs.v_rows == 1 and rhs.v_cols == lhs.v_cols:
        return f"pl.col_expand_{how}(tile, row) spreads a row over all rows"
    if row.dsl in _SPREAD and rhs.v_cols == 1 and rhs.v_rows == lhs.v_rows:
        return f"pl.row_expand_{how}(tile, column) spreads a column over all columns"
    return None
