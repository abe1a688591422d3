"""Rows of quantisation, its reverse, histograms, partial arg-reductions, and the block-scaled products of a5."""

from pto_buf.dialect.table.checks import (
    LAYOUT,
    agree,
    check_matrix_layout,
    fmt,
    is_a2a3,
    known_valid,
    require,
    row_major,
    same_shape,
    same_valid,
    unboxed,
)
from pto_buf.dialect.table.cube import check_accumulator_layout
from pto_buf.dialect.table.dtypes import DtypeSets, names, on_both, pairs
from pto_buf.dialect.table.families import DST, SRC, V_S_0, asked, vector_forms
from pto_buf.dialect.table.row import Form, Operand, OpRow, Request, Role, Use
from pto_buf.dialect.table.scratch import like
from pto_buf.dialect.table.vocabulary import Attr
from pto_buf.hw import Pipe, Space
from pto_buf.tile import FP8, BLayout, SLayout, TileSpec, canonical_tile

# --- to and from 8 bits ------------------------------------------------------------------------------------------


def _check_parameter(use: Use, name: str) -> None:
    """A scale or an offset for each row."""
    if name not in use.operands or not is_a2a3(use):
        return
    tile, dst = use.tile(name), use.tile("dst")
    require(tile.blayout is BLayout.COL_MAJOR, use, f"{name} is {tile.blayout}, must be col_major", name, LAYOUT)
    require(
        agree(tile.valid, (dst.v_rows, 1)),
        use,
        f"{name} has valid extent {fmt(tile.valid)}, must be {fmt((dst.v_rows, 1))}",
        name,
    )


def _check_quant(use: Use) -> None:
    kind = use.attrs.get("quant_type")
    require(
        kind in ("INT8_SYM", "INT8_ASYM"),
        use,
        f"quant_type is {kind}, must be INT8_SYM or INT8_ASYM (tquant.mx does the others)",
        kind="attribute",
    )
    has_offset = "offset" in use.operands
    require(
        has_offset == (kind == "INT8_ASYM"),
        use,
        f"quant_type {kind} {'takes no' if has_offset else 'needs an'} offset",
        kind="attribute",
    )
    same_valid("src", "dst")(use)
    if is_a2a3(use):
        row_major("src", "dst", "tmp")(use)
        same_shape("src", "tmp")(use)
        same_valid("src", "tmp")(use)
    _check_parameter(use, "fp")
    _check_parameter(use, "offset")


def _check_dequant(use: Use) -> None:
    if is_a2a3(use):
        row_major("src", "dst")(use)


def _quant_result(use: Use, request: Request) -> TileSpec:
    src = use.tile("src")
    result = canonical_tile(Space.VEC, src.rows, src.cols, request.dtype or "i8", use.target)
    return result.with_valid(*src.valid)


def _quant_scratch(use: Use) -> TileSpec | None:
    return like("src", "f32")(use) if is_a2a3(use) else None


def _dequant_result(use: Use, request: Request) -> TileSpec:
    src = use.tile("src")
    return canonical_tile(Space.VEC, src.rows, src.cols, "f32", use.target).with_valid(*src.valid)


_EIGHT_BIT = on_both(frozenset(("f32", "f32", *extra, dst) for extra in ((), ("f32",)) for dst in ("i8", "si8", "ui8")))


