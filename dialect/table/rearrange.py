"""Rows of the ops that put elements elsewhere: transpose, padding, concatenation, ramps, triangles, single elements."""

from pto_buf.dialect.table.checks import (
    LAYOUT,
    agree,
    at_least_bytes,
    element_bytes,
    fmt,
    is_a2a3,
    require,
    row_major,
    same_dtype,
    unboxed,
)
from pto_buf.dialect.table.dtypes import DtypeSets, alike, names, on_both, same
from pto_buf.dialect.table.families import (
    DST,
    LATELY_OPTIONAL_SCRATCH,
    OPTIONAL_SCRATCH,
    SRC,
    V_S_0,
    asked,
    vector_forms,
)
from pto_buf.dialect.table.row import Form, Kind, OldSpelling, Operand, OpRow, Request, Role, TableError, Use
from pto_buf.dialect.table.scratch import for_ramp, for_transpose
from pto_buf.dialect.table.vocabulary import SCRATCH_DEMANDED, Attr
from pto_buf.hw import Pipe, Space
from pto_buf.tile import DTYPE_BITS, FP8, BLayout, TileSpec, aligned_tile

_ALL = "i8 i16 i32 f16 bf16 f32"
_CONCAT_FLAGS = V_S_0 | {(Pipe.MTE2, Pipe.S, 0), (Pipe.S, Pipe.MTE3, 0)}


def _check_transpose(use: Use) -> None:
    src, dst = use.tile("src"), use.tile("dst")
    require(
        agree(src.valid, (dst.v_cols, dst.v_rows)),
        use,
        f"transposes a valid extent of {fmt(src.valid)} into {fmt(dst.valid)}; one must be the other turned around",
        "dst",
    )
    if "tmp" in use.operands:
        same_dtype(use, "tmp", "src")
    if is_a2a3(use):
        row_major("src")(use)
        if "tmp" in use.operands:
            at_least_bytes(use, "tmp", 32)
        return
    for name in ("src", "dst"):
        tile = use.tile(name)
        major = tile.cols if tile.blayout is BLayout.ROW_MAJOR else tile.rows
        size = major * element_bytes(tile)
        require(size % 32 == 0, use, f"{name} has lines of {size} bytes, must be a multiple of 32 on a5", name, LAYOUT)


def _transpose_result(use: Use, request: Request) -> TileSpec:
    src = use.tile("src")
    result = aligned_tile(Space.VEC, src.cols, src.rows, src.dtype, use.target)
    return result.with_valid(src.v_cols, src.v_rows)


def _check_fill(use: Use) -> None:
    src, dst = use.tile("src"), use.tile("dst")
    require(
        src.rows <= dst.rows and src.cols <= dst.cols,
        use,
        f"dst is {fmt(dst.shape)}, src {fmt(src.shape)}; dst cannot be smaller",
        "dst",
    )
    if dst.space is Space.MAT:
        require(src == dst, use, "in mat, src and dst must have one type", "dst")
    word = use.attrs.get("padValue")
    require(
        word is None or (dst.space is Space.MAT and ("null", "zero", "max", "min")[dst.pad] == word),
        use,
        f"padValue {word} is for mat tiles of this pad; dst is in {dst.space} with pad {dst.pad}",
        "dst",
    )
    require(dst.pad != 0, use, "dst has pad 0: it does not say with what to fill; give pad=1 to 3", "dst", LAYOUT)


def _grows(use: Use) -> bool:
    return use.tile("src").shape != use.tile("dst").shape


def _fill_result(use: Use, request: Request) -> TileSpec:
    src = use.tile("src")
    if src.space is Space.MAT:
        return src
    rows, cols = request.shape or src.shape
    return aligned_tile(src.space, rows, cols, src.dtype, use.target)


def _same_width(text: str) -> frozenset[tuple[str, ...]]:
    known = names(text)
    return frozenset((a, b) for a in known for b in known if DTYPE_BITS[a] == DTYPE_BITS[b])


def _fill_forms() -> tuple[Form, ...]:
    small = " ".join((*FP8, "hif8", "f4E1M2x2", "f4E2M1x2"))
    dtypes: DtypeSets = {"a2a3": _same_width(_ALL), "a5": _same_width(f"{_ALL} {small}")}
    in_mat = same(2, _ALL, f"{_ALL} {small}")
    return (
        Form({"src": Space.VEC, "dst": Space.VEC}, (Pipe.V,), ("src", "dst"), dtypes),
        # The assembler has MTE1 for a fill in mat, the hardware's own table MTE2.
        Form({"src": Space.MAT, "dst": Space.MAT}, (Pipe.MTE1, Pipe.MTE2), ("src", "dst"), in_mat),
    )


