"""Rows of the ops that move tiles between the on-chip buffers, whole or a window of them."""

from collections.abc import Mapping
from dataclasses import replace

from pto_buf.dialect.table.checks import (
    LAYOUT,
    agree,
    check_matrix_layout,
    element_bytes,
    fmt,
    is_a2a3,
    known_valid,
    require,
)
from pto_buf.dialect.table.dtypes import DtypeSets, alike, exactly, on_both, pairs, same
from pto_buf.dialect.table.families import DST, NO_SCALE, SCALE, SRC, V_S_0
from pto_buf.dialect.table.memory import LOW_PRECISION, NUMBERS, QUANTISED, layout
from pto_buf.dialect.table.row import Form, Kind, OldSpelling, Operand, OpRow, Request, Role, TableError, Use, has
from pto_buf.dialect.table.scratch import LIBRARY_SCRATCH
from pto_buf.dialect.table.vocabulary import Attr
from pto_buf.hw import Pipe, Space
from pto_buf.tile import BLayout, SLayout, TileSpec, canonical_tile

_MATRIX = same(2, "i8 f16 bf16 f32", "i8 f16 bf16 f32 f8E4M3FN f8E5M2 hif8 f4E1M2x2 f4E2M1x2")
_CAST = {
    "a2a3": exactly("f32 f16", "f32 bf16"),
    "a5": exactly("f32 f16", "f32 bf16", "f32 f32") | pairs("i32 i32"),
}
_ONLY_A5: DtypeSets = {"a5": _CAST["a5"]}
_QUANTISED_A5: DtypeSets = {"a5": QUANTISED["a5"]}
_FP = Operand("fp", optional=True, apart=True)
_OLD_TABLE = ("src", "fp", "row", "col")
_RELU = Attr("reluPreMode", "relu_pre_mode", "no_relu")
_TO_VEC = Attr("accToVecMode", "acc_to_vec_mode")
_NZ = (BLayout.COL_MAJOR, SLayout.ROW_MAJOR)
_ND = (BLayout.ROW_MAJOR, SLayout.NONE_BOX)


def _path(src: Space, dst: Space, pipe: Pipe, dtypes: DtypeSets) -> Form:
    return Form({"src": src, "dst": dst}, (pipe,), ("src", "dst"), dtypes)


def _scaled(dst: Space, dtypes: DtypeSets) -> Form:
    """An accumulator leaves through a table of scales."""
    spaces = {"src": Space.ACC, "dst": dst, "fp": Space.SCALING}
    return Form(spaces, (Pipe.FIX,), ("src", "dst"), dtypes, needs=("fp",))


def _check_accumulator(use: Use) -> None:
    """What leaves an accumulator, and how."""
    src, dst = use.tile("src"), use.tile("dst")
    relu, mode = use.attr("reluPreMode"), use.attrs.get("accToVecMode")
    require(
        relu in (None, "no_relu") or src.space is Space.ACC,
        use,
        f"reluPreMode {relu} is for accumulators, src is in {src.space}",
    )
    require(
        mode is None or (src.space is Space.ACC and dst.space is Space.VEC),
        use,
        f"accToVecMode {mode} is for acc to vec, found {src.space} to {dst.space}",
    )
    scaled = "fp" in use.operands or "preQuantScalar" in use.operands
    require(
        not (scaled and mode is not None and mode.startswith("dual")),
        use,
        f"accToVecMode {mode} does not go with a scale; one of the single modes does",
    )
    if src.space is not Space.ACC:
        return
    require(
        layout(src) == _NZ,
        use,
        f"src has layout {src.blayout}/{src.slayout}, must be col_major/row_major",
        "src",
        LAYOUT,
    )
    if dst.space is Space.MAT and is_a2a3(use):
        require(
            (*layout(dst), dst.fractal) == (*_NZ, 512),
            use,
            f"dst has layout {dst.blayout}/{dst.slayout}/{dst.fractal}, must be col_major/row_major/512",
            "dst",
            LAYOUT,
        )


def _check_table(use: Use) -> None:
    """A mat row that fills the bias or the scaling table."""
    dst = use.tile("dst")
    line = {Space.BIAS: 64, Space.SCALING: 128}.get(dst.space)
    if line is None or not is_a2a3(use):
        return
    require(dst.rows == 1, use, f"dst in {dst.space} has {dst.rows} rows, must be one", "dst")
    size = dst.cols * element_bytes(dst)
    require(size % line == 0, use, f"dst in {dst.space} is {size} bytes, must be a multiple of {line}", "dst")