def _check_quant_blocks(use: Use) -> None:
    kind = use.attrs.get("quant_type")
    require(
        kind in ("MXFP8", "MXFP4_E2M1"),
        use,
        f"quant_type is {kind}, must be MXFP8 or MXFP4_E2M1 (tquant does the others)",
        kind="attribute",
    )
    axis = use.attr("grpAxis") or "axis1"
    grouped = use.tile("src").valid[0 if axis == "axis0" else 1]
    require(
        grouped is None or grouped % 32 == 0,
        use,
        f"src has {grouped} valid {'rows' if axis == 'axis0' else 'columns'}, must be a multiple of 32 for {axis}",
        "src",
    )
    dtype = use.tile("dst").dtype
    wanted = {"MXFP8": ("i8", "si8", "ui8"), "MXFP4_E2M1": ("f4E2M1x2",)}[kind or "MXFP8"]
    require(dtype in wanted, use, f"dst is {dtype}, must be {' or '.join(wanted)} for {kind}", "dst")
    src, dst = use.tile("src"), use.tile("dst")
    packed = 2 if dst.dtype.endswith("x2") else 1
    made = (dst.v_rows, None if dst.v_cols is None else dst.v_cols * packed)
    require(
        agree(src.valid, made),
        use,
        f"src has valid extent {fmt(src.valid)}, dst {fmt(made)} elements; they must be equal",
        "dst",
    )
    require(
        ("storeMode" in use.attrs) == ("exp_zz" in use.operands),
        use,
        "storeMode goes with a fifth output, exp_zz",
        kind="attribute",
    )
    require(
        use.attr("interleave") != "true" or use.attr("grpAxis") == "axis0",
        use,
        "interleave is for grpAxis axis0",
        kind="attribute",
    )


def _block_dtypes() -> DtypeSets:
    """Source, result, exponents, maxima, scales: what the maxima and scales are in follows the source."""
    rows = frozenset(
        (src, dst, exponent, src, src)
        for src in ("f32", "f16", "bf16")
        for dst in ("f4E2M1x2", *names("i8"))
        for exponent in names("i8")
    )
    return {"a5": rows}


# --- counting ----------------------------------------------------------------------------------------------------


def _check_histogram(use: Use) -> None:
    src, idx, dst = use.tile("src"), use.tile("idx"), use.tile("dst")
    row_major("src", "dst")(use)
    unboxed("src", "dst")(use)
    old = use.attrs.get("isMSB")
    byte = int(use.attr("byte") or "1") if old is None else int(old == "true")
    narrow = src.dtype.endswith("16")
    require(old is None or "byte" not in use.attrs, use, "isMSB is the old form of byte; give one", kind="attribute")
    require(
        0 <= byte <= (1 if narrow else 3), use, f"byte is {byte}, must be 0 to {1 if narrow else 3}", kind="attribute"
    )
    require(
        agree((src.v_rows,), (dst.v_rows,)) and src.rows == dst.rows,
        use,
        f"src is {fmt(src.shape)} (valid {fmt(src.valid)}), dst {fmt(dst.shape)} (valid {fmt(dst.valid)}); "
        "they must have the same rows",
        "dst",
    )
    if narrow:
        unboxed("idx")(use)
        require(
            agree((src.v_rows,), (idx.v_rows,)),
            use,
            f"idx has {idx.v_rows} valid rows, src {src.v_rows}; they must be equal",
            "idx",
        )
        require(idx.blayout is BLayout.COL_MAJOR, use, f"idx is {idx.blayout}, must be col_major", "idx", LAYOUT)
        require(idx.cols == 1, use, f"idx has {idx.cols} columns, must be one", "idx")


def _histogram_dtypes() -> DtypeSets:
    rows = frozenset((src, idx, dst) for src in names("i16 i32") for idx in names("i8") for dst in names("i32"))
    return {"a5": rows}


# --- partial arg-reductions --------------------------------------------------------------------------------------


def _check_part_arg(use: Use) -> None:
    for values, indices in (("lhs", "lhsIdx"), ("rhs", "rhsIdx"), ("dst", "dstIdx")):
        same_valid(values, indices)(use)
    covers = any(agree(use.tile(name).valid, use.tile("dst").valid) for name in ("lhs", "rhs"))
    require(covers, use, "neither source covers the valid extent of dst; one of them must", "dst")


def _part_arg(mnemonic: str, dsl: str) -> OpRow:
    tiles = ("lhs", "rhs", "lhsIdx", "rhsIdx", "dst", "dstIdx")
    rows = frozenset((name, name, index, index, name, index) for name in ("f16", "f32") for index in names("i16 i32"))
    return OpRow(
        mnemonic,
        dsl,
        ins=tuple(Operand(name) for name in tiles[:4]),
        out=DST,
        more_outs=(Operand("dstIdx", role=Role.WRITE),),
        forms=vector_forms(tiles, tiles, on_both(rows)),
        check=_check_part_arg,
        deduce=asked(like_name="lhs"),
    )


