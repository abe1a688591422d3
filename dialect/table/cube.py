"""Rows of the matrix unit."""

from pto_buf.dialect.table.checks import LAYOUT, check_matrix_layout, fmt, known_valid, require
from pto_buf.dialect.table.dtypes import exactly, pairs
from pto_buf.dialect.table.families import DST, LHS, RHS
from pto_buf.dialect.table.row import Check, Form, Operand, OpRow, Request, Role, Use
from pto_buf.dialect.table.vocabulary import Attr
from pto_buf.hw import Pipe, Space
from pto_buf.tile import BLayout, SLayout, TileSpec, canonical_tile

_PRODUCTS = exactly("i8 i8 i32", "si8 si8 i32", "f16 f16 f32", "bf16 bf16 f32", "f32 f32 f32")
_FP8 = exactly(*(f"{a} {b} f32" for a in ("f8E4M3FN", "f8E5M2") for b in ("f8E4M3FN", "f8E5M2")), "hif8 hif8 f32")
_DTYPES = {"a2a3": _PRODUCTS, "a5": _PRODUCTS | _FP8 | pairs("i8 i8 i32")}
_PHASE = (Attr("accPhase", "acc_phase", "unspecified"),)


def check_accumulator_layout(use: Use, name: str) -> None:
    """An accumulator is stored in columns of boxes, whatever the assembler lets through."""
    tile = use.tile(name)
    require(
        (tile.blayout, tile.slayout) == (BLayout.COL_MAJOR, SLayout.ROW_MAJOR),
        use,
        f"{name} in acc has layout {tile.blayout}/{tile.slayout}, must be col_major/row_major",
        name,
        LAYOUT,
    )


def _check_product(use: Use) -> None:
    lhs, rhs, dst = use.tile("lhs"), use.tile("rhs"), use.tile("dst")
    (m, k), (k2, n), (dm, dn) = (known_valid(tile) for tile in (lhs, rhs, dst))
    require(k == k2, use, f"contracts {k} columns of lhs against {k2} rows of rhs", "rhs")
    require((m, n) == (dm, dn), use, f"the product is {m}x{n}, the accumulator {dm}x{dn}", "dst")
    for name, extent in (("rows", m), ("depth", k), ("columns", n)):
        require(extent <= 4095, use, f"{name} {extent}; at most 4095")
    check_matrix_layout(use, "lhs")
    check_matrix_layout(use, "rhs")
    check_accumulator_layout(use, "dst")
    if "acc" in use.operands:
        acc = use.tile("acc")
        require(
            (acc.shape, acc.dtype) == (dst.shape, dst.dtype),
            use,
            f"acc is {fmt(acc.shape)} of {acc.dtype}, dst {fmt(dst.shape)} of {dst.dtype}; they must be equal",
            "acc",
        )
        check_accumulator_layout(use, "acc")
    if "bias" in use.operands:
        bias = use.tile("bias")
        columns = known_valid(bias)[1]
        require(bias.rows == 1 and columns == n, use, f"bias is {bias.rows}x{columns}, must be 1x{n}", "bias")
        require(bias.dtype == dst.dtype, use, f"bias is {bias.dtype}, must be {dst.dtype} as the accumulator", "bias")
        require(bias.blayout is BLayout.ROW_MAJOR, use, f"bias is {bias.blayout}, must be row_major", "bias", LAYOUT)


def _check_vector_product(use: Use) -> None:
    _check_product(use)
    for name in ("lhs", "dst"):
        rows = use.tile(name).v_rows
        require(rows in (1, None), use, f"{name} has {rows} valid rows, must have one", name)


def _product_result(use: Use, request: Request) -> TileSpec:
    lhs, rhs = use.tile("lhs"), use.tile("rhs")
    dtype = "i32" if lhs.dtype in ("i8", "si8", "ui8") else "f32"
    result = canonical_tile(Space.ACC, lhs.rows, rhs.cols, dtype, use.target)
    return result.with_valid(lhs.v_rows, rhs.v_cols)


def _accumulator_result(use: Use, request: Request) -> TileSpec:
    return use.tile("acc")


def _forms(**extra: Space) -> tuple[Form, ...]:
    spaces = {"lhs": Space.LEFT, "rhs": Space.RIGHT, "dst": Space.ACC, **extra}
    return (Form(spaces, (Pipe.M,), ("lhs", "rhs", "dst"), _DTYPES),)


def _family(mnemonic: str, dsl: str, check: Check) -> tuple[OpRow, OpRow, OpRow]:
    """The plain, the accumulating and the biased product."""
    return (
        OpRow(
            mnemonic,
            dsl,
            ins=(LHS, RHS),
            out=DST,
            forms=_forms(),
            check=check,
            attrs=_PHASE,
            deduce=_product_result,
        ),
        OpRow(
            f"{mnemonic}.acc",
            f"{dsl}_acc",
            ins=(Operand("acc"), LHS, RHS),
            out=Operand("dst", role=Role.UPDATE),
            forms=_forms(acc=Space.ACC),
            check=check,
            attrs=_PHASE,
            in_place=frozenset({"acc"}),
            accumulates="acc",
            deduce=_accumulator_result,
        ),
        OpRow(
            f"{mnemonic}.bias",
            f"{dsl}_bias",
            ins=(LHS, RHS, Operand("bias")),
            out=DST,
            forms=_forms(bias=Space.BIAS),
            check=check,
            attrs=_PHASE,
            deduce=_product_result,
        ),
    )


CUBE_ROWS: tuple[OpRow, ...] = (
    *_family("tmatmul", "matmul", _check_product),
    *_family("tgemv", "gemv", _check_vector_product),
)
