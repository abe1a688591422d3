"""Rows of the ops between global memory and tiles."""

from pto_buf.dialect.table.checks import LAYOUT, agree, fmt, is_a2a3, require
from pto_buf.dialect.table.dtypes import exactly, names, on_both, pairs
from pto_buf.dialect.table.families import DST, NO_SCALE, SCALE, SRC
from pto_buf.dialect.table.row import (
    Deduce,
    Form,
    Kind,
    OldSpelling,
    Operand,
    OpRow,
    Request,
    Role,
    TableError,
    Use,
    has,
)
from pto_buf.dialect.table.vocabulary import Attr
from pto_buf.hw import Pipe, Space
from pto_buf.tile import DTYPE_BITS, FP8, BLayout, SLayout, TileSpec, canonical_tile

NUMBERS = "i8 i16 i32 i64 f16 bf16 f32"
LOW_PRECISION = " ".join((*FP8, "f8E8M0", "hif8", "hif8x2", "f4E1M2x2", "f4E2M1x2"))
_LAYOUT = Attr("layout", "layout")


def _minor_two(shape: tuple[int | None, ...]) -> tuple[int | None, int | None]:
    """The two extents that a tile sees of a view: leading dims fold into the rows."""
    rows: int | None = 1
    for extent in shape[:-1]:
        rows = None if rows is None or extent is None else rows * extent
    return rows, shape[-1] if shape else 1


_A5_LAYOUTS = (
    (BLayout.ROW_MAJOR, SLayout.NONE_BOX),
    (BLayout.COL_MAJOR, SLayout.NONE_BOX),
    (BLayout.COL_MAJOR, SLayout.ROW_MAJOR),
)
"""How a tile in the vector buffer can lie that a5 loads."""


def layout(tile: TileSpec) -> tuple[BLayout, SLayout]:
    return tile.blayout, tile.slayout


def _check_load(use: Use) -> None:
    src, dst = use.view("src"), use.tile("dst")
    require(0 not in src.shape, use, f"the view is {fmt(src.shape)}; its extents must be positive", "src")
    require(
        is_a2a3(use) or dst.space is not Space.VEC or layout(dst) in _A5_LAYOUTS,
        use,
        f"dst has layout {dst.blayout}/{dst.slayout}; on a5 it is row_major/none_box, col_major/none_box or "
        "col_major/row_major",
        "dst",
        LAYOUT,
    )
    if 0 in dst.valid:  # says that nothing is to be done
        return
    if len(src.shape) > 2 or dst.space is not Space.VEC:  # a 5-d view may be of boxes, a mat tile filled in part
        return
    require(
        agree(_minor_two(src.shape), dst.valid),
        use,
        f"loads {fmt(src.shape)} into a tile of valid extent {fmt(dst.valid)}; they must be equal",
        "dst",
    )


def _count(shape: tuple[int | None, ...]) -> int | None:
    """The number of elements, None if it is not known or nothing is to be done."""
    total = 1
    for extent in shape:
        if extent is None or extent == 0:
            return None
        total *= extent
    return total


def _check_store(use: Use) -> None:
    src, dst = use.tile("src"), use.view("dst")
    require(0 not in dst.shape, use, f"the view is {fmt(dst.shape)}; its extents must be positive", "dst")
    require(
        not ("fp" in use.operands and use.attr("stPhase") != "unspecified"), use, "stPhase does not go with a table"
    )
    here, there = _count(src.valid), _count(dst.shape)
    require(
        here is None or there is None or here == there or "fp" in use.operands,
        use,
        f"stores a tile of valid extent {fmt(src.valid)} to {fmt(dst.shape)}; they must have as many elements",
        "src",
    )
    relu = use.attr("reluPreMode")
    require(
        relu == "no_relu" or src.space is Space.ACC,
        use,
        f"reluPreMode {relu} is for accumulators, src is in {src.space}",
    )
    require(
        src.space is not Space.ACC or layout(src) == (BLayout.COL_MAJOR, SLayout.ROW_MAJOR),
        use,
        f"src has layout {src.blayout}/{src.slayout}, must be col_major/row_major",
        "src",
        LAYOUT,
    )
    if src.space is Space.ACC and is_a2a3(use):
        require(1 <= src.cols <= 4095, use, f"an accumulator of {src.cols} columns; 1 to 4095 can be stored", "src")