def _check_move(use: Use) -> None:
    src, dst = use.tile("src"), use.tile("dst")
    if is_a2a3(use) or src.space is Space.MAT:
        require(
            src.shape == dst.shape,
            use,
            f"moves {fmt(src.shape)} into {fmt(dst.shape)}; they must be equal (a window needs textract)",
            "dst",
        )
    if src.space is Space.VEC and dst.space is Space.VEC:
        require(
            agree(src.valid, dst.valid),
            use,
            f"src has valid extent {fmt(src.valid)}, dst {fmt(dst.valid)}; they must be equal",
            "dst",
        )
    check_matrix_layout(use, "dst")
    _check_table(use)
    _check_accumulator(use)


def _move_result(use: Use, request: Request) -> TileSpec:
    src = use.tile("src")
    space = request.space or Space.VEC
    result = canonical_tile(space, src.rows, src.cols, request.dtype or src.dtype, use.target)
    return result.with_valid(*src.valid)


def _in_bounds(use: Use, inner: TileSpec, outer: TileSpec, outer_name: str) -> None:
    for name, size, extent in (("row", inner.rows, outer.rows), ("col", inner.cols, outer.cols)):
        start = use.constants.get(name)
        if start is None:
            continue
        require(
            start >= 0 and start + size <= extent,
            use,
            f"window {name}s [{start}, {start + size}) leave the {extent} of {outer_name}",
            outer_name,
        )


def _check_extract(use: Use) -> None:
    src, dst = use.tile("src"), use.tile("dst")
    require(
        dst.rows <= src.rows and dst.cols <= src.cols,
        use,
        f"a window of {fmt(dst.shape)} does not fit a source of {fmt(src.shape)}",
        "src",
    )
    _in_bounds(use, dst, src, "src")
    check_matrix_layout(use, "dst")
    if src.space is Space.MAT and src.blayout is BLayout.COL_MAJOR:
        require(
            src.slayout is SLayout.ROW_MAJOR,
            use,
            f"src is col_major/{src.slayout}; col_major/row_major or a row_major blayout",
            "src",
            LAYOUT,
        )
    if src.space is Space.VEC and dst.space is Space.VEC and not is_a2a3(use):
        for name in ("src", "dst"):
            require(layout(use.tile(name)) == _ND, use, f"{name} must be row_major/none_box on a5", name, LAYOUT)
    _check_accumulator(use)


def _extract_result(use: Use, request: Request) -> TileSpec:
    src = use.tile("src")
    if request.shape is None or request.space is None:
        raise TableError(f"'{use.row.mnemonic}': the window's shape and space must be given", "shape-or-dtype")
    result = canonical_tile(request.space, *request.shape, request.dtype or src.dtype, use.target)
    return result if request.valid is None else result.with_valid(*request.valid)


def _check_insert(use: Use) -> None:
    src, dst = use.tile("src"), use.tile("dst")
    require(
        src.rows <= dst.rows and src.cols <= dst.cols,
        use,
        f"a window of {fmt(src.shape)} does not fit a destination of {fmt(dst.shape)}",
        "dst",
    )
    _in_bounds(use, src, dst, "dst")
    mode = use.attrs.get("tinsertMode")
    require(
        mode is None or (src.space is Space.VEC and dst.space is Space.MAT and layout(src) == _NZ),
        use,
        f"tinsertMode {mode} is for a col_major/row_major tile from vec to mat",
    )
    if dst.space is Space.MAT:
        require(
            layout(dst) == _NZ,
            use,
            f"dst has layout {dst.blayout}/{dst.slayout}, must be col_major/row_major",
            "dst",
            LAYOUT,
        )
    if not is_a2a3(use) and src.space is Space.VEC:
        layouts = (_ND, _NZ) if dst.space is Space.MAT else (layout(dst),)
        require(
            layout(src) in layouts and layout(src) in (_ND, _NZ),
            use,
            f"src has layout {src.blayout}/{src.slayout}, dst {dst.blayout}/{dst.slayout}; "
            "row_major/none_box or col_major/row_major, and the same where both are in vec",
            "src",
            LAYOUT,
        )
    _check_accumulator(use)


def _window_bytes(outer: TileSpec, rows: int, cols: int, row: int | None, col: int | None) -> tuple[int, int] | None:
    """The bytes from the first to the last element of a window of an unboxed row_major tile, None if not known."""
    if outer.boxed or outer.blayout is not BLayout.ROW_MAJOR or row is None:
        return None
    size = element_bytes(outer)
    first_col, last_col = (0, outer.cols) if col is None else (col, col + cols)
    return (row * outer.cols + first_col) * size, ((row + rows - 1) * outer.cols + last_col) * size