# --- block-scaled products ---------------------------------------------------------------------------------------


def _check_scale(use: Use, name: str, wanted: tuple[int, int], layout: tuple[BLayout, SLayout]) -> None:
    tile = use.tile(name)
    found = known_valid(tile)
    require(found == wanted, use, f"{name} is {fmt(found)}, must be {fmt(wanted)}: one scale for 32 elements", name)
    if use.row.mnemonic.startswith("tmatmul"):
        require(
            (tile.blayout, tile.slayout, tile.fractal) == (*layout, 32),
            use,
            f"{name} has layout {tile.blayout}/{tile.slayout}/{tile.fractal}, must be {layout[0]}/{layout[1]}/32",
            name,
            LAYOUT,
        )


def _check_scaled_product(use: Use) -> None:
    lhs, rhs, dst = use.tile("lhs"), use.tile("rhs"), use.tile("dst")
    (m, k), (k2, n), (dm, dn) = (known_valid(tile) for tile in (lhs, rhs, dst))
    require(k == k2, use, f"contracts {k} columns of lhs against {k2} rows of rhs", "rhs")
    require((m, n) == (dm, dn), use, f"the product is {m}x{n}, the accumulator {dm}x{dn}", "dst")
    for name, extent in (("rows", m), ("depth", k), ("columns", n)):
        require(1 <= extent <= 4095, use, f"{name} {extent}; 1 to 4095")
    require(lhs.cols % 64 == 0, use, f"lhs has {lhs.cols} columns, must be a multiple of 64", "lhs")
    check_matrix_layout(use, "lhs")
    check_matrix_layout(use, "rhs")
    check_accumulator_layout(use, "dst")
    blocks = -(-k // 32)
    _check_scale(use, "lhs_scale", (m, blocks), (BLayout.ROW_MAJOR, SLayout.ROW_MAJOR))
    _check_scale(use, "rhs_scale", (blocks, n), (BLayout.COL_MAJOR, SLayout.COL_MAJOR))
    if use.row.mnemonic.startswith("tgemv"):
        require(m == 1, use, f"lhs has {m} valid rows, must have one", "lhs")
    if "bias" in use.operands:
        bias = use.tile("bias")
        require(
            bias.rows == 1 and known_valid(bias)[1] == n and bias.dtype == "f32",
            use,
            f"bias is {fmt(bias.shape)} of {bias.dtype}, must be 1x{n} of f32",
            "bias",
        )


def _scaled_dtypes() -> DtypeSets:
    small = FP8
    scales = ("f8E8M0", "ui8", "i8", "f16")
    rows = {(a, s, b, s, "f32") for a in small for b in small for s in scales}
    packed = ("f4E1M2x2", "f4E2M1x2")
    rows |= {(a, s, b, s, "f32") for a in packed for b in packed for s in scales}  # the library reads bytes
    return {"a5": frozenset(rows)}


def _scaled_result(use: Use, request: Request) -> TileSpec:
    lhs, rhs = use.tile("lhs"), use.tile("rhs")
    return canonical_tile(Space.ACC, lhs.rows, rhs.cols, "f32", use.target).with_valid(lhs.v_rows, rhs.v_cols)


def _accumulator(use: Use, request: Request) -> TileSpec:
    return use.tile("acc")


_SCALED_INS = (Operand("lhs"), Operand("lhs_scale"), Operand("rhs"), Operand("rhs_scale"))
_SCALED_NAMES = ("lhs", "lhs_scale", "rhs", "rhs_scale", "dst")


def _scaled_forms(**extra: Space) -> tuple[Form, ...]:
    spaces = {
        "lhs": Space.LEFT,
        "lhs_scale": Space.SCALING,
        "rhs": Space.RIGHT,
        "rhs_scale": Space.SCALING,
        "dst": Space.ACC,
        **extra,
    }
    return (Form(spaces, (Pipe.M,), _SCALED_NAMES, _scaled_dtypes()),)


def _scaled_family(mnemonic: str, dsl: str) -> tuple[OpRow, OpRow, OpRow]:
    phase = (Attr("accPhase", "acc_phase", "unspecified"),)
    return (
        OpRow(
            mnemonic,
            dsl,
            ins=_SCALED_INS,
            out=DST,
            forms=_scaled_forms(),
            check=_check_scaled_product,
            attrs=phase,
            deduce=_scaled_result,
        ),
        OpRow(
            f"{mnemonic}.acc",
            f"{dsl}_acc",
            ins=(Operand("acc"), *_SCALED_INS),
            out=Operand("dst", role=Role.UPDATE),
            forms=_scaled_forms(acc=Space.ACC),
            check=_check_scaled_product,
            attrs=phase,
            in_place=frozenset({"acc"}),
            accumulates="acc",
            deduce=_accumulator,
        ),
        OpRow(
            f"{mnemonic}.bias",
            f"{dsl}_bias",
            ins=(*_SCALED_INS, Operand("bias")),
            out=DST,
            forms=_scaled_forms(bias=Space.BIAS),
            check=_check_scaled_product,
            attrs=phase,
            deduce=_scaled_result,
        ),
    )


QUANTISE_ROWS: tuple[OpRow, ...] = (
    OpRow(
        "tquant",
        "quant",
        ins=(SRC, Operand("fp"), Operand("offset", optional=True)),
        out=DST,
        more_outs=(Operand("tmp", role=Role.SCRATCH, optional=True),),
        generic=("src", "fp", "offset", "tmp", "dst"),
        forms=vector_forms(("src", "fp", "offset", "tmp", "dst"), ("src", "fp", "offset", "dst"), _EIGHT_BIT),
        check=_check_quant,
        attrs=(Attr("quant_type", "quant_type", required=True),),
        deduce=_quant_result,
        scratch=_quant_scratch,
    ),
    OpRow(
        "tquant.mx",
        "quant_mx",
        ins=(SRC,),
        out=DST,
        more_outs=(
            Operand("exp", role=Role.WRITE),
            Operand("max", role=Role.WRITE),
            Operand("scaling", role=Role.WRITE),
            Operand("exp_zz", role=Role.WRITE, optional=True, since=(0, 49)),
        ),
        forms=vector_forms(
            ("src", "dst", "exp", "max", "scaling", "exp_zz"),
            ("src", "dst", "exp", "max", "scaling"),
            _block_dtypes(),
        ),
        check=_check_quant_blocks,
        attrs=(
            Attr("quant_type", "quant_type", required=True),
            Attr("quantScaleAlg", "quant_scale_alg", "ocp", since=(0, 49)),
            Attr("grpAxis", "mx_group_axis", "axis1", since=(0, 59)),
            Attr("interleave", "bool", "false", since=(0, 59)),
            Attr("storeMode", "vec_store_mode", since=(0, 49)),
        ),
        deduce=asked(like_name="src"),
    ),
    OpRow(
        "tdequant",
        "dequant",
        ins=(SRC, Operand("scale"), Operand("offset")),
        out=DST,
        forms=vector_forms(
            ("src", "scale", "offset", "dst"),
            ("src", "scale", "offset", "dst"),
            on_both(pairs("i8 f32 f32 f32", "i16 f32 f32 f32")),
        ),
        check=_check_dequant,
        deduce=_dequant_result,
        internal_flags=V_S_0,
    ),
    OpRow(
        "thistogram",
        "histogram",
        ins=(SRC, Operand("idx")),
        out=DST,
        forms=vector_forms(("src", "idx", "dst"), ("src", "idx", "dst"), _histogram_dtypes()),
        check=_check_histogram,
        attrs=(Attr("byte", "int", "1"), Attr("isMSB", "bool")),
        deduce=asked(),
    ),
    _part_arg("tpartargmax", "part_argmax"),
    _part_arg("tpartargmin", "part_argmin"),
    *_scaled_family("tmatmul.mx", "matmul_mx"),
    *_scaled_family("tgemv.mx", "gemv_mx"),
)