def _check_concat_rows(use: Use) -> None:
    lhs, rhs, dst = use.tile("lhs"), use.tile("rhs"), use.tile("dst")
    for name, tile in (("lhs", lhs), ("rhs", rhs)):
        require(
            agree((tile.v_rows,), (dst.v_rows,)),
            use,
            f"{name} has {tile.v_rows} valid rows, dst {dst.v_rows}; they must be equal",
            name,
        )
    if not is_a2a3(use):
        row_major("lhs", "rhs", "dst")(use)


def _check_concat(use: Use) -> None:
    _check_concat_rows(use)
    lhs, rhs, dst = use.tile("lhs"), use.tile("rhs"), use.tile("dst")
    require(
        lhs.v_cols is None or rhs.v_cols is None or lhs.v_cols + rhs.v_cols <= dst.cols,
        use,
        f"{lhs.v_cols} and {rhs.v_cols} columns do not fit the {dst.cols} of dst",
        "dst",
    )


def _concat_result(use: Use, request: Request) -> TileSpec:
    lhs, rhs = use.tile("lhs"), use.tile("rhs")
    if lhs.v_cols is None or rhs.v_cols is None:
        raise TableError(f"'{use.row.mnemonic}': the valid columns of both sources must be known", "shape-or-dtype")
    result = aligned_tile(Space.VEC, lhs.rows, lhs.v_cols + rhs.v_cols, lhs.dtype, use.target)
    return result.with_valid(lhs.v_rows, lhs.v_cols + rhs.v_cols)


def _check_concat_indices(use: Use) -> None:
    _check_concat_rows(use)
    dst = use.tile("dst")
    for name in ("lhsIdx", "rhsIdx"):
        tile = use.tile(name)
        require(
            agree((tile.v_rows,), (dst.v_rows,)),
            use,
            f"{name} has {tile.v_rows} valid rows, dst {dst.v_rows}; they must be equal",
            name,
        )
        require(tile.v_cols != 0, use, f"{name} has no valid column", name)


def _indexed(text: str, indices: str) -> DtypeSets:
    rows = frozenset((name, name, index, index, name) for name in text.split() for index in indices.split())
    return on_both(rows)


def _check_ramp(use: Use) -> None:
    dst = use.tile("dst")
    require(dst.cols != 1, use, "dst has one column; a ramp runs along columns", "dst")
    require(dst.v_rows in (1, None), use, f"dst has {dst.v_rows} valid rows; a ramp fills one", "dst")
    if "tmp" in use.operands and is_a2a3(use):
        tmp = use.tile("tmp")
        require(tmp.dtype in ("f32", "i32", "si32", "ui32"), use, f"tmp is {tmp.dtype}, must be of 4 bytes", "tmp")
        row_major("tmp")(use)
        unboxed("tmp")(use)
        at_least_bytes(use, "tmp", 768 if element_bytes(dst) == 4 else 1792)


def _check_triangle(use: Use) -> None:
    word = use.attr("upperOrLower")
    require(word in ("0", "1"), use, f"upperOrLower is {word}, must be 0 (lower) or 1 (upper)", kind="attribute")


def _triangle_dtypes() -> DtypeSets:
    integers = ("i32", "i64", "i16", "i8", "si32", "ui32")
    return {
        target: frozenset((number, name) for number in integers for name in names(text))
        for target, text in (("a2a3", "i16 i32 f16 f32"), ("a5", _ALL))
    }


def _check_random(use: Use) -> None:
    row_major("dst")(use)
    word = use.attr("rounds")
    require(word in ("7", "10"), use, f"rounds is {word}, must be 7 or 10", kind="attribute")


_WORDS = tuple(Operand(name, Kind.SCALAR) for name in ("key0", "key1", "counter0", "counter1", "counter2", "counter3"))


def _words() -> frozenset[tuple[str, ...]]:
    return frozenset((*(word,) * 6, dst) for word in names("i32") for dst in names("i32"))