def _extract_window(use: Use, name: str) -> tuple[int, int] | None:
    if name != "src":
        return None
    dst = use.tile("dst")
    return _window_bytes(use.tile("src"), dst.rows, dst.cols, use.constants.get("row"), use.constants.get("col"))


def _widened(use: Use) -> tuple[int, int] | None:
    """Bytes that go into boxes by way of wider numbers: an odd or unknown count of them in a row, on a2a3."""
    src, dst = use.tile("src"), use.tile("dst")
    boxed = src.space is Space.VEC and dst.space is Space.VEC and (dst.blayout, dst.slayout) == _NZ
    even = dst.v_cols is not None and dst.v_cols % 2 == 0
    return LIBRARY_SCRATCH if is_a2a3(use) and boxed and element_bytes(src) == 1 and not even else None


def _insert_window(use: Use, name: str) -> tuple[int, int] | None:
    if name != "dst":
        return None
    src = use.tile("src")
    return _window_bytes(use.tile("dst"), src.rows, src.cols, use.constants.get("row"), use.constants.get("col"))


_ROW, _COL = Operand("row", Kind.INDEX), Operand("col", Kind.INDEX)
_BIAS: Mapping[str, frozenset[tuple[str, ...]]] = on_both(exactly("f32 f32", "f16 f32", "bf16 f32") | alike(2, "i32"))
_SCALES = same(2, "i64", "i64 f8E8M0")
_VEC_INSERT = "i8 i32 f16 bf16 f32 f8E4M3FN f8E5M2 hif8 f4E1M2x2 f4E2M1x2"


