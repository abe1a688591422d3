"""Rows of the broadcasts: one value a row or one value a column, alone or against a full tile."""

from pto_buf.dialect.table.checks import (
    LAYOUT,
    agree,
    at_least_bytes,
    element_bytes,
    every,
    fmt,
    is_a2a3,
    not_empty,
    precise_with_scratch,
    require,
    row_major,
    same_dtype,
    same_shape,
    same_valid,
)
from pto_buf.dialect.table.dtypes import DtypeSets, same
from pto_buf.dialect.table.families import DST, LHS, OPTIONAL_SCRATCH, RHS, SRC, V_S_0, asked, like, vector_forms
from pto_buf.dialect.table.row import OpRow, Use
from pto_buf.dialect.table.scratch import for_row_expand, row_scratch_bytes, without_tile
from pto_buf.dialect.table.vocabulary import Attr
from pto_buf.tile import BLayout


def _check_row_expand(use: Use) -> None:
    lhs, rhs, dst = use.tile("lhs"), use.tile("rhs"), use.tile("dst")
    row_major("dst")(use)
    vector = "rhs" if agree(lhs.valid, dst.valid) else "lhs"
    require(
        vector == "rhs" or agree(rhs.valid, dst.valid),
        use,
        f"neither lhs, {fmt(lhs.valid)}, nor rhs, {fmt(rhs.valid)}, has the valid extent of dst, {fmt(dst.valid)}",
    )
    column = use.tile(vector)
    if dst.valid == (0, 0):  # says that nothing is to be done
        return
    not_empty("dst")(use)
    block = 32 // element_bytes(dst)
    single = column.blayout is BLayout.COL_MAJOR and column.v_cols in (1, None)
    blocked = column.blayout is BLayout.ROW_MAJOR and column.v_cols in (block, None)
    require(
        single or blocked,
        use,
        f"{vector} is {column.blayout} with {column.v_cols} valid columns; a col_major column or row_major blocks of "
        f"{block} columns",
        vector,
        LAYOUT,
    )
    require(
        agree((column.v_rows,), (dst.v_rows,)),
        use,
        f"{vector} has {column.v_rows} valid rows, dst {dst.v_rows}; they must be equal",
        vector,
    )
    if "tmp" in use.operands and is_a2a3(use):
        require(single, use, "tmp goes with a col_major column only", "tmp", "scratch")
        same_dtype(use, "tmp", "dst")
        at_least_bytes(use, "tmp", row_scratch_bytes(dst.v_rows))


def _row_expand(mnemonic: str, dsl: str, dtypes: DtypeSets, attrs: tuple[Attr, ...] = ()) -> OpRow:
    return OpRow(
        mnemonic,
        dsl,
        ins=(LHS, RHS, OPTIONAL_SCRATCH),
        out=DST,
        forms=vector_forms(("lhs", "rhs", "tmp", "dst"), ("lhs", "rhs", "dst"), dtypes),
        check=every(_check_row_expand, precise_with_scratch) if attrs else _check_row_expand,
        attrs=attrs,
        in_place=frozenset({"lhs"}),
        deduce=like("lhs"),
        scratch=for_row_expand,
        scratch_optional=True,
        hidden=without_tile,
        internal_flags=V_S_0,
    )


def _check_column_expand(use: Use) -> None:
    every(same_shape("lhs", "dst"), same_valid("lhs", "dst"), row_major("lhs", "rhs", "dst"))(use)
    found, wanted = use.tile("rhs").v_cols, use.tile("dst").v_cols
    require(agree((found,), (wanted,)), use, f"rhs has {found} valid columns, dst {wanted}; they must be equal", "rhs")


def _column_expand(mnemonic: str, dsl: str, dtypes: DtypeSets, attrs: tuple[Attr, ...] = ()) -> OpRow:
    return OpRow(
        mnemonic,
        dsl,
        ins=(LHS, RHS),
        out=DST,
        forms=vector_forms(("lhs", "rhs", "dst"), ("lhs", "rhs", "dst"), dtypes),
        check=_check_column_expand,
        attrs=attrs,
        in_place=frozenset({"lhs"}),
        deduce=like("lhs"),
    )


def _check_spread_rows(use: Use) -> None:
    src, dst = use.tile("src"), use.tile("dst")
    require(
        agree((src.v_rows,), (dst.v_rows,)),
        use,
        f"src has {src.v_rows} valid rows, dst {dst.v_rows}; they must be equal",
        "src",
    )
    if use.tile("dst").valid != (0, 0):  # says that nothing is to be done
        not_empty("src", "dst")(use)


def _check_spread_columns(use: Use) -> None:
    src, dst = use.tile("src"), use.tile("dst")
    require(
        agree((src.v_cols,), (dst.v_cols,)),
        use,
        f"src has {src.v_cols} valid columns, dst {dst.v_cols}; they must be equal",
        "src",
    )


_ARITH = same(3, "i16 i32 f16 f32", "i8 i16 i32 f16 f32")
_DIVIDE = same(3, "f16 f32", "i8 i16 i32 f16 f32")
_FLOAT = same(3, "f16 f32")
_ALL = same(2, "i8 i16 i32 f16 bf16 f32")
_OPS = (("add", _ARITH), ("sub", _ARITH), ("mul", _ARITH), ("div", _DIVIDE), ("max", _ARITH), ("min", _ARITH))


def _precision(name: str) -> tuple[Attr, ...]:
    return (Attr("precisionType", "div_precision", "default"),) if name == "div" else ()


EXPAND_ROWS: tuple[OpRow, ...] = (
    *(_row_expand(f"trowexpand{name}", f"row_expand_{name}", dtypes, _precision(name)) for name, dtypes in _OPS),
    _row_expand("trowexpandexpdif", "row_expand_expdif", _FLOAT),
    *(_column_expand(f"tcolexpand{name}", f"col_expand_{name}", dtypes, _precision(name)) for name, dtypes in _OPS),
    _column_expand("tcolexpandexpdif", "col_expand_expdif", _FLOAT),
    OpRow(
        "trowexpand",
        "row_expand",
        ins=(SRC,),
        out=DST,
        forms=vector_forms(("src", "dst"), ("src", "dst"), _ALL),
        check=_check_spread_rows,
        deduce=asked(like_name="src"),
        internal_flags=V_S_0,
    ),
    OpRow(
        "tcolexpand",
        "col_expand",
        ins=(SRC,),
        out=DST,
        forms=vector_forms(("src", "dst"), ("src", "dst"), _ALL),
        check=_check_spread_columns,
        deduce=asked(like_name="src"),
    ),
)