def _element_dtypes() -> DtypeSets:
    rows = frozenset(
        (number, name)
        for name in names("i8 i16 i32 i64 f16 bf16 f32")
        for number in (name, name.lstrip("su") if name[1:2] == "i" else name)
    )
    return on_both(rows)


REARRANGE_ROWS: tuple[OpRow, ...] = (
    OpRow(
        "ttrans",
        "transpose",
        ins=(SRC, LATELY_OPTIONAL_SCRATCH),
        out=DST,
        forms=vector_forms(("src", "tmp", "dst"), ("src", "dst"), same(2, _ALL)),
        check=_check_transpose,
        deduce=_transpose_result,
        scratch=for_transpose,
        internal_flags=V_S_0,
    ),
    OpRow(
        "tfillpad",
        "fillpad",
        ins=(SRC,),
        out=DST,
        forms=_fill_forms(),
        check=_check_fill,
        attrs=(Attr("padValue", "pad_value"),),
        in_place=frozenset({"src"}),
        deduce=_fill_result,
        old=(
            OldSpelling("tfillpad_expand", (0, 58), ("src",), _grows, frozenset({"padValue"})),
            OldSpelling("tfillpad_inplace", (0, 58), ("src",)),
        ),
        internal_flags=V_S_0,
    ),
    OpRow(
        "tconcat",
        "concat",
        ins=(Operand("lhs"), Operand("rhs")),
        out=DST,
        forms=vector_forms(("lhs", "rhs", "dst"), ("lhs", "rhs", "dst"), same(3, _ALL)),
        check=_check_concat,
        deduce=_concat_result,
        internal_flags=_CONCAT_FLAGS,
    ),
    OpRow(
        "tconcatidx",
        "concat_idx",
        ins=(Operand("lhs"), Operand("rhs"), Operand("lhsIdx"), Operand("rhsIdx")),
        out=DST,
        forms=vector_forms(
            ("lhs", "rhs", "lhsIdx", "rhsIdx", "dst"),
            ("lhs", "rhs", "lhsIdx", "rhsIdx", "dst"),
            _indexed(_ALL, "i8 i16 i32"),
        ),
        check=_check_concat_indices,
        attrs=(Attr("candidates", "any"),),
        deduce=_concat_result,
        internal_flags=_CONCAT_FLAGS,
    ),
    OpRow(
        "tci",
        "ci",
        ins=(Operand("start", Kind.SCALAR), OPTIONAL_SCRATCH),
        out=DST,
        forms=(
            Form(
                {"tmp": Space.VEC, "dst": Space.VEC},
                (Pipe.S,),
                ("start", "dst"),
                on_both(alike(2, "i16 i32")),
            ),
        ),
        check=_check_ramp,
        attrs=(Attr("descending", "bool", "false"),),
        deduce=asked(),
        scratch=for_ramp,
        scratch_since=SCRATCH_DEMANDED,
    ),
    OpRow(
        "ttri",
        "tri",
        ins=(Operand("diagonal", Kind.SCALAR),),
        out=DST,
        forms=vector_forms(("dst",), ("diagonal", "dst"), _triangle_dtypes()),
        check=_check_triangle,
        attrs=(Attr("upperOrLower", "int", "0"),),
        inner_attrs=True,
        deduce=asked(),
    ),
    OpRow(
        "trandom",
        "random",
        ins=_WORDS,
        out=DST,
        forms=vector_forms(("dst",), (*(word.name for word in _WORDS), "dst"), {"a5": _words()}),
        check=_check_random,
        attrs=(Attr("rounds", "int", "10"),),
        inner_attrs=True,
        deduce=asked(),
    ),
    OpRow(
        "tgetval",
        "read",
        ins=(SRC, Operand("offset", Kind.INDEX)),
        out=Operand("value", Kind.SCALAR, Role.WRITE, optional=True),  # a result, not an operand
        forms=(Form({"src": Space.VEC}, (Pipe.S,), ("src",), same(1, "i8 i16 i32 i64 f16 bf16 f32")),),
        whole=frozenset({"src"}),
    ),
    OpRow(
        "tsetval",
        "write",
        ins=(Operand("offset", Kind.INDEX), Operand("value", Kind.SCALAR)),
        generic=("dst", "offset", "value"),
        out=Operand("dst", role=Role.UPDATE),
        forms=(Form({"dst": Space.VEC}, (Pipe.S,), ("value", "dst"), _element_dtypes()),),
        whole=frozenset({"dst"}),
    ),
)