def _check_exponents(use: Use) -> None:
    """Exponents in rows become exponents in the boxes that the left buffer's scales want."""
    src, tmp, dst = use.tile("src"), use.tile("tmp"), use.tile("dst")
    for name, tile, wanted in (("src", src, _ND), ("dst", dst, (BLayout.ROW_MAJOR, SLayout.ROW_MAJOR))):
        require(
            layout(tile) == wanted,
            use,
            f"{name} has layout {tile.blayout}/{tile.slayout}, must be {wanted[0]}/{wanted[1]}",
            name,
            LAYOUT,
        )
    (rows, cols), (d_rows, d_cols) = known_valid(src), known_valid(dst)
    require(rows * cols == d_rows * d_cols, use, f"moves {rows}x{cols} exponents into {d_rows}x{d_cols}", "dst")
    if use.attr("grpAxis") == "axis0":
        require(rows >= 2 and rows % 2 == 0, use, f"src has {rows} valid rows, must be even", "src")
        require(cols % 16 == 0, use, f"src has {cols} valid columns, must be a multiple of 16", "src")
        return
    require(d_cols % 2 == 0, use, f"dst has {d_cols} valid columns, must be even", "dst")
    padded = -(-d_rows // 16) * 16 * d_cols
    for name, tile, least in (("src", src, padded), ("dst", dst, padded), ("tmp", tmp, 64 + -(-d_rows // 16) * d_cols)):
        require(tile.footprint >= least, use, f"{name} holds {tile.footprint} bytes, needs {least}", name)


def _exponents_result(use: Use, request: Request) -> TileSpec:
    src = use.tile("src")
    if request.shape is None:
        raise TableError(f"'{use.row.mnemonic}': the result's shape must be given", "shape-or-dtype")
    rows, cols = request.shape
    return TileSpec(Space.VEC, rows, cols, src.dtype, rows, cols, BLayout.ROW_MAJOR, SLayout.ROW_MAJOR, 32).with_valid(
        *(request.valid or request.shape)
    )


MOVE_ROWS: tuple[OpRow, ...] = (
    OpRow(
        "tmov",
        "move_zz",
        ins=(SRC, Operand("tmp", role=Role.SCRATCH, space=Space.VEC, apart=True)),
        out=DST,
        forms=(
            Form(
                dict.fromkeys(("src", "tmp", "dst"), Space.VEC),
                (Pipe.V,),
                ("src", "tmp", "dst"),
                {"a5": exactly(*(" ".join((name,) * 3) for name in ("ui8", "hif8", "f8E8M0")))},
            ),
        ),
        check=_check_exponents,
        attrs=(Attr("grpAxis", "mx_group_axis", "axis1"),),
        deduce=_exponents_result,
        generic=("src", "dst", "tmp", ""),
        since=(0, 59),
    ),
    OpRow(
        "tmov",
        "move",
        ins=(SRC, _FP, SCALE),
        out=DST,
        forms=(
            _path(Space.MAT, Space.LEFT, Pipe.MTE1, _MATRIX),
            _path(Space.MAT, Space.RIGHT, Pipe.MTE1, _MATRIX),
            _path(Space.MAT, Space.BIAS, Pipe.MTE1, _BIAS),
            # Which pipe fills the scaling table differs by source: MTE1 up to v0.49 and for MX scales, FIX else.
            Form({"src": Space.MAT, "dst": Space.SCALING}, (Pipe.MTE1, Pipe.FIX), ("src", "dst"), _SCALES),
            _path(Space.VEC, Space.VEC, Pipe.V, same(2, NUMBERS, f"{NUMBERS} {LOW_PRECISION}")),
            _path(Space.VEC, Space.MAT, Pipe.V, {"a5": alike(2, f"{NUMBERS} {LOW_PRECISION}")}),
            _path(Space.ACC, Space.MAT, Pipe.FIX, _CAST),
            _path(Space.ACC, Space.VEC, Pipe.FIX, _ONLY_A5),
            _scaled(Space.MAT, QUANTISED),
            _scaled(Space.VEC, _QUANTISED_A5),
        ),
        check=_check_move,
        attrs=(_TO_VEC, _RELU),
        deduce=_move_result,
        refused=NO_SCALE,
        generic=("src", "dst", "fp", "preQuantScalar"),
        old=(OldSpelling("tmov.fp", (0, 58), ("src", "fp")),),
    ),
    OpRow(
        "textract",
        "extract",
        ins=(SRC, _ROW, _COL, Operand("fp", optional=True, keyword="fp"), SCALE),
        out=DST,
        forms=(
            _path(Space.MAT, Space.LEFT, Pipe.MTE1, _MATRIX),
            _path(Space.MAT, Space.RIGHT, Pipe.MTE1, _MATRIX),
            _path(Space.MAT, Space.SCALING, Pipe.MTE1, {"a5": alike(2, "i8 f16 bf16 f32 f8E4M3FN f8E5M2 f8E8M0 hif8")}),
            _path(Space.VEC, Space.VEC, Pipe.V, _MATRIX),
            _path(Space.VEC, Space.MAT, Pipe.FIX, {"a5": _MATRIX["a5"]}),
            replace(_path(Space.ACC, Space.MAT, Pipe.FIX, _CAST), since=(0, 49)),
            replace(_path(Space.ACC, Space.VEC, Pipe.FIX, _ONLY_A5), since=(0, 49)),
            _scaled(Space.MAT, QUANTISED),
            _scaled(Space.VEC, _QUANTISED_A5),
        ),
        check=_check_extract,
        attrs=(replace(_TO_VEC, since=(0, 49)), replace(_RELU, since=(0, 49))),
        deduce=_extract_result,
        window=_extract_window,
        hidden=_widened,
        internal_flags=V_S_0,
        refused=NO_SCALE,
        generic=("src", "row", "col", "dst", "fp", "preQuantScalar"),
        old=(OldSpelling("textract_fp", (0, 58), _OLD_TABLE, has("fp")),),
    ),
    OpRow(
        "tinsert",
        "insert",
        ins=(
            SRC,
            _ROW,
            _COL,
            Operand("fp", optional=True, keyword="fp"),
            replace(SCALE, apart=False, keyword="pre_quant"),
        ),
        out=Operand("dst", role=Role.UPDATE),
        forms=(
            _path(Space.ACC, Space.MAT, Pipe.FIX, _CAST),
            _path(Space.ACC, Space.VEC, Pipe.FIX, _ONLY_A5),
            _path(Space.VEC, Space.VEC, Pipe.V, same(2, "i8 f16 bf16 f32", _VEC_INSERT)),
            _path(Space.VEC, Space.MAT, Pipe.MTE3, {"a5": alike(2, _VEC_INSERT)}),
            _scaled(Space.MAT, QUANTISED),
            _scaled(Space.VEC, _QUANTISED_A5),
        ),
        check=_check_insert,
        attrs=(_TO_VEC, _RELU, Attr("tinsertMode", "tinsert_mode")),
        window=_insert_window,
        internal_flags=V_S_0,
        refused=NO_SCALE,
        generic=("src", "row", "col", "dst", "fp", "preQuantScalar"),
        old=(OldSpelling("tinsert_fp", (0, 58), _OLD_TABLE, has("fp")),),
    ),
)
