"""Rows of the reductions along rows and along columns."""

from pto_buf.dialect.table.checks import (
    LAYOUT,
    agree,
    at_least_bytes,
    element_bytes,
    fmt,
    is_a2a3,
    known_valid,
    not_empty,
    require,
    row_major,
    same_dtype,
    unboxed,
    wide_enough,
)
from pto_buf.dialect.table.dtypes import DtypeSets, alike, names, same
from pto_buf.dialect.table.families import (
    DST,
    LATELY_OPTIONAL_SCRATCH,
    OPTIONAL_SCRATCH,
    SRC,
    V_S_0,
    column_vector,
    row_vector,
    vector_forms,
)
from pto_buf.dialect.table.row import Check, Deduce, OpRow, Use
from pto_buf.dialect.table.scratch import for_column_sum, like
from pto_buf.dialect.table.vocabulary import Attr
from pto_buf.hw import Pipe
from pto_buf.tile import BLayout


def _check_rows(use: Use) -> None:
    src, dst = use.tile("src"), use.tile("dst")
    row_major("src")(use)
    unboxed("src", "dst")(use)
    require(
        dst.blayout is BLayout.ROW_MAJOR or dst.cols == 1,
        use,
        f"dst is col_major with {dst.cols} columns; one column, or row_major",
        "dst",
        LAYOUT,
    )
    if dst.valid == (0, 0):  # says that nothing is to be done
        return
    require(0 not in src.valid, use, f"src has valid extent {src.v_rows}x{src.v_cols}; it must not be empty", "src")
    require(
        agree((src.v_rows, 1), dst.valid),
        use,
        f"reduces {src.v_rows} rows to {fmt(dst.valid)}; must be one column of as many rows",
        "dst",
    )


def _check_scratch(use: Use) -> None:
    if "tmp" in use.operands and is_a2a3(use):
        same_dtype(use, "tmp", "src")
        at_least_bytes(use, "tmp", 32)


def _check_row_reduction(use: Use) -> None:
    _check_rows(use)
    _check_scratch(use)


def _reduction(
    mnemonic: str, dsl: str, dtypes: DtypeSets, check: Check, deduce: Deduce, flags: frozenset[tuple[Pipe, Pipe, int]]
) -> OpRow:
    """A reduction that works in a scratch tile like its source."""
    return OpRow(
        mnemonic,
        dsl,
        ins=(SRC, LATELY_OPTIONAL_SCRATCH),
        out=DST,
        forms=vector_forms(("src", "tmp", "dst"), ("src", "dst"), dtypes),
        check=check,
        deduce=deduce,
        scratch=like("src"),
        internal_flags=flags,
    )


def _row_reduction(mnemonic: str, dsl: str) -> OpRow:
    return _reduction(mnemonic, dsl, same(2, "i16 i32 f16 f32"), _check_row_reduction, row_vector(), V_S_0)


def _indices(text: str) -> DtypeSets:
    allowed = frozenset((name, index) for name in names(text) for index in ("i32", "si32", "ui32"))
    return {"a2a3": allowed, "a5": allowed}


def _index_columns(use: Use) -> int:
    """Columns of scratch for the places of the maxima of each repeat of the vector unit, and for the maxima."""
    src = use.tile("src")
    size = element_bytes(src)
    repeats, block = -(-known_valid(src)[1] * size // 256), 32 // size
    return (-(-2 * repeats // block) + -(-repeats // block)) * block


def _check_arg_rows(use: Use) -> None:
    not_empty("dst")(use)
    _check_row_reduction(use)
    src = use.tile("src")
    if "tmp" not in use.operands or not is_a2a3(use) or use.tile("tmp").valid == src.valid:
        return
    if known_valid(src)[1] * element_bytes(src) > 256:
        wide_enough(use, "tmp", _index_columns(use))


def _row_index(mnemonic: str, dsl: str) -> OpRow:
    return _reduction(mnemonic, dsl, _indices("i16 i32 f16 f32"), _check_arg_rows, row_vector("i32"), V_S_0)


def _check_columns(use: Use) -> None:
    src, dst = use.tile("src"), use.tile("dst")
    row_major("src", "dst", "tmp")(use)
    unboxed("src", "dst", "tmp")(use)
    if dst.valid == (0, 0):  # says that nothing is to be done
        return
    require(
        agree((1, src.v_cols), dst.valid),
        use,
        f"reduces {src.v_cols} columns to {fmt(dst.valid)}; must be one row of as many columns",
        "dst",
    )


def _column_reduction(mnemonic: str, dsl: str, a5: str) -> OpRow:
    return OpRow(
        mnemonic,
        dsl,
        ins=(SRC,),
        out=DST,
        forms=vector_forms(("src", "dst"), ("src", "dst"), same(2, "i16 i32 f16 f32", a5)),
        check=_check_columns,
        in_place=frozenset({"src"}),
        deduce=column_vector(),
    )


def _check_column_sum(use: Use) -> None:
    _check_columns(use)
    binary = use.attr("isBinary") == "true"
    if "tmp" not in use.operands:
        return
    require("isBinary" in use.attrs, use, "tmp is only for isBinary", "tmp", "scratch")
    same_dtype(use, "tmp", "src")
    if binary:
        rows, cols = known_valid(use.tile("src"))
        at_least_bytes(use, "tmp", -(-rows // 2) * cols * element_bytes(use.tile("src")))


def _check_arg_columns(use: Use) -> None:
    src, dst = use.tile("src"), use.tile("dst")
    row_major("src", "dst")(use)
    unboxed("src", "dst")(use)
    require(
        agree((1, src.v_cols), dst.valid),
        use,
        f"reduces {src.v_cols} columns to {fmt(dst.valid)}; must be one row of as many columns",
        "dst",
    )
    _check_scratch(use)
    if "tmp" in use.operands and is_a2a3(use) and use.tile("tmp").valid != src.valid:
        wide_enough(use, "tmp", _index_columns(use))


def _column_index(mnemonic: str, dsl: str) -> OpRow:
    dtypes = _indices("i8 i16 i32 f16 bf16 f32")
    return _reduction(mnemonic, dsl, dtypes, _check_arg_columns, column_vector("i32"), frozenset())


_ALL = "i8 i16 i32 f16 bf16 f32"

REDUCE_ROWS: tuple[OpRow, ...] = (
    _row_reduction("trowmax", "row_max"),
    _row_reduction("trowmin", "row_min"),
    _row_reduction("trowsum", "row_sum"),
    _row_reduction("trowprod", "row_prod"),
    _row_index("trowargmax", "row_argmax"),
    _row_index("trowargmin", "row_argmin"),
    _column_reduction("tcolmax", "col_max", _ALL),
    _column_reduction("tcolmin", "col_min", _ALL),
    _column_reduction("tcolprod", "col_prod", "i16 i32 f16 bf16 f32"),
    OpRow(
        "tcolsum",
        "col_sum",
        ins=(SRC, OPTIONAL_SCRATCH),
        out=DST,
        forms=vector_forms(
            ("src", "tmp", "dst"),
            ("src", "dst"),
            {"a2a3": alike(2, "i16 i32 f16 f32"), "a5": alike(2, _ALL)},
        ),
        check=_check_column_sum,
        attrs=(Attr("isBinary", "bool"),),
        inner_attrs=True,
        in_place=frozenset({"src"}),
        deduce=column_vector(),
        scratch=for_column_sum,
    ),
    _column_index("tcolargmax", "col_argmax"),
    _column_index("tcolargmin", "col_argmin"),
)
