"""Parts that the families of vector rows are made of."""

from collections.abc import Sequence

from pto_buf.dialect.table.dtypes import DtypeSets
from pto_buf.dialect.table.row import Deduce, Form, Kind, Operand, Request, Role, TableError, Use
from pto_buf.hw import Pipe, Space
from pto_buf.tile import TileSpec, aligned_tile, canonical_tile

SRC = Operand("src")
LHS = Operand("lhs")
RHS = Operand("rhs")
DST = Operand("dst", role=Role.WRITE)
SCRATCH = Operand("tmp", role=Role.SCRATCH)
OPTIONAL_SCRATCH = Operand("tmp", role=Role.SCRATCH, optional=True)
LATELY_OPTIONAL_SCRATCH = Operand("tmp", role=Role.SCRATCH, optional=True, needed_before=(0, 58))


V_S_0 = frozenset({(Pipe.V, Pipe.S, 0), (Pipe.S, Pipe.V, 0)})
"""Flags that many library ops raise inside themselves: their scalar part comes between two vector parts."""

SCALE = Operand("preQuantScalar", Kind.I64, optional=True, apart=True)
NO_SCALE = {
    "preQuantScalar": "the hardware library takes the scale for an event and does not compile; give a table, fp"
}


def vector_forms(tiles: Sequence[str], typed: Sequence[str], dtypes: DtypeSets) -> tuple[Form, ...]:
    """One form: the named tiles in the vector buffer, on the vector pipe."""
    return (Form(dict.fromkeys(tiles, Space.VEC), (Pipe.V,), tuple(typed), dtypes),)


def like(name: str) -> Deduce:
    """The result has shape, valid extent and layout of input `name`, and its element type unless another is asked."""

    def deduce(use: Use, request: Request) -> TileSpec:
        tile = use.tile(name)
        if request.dtype in (None, tile.dtype):
            return tile
        retyped = canonical_tile(tile.space, tile.rows, tile.cols, request.dtype, use.target)
        return retyped.with_valid(*tile.valid)

    return deduce


def row_vector(dtype: str | None = None) -> Deduce:
    """One value for each row of `src`: a column vector, its physical rows padded to whole 32 bytes."""

    def deduce(use: Use, request: Request) -> TileSpec:
        tile = use.tile("src")
        result = aligned_tile(Space.VEC, tile.rows, 1, request.dtype or dtype or tile.dtype, use.target)
        return result.with_valid(tile.v_rows, 1)

    return deduce


def column_vector(dtype: str | None = None) -> Deduce:
    """One value for each column of `src`: a single row."""

    def deduce(use: Use, request: Request) -> TileSpec:
        tile = use.tile("src")
        result = aligned_tile(Space.VEC, 1, tile.cols, request.dtype or dtype or tile.dtype, use.target)
        return result.with_valid(1, tile.v_cols)

    return deduce


def asked(space: Space = Space.VEC, like_name: str | None = None, typed_like: str | None = None) -> Deduce:
    """The result has the shape that the source asks for, in the canonical layout of its space.

    What is not asked for is as in the operand `like_name`, its element type as in `typed_like` where that is another.
    """

    def deduce(use: Use, request: Request) -> TileSpec:
        given = use.tile(like_name) if like_name is not None else None
        shape = request.shape or (given.shape if given is not None else None)
        typed = use.tile(typed_like) if typed_like is not None else given
        dtype = request.dtype or (typed.dtype if typed is not None else None)
        if shape is None or dtype is None:
            raise TableError(
                f"'{use.row.mnemonic}': the shape and element type of the result must be given", "shape-or-dtype"
            )
        result = canonical_tile(request.space or space, shape[0], shape[1], dtype, use.target)
        return result if request.valid is None else result.with_valid(*request.valid)

    return deduce