def _load_result() -> Deduce:
    def deduce(use: Use, request: Request) -> TileSpec:
        view = use.view("src")
        shape = request.shape or _minor_two(view.shape)
        if shape[0] is None or shape[1] is None:
            raise TableError(f"'{use.row.mnemonic}': the tile's shape must be known", "shape-or-dtype", "src")
        result = canonical_tile(request.space or Space.VEC, shape[0], shape[1], request.dtype or view.dtype, use.target)
        return result if request.valid is None else result.with_valid(*request.valid)

    return deduce


def _same_width(text: str) -> frozenset[tuple[str, ...]]:
    """Any two types of one width: a store moves bits."""
    known = names(text)
    return frozenset((a, b) for a in known for b in known if DTYPE_BITS[a] == DTYPE_BITS[b])


_BITS = {"a2a3": _same_width(NUMBERS), "a5": _same_width(f"{NUMBERS} {LOW_PRECISION}")}
_NARROWED = on_both(pairs(*(f"{src} {dst}" for src in ("f32", "i32") for dst in ("f32", "i32", "f16", "bf16"))))
QUANTISED = {
    "a2a3": pairs("f32 i8", "i32 i8", "i32 f16", "i32 i16"),
    "a5": pairs(*(f"{src} {dst}" for src in ("f32", "i32") for dst in ("i8", "f16", "bf16")))
    | exactly("f32 f32", "f32 hif8", "f32 f8E4M3FN", "f32 f8E5M2"),
}
"""Element types of an accumulator that leaves through a scale, and of what it becomes."""


MEMORY_ROWS: tuple[OpRow, ...] = (
    OpRow(
        "tload",
        "load",
        ins=(Operand("src", Kind.VIEW),),
        out=DST,
        forms=(
            Form({"dst": Space.MAT}, (Pipe.MTE2,), ("src", "dst"), _BITS),
            Form({"dst": Space.VEC}, (Pipe.MTE2,), ("src", "dst"), _BITS),
        ),
        check=_check_load,
        attrs=(_LAYOUT,),
        deduce=_load_result(),
    ),
    OpRow(
        "tstore",
        "store",
        ins=(
            SRC,
            Operand("fp", optional=True, keyword="fp"),
            SCALE,
        ),
        out=Operand("dst", Kind.VIEW, Role.WRITE),
        forms=(
            Form({"src": Space.VEC}, (Pipe.MTE3,), ("src", "dst"), _BITS),
            Form({"src": Space.MAT}, (Pipe.MTE3,), ("src", "dst"), {"a2a3": _BITS["a2a3"]}),
            Form({"src": Space.ACC}, (Pipe.FIX,), ("src", "dst"), _NARROWED),
            Form({"src": Space.ACC, "fp": Space.SCALING}, (Pipe.FIX,), ("src", "dst"), QUANTISED, needs=("fp",)),
        ),
        check=_check_store,
        attrs=(
            Attr("stPhase", "st_phase", "unspecified"),
            Attr("atomicType", "atomic_type", "atomic_none"),
            Attr("reluPreMode", "relu_pre_mode", "no_relu"),
            _LAYOUT,
        ),
        refused=NO_SCALE,
        generic=("src", "dst", "fp", "preQuantScalar"),
        old=(OldSpelling("tstore_fp", (0, 58), ("src", "fp"), has("fp"), frozenset({"atomicType", "reluPreMode"})),),
    ),
    OpRow(
        "tprefetch",
        "prefetch",
        ins=(Operand("src", Kind.VIEW),),
        out=DST,
        forms=(
            Form({"dst": Space.MAT}, (Pipe.MTE2,), ("src", "dst"), _BITS),
            Form({"dst": Space.VEC}, (Pipe.MTE2,), ("src", "dst"), _BITS),
        ),
        deduce=_load_result(),
    ),
)
