"""Rows of gathering from and scattering to global memory."""

from pto_buf.dialect.table.checks import (
    agree,
    fmt,
    is_a2a3,
    require,
    row_major,
)
from pto_buf.dialect.table.dtypes import DtypeSets, names
from pto_buf.dialect.table.families import DST, SRC, V_S_0, asked
from pto_buf.dialect.table.row import Form, Kind, Operand, OpRow, Role, Use
from pto_buf.dialect.table.vocabulary import Attr
from pto_buf.hw import Pipe, Space
from pto_buf.tile import FP8

_ALL = "i8 i16 i32 f16 bf16 f32"
_FP8_TEXT = " ".join(FP8)


def _check_indirect(use: Use, tile_name: str, idx_name: str) -> None:
    """By rows one index a row, by elements as many indices as elements."""
    tile, idx = use.tile(tile_name), use.tile(idx_name)
    row_major(tile_name)(use)
    mode = use.attrs.get("coalesce")
    if mode == "elem":
        require(
            agree(tile.valid, idx.valid),
            use,
            f"{tile_name} has valid extent {fmt(tile.valid)}, {idx_name} {fmt(idx.valid)}; by elements they are equal",
            idx_name,
        )
    elif mode == "row" and tile.v_rows is not None and None not in idx.valid:
        count = (idx.v_rows or 0) * (idx.v_cols or 0)
        require(
            count == tile.v_rows, use, f"{tile_name} has {tile.v_rows} valid rows, {idx_name} {count} indices", idx_name
        )


def _check_gather_global(use: Use) -> None:
    require(
        use.attr("gatherOob") == "undefined" or "coalesce" in use.attrs,
        use,
        "gatherOob needs coalesce",
        kind="attribute",
    )
    _check_indirect(use, "dst", "idx")


def _check_scatter_global(use: Use) -> None:
    extras = [name for name in ("scatterAtomicOp", "scatterOob", "scatterConflict") if name in use.attrs]
    require("coalesce" in use.attrs or not extras, use, f"{', '.join(extras)} needs coalesce", kind="attribute")
    require(not is_a2a3(use) or "scatterConflict" not in use.attrs, use, "scatterConflict is for a5", kind="attribute")
    dtype, atomic = use.tile("src").dtype, use.attr("scatterAtomicOp")
    allowed = {
        "none": None,
        "add": ("i32", "si32", "ui32", "f16", "f32"),
        "max": ("i32", "si32", "f32"),
        "min": ("i32", "si32", "f32"),
    }[atomic or "none"]
    require(
        allowed is None or dtype in allowed,
        use,
        f"scatterAtomicOp {atomic} cannot be of {dtype}; of {', '.join(allowed or ())}",
        "src",
    )
    _check_indirect(use, "src", "idx")


def _global_dtypes() -> DtypeSets:
    def rows(text: str) -> frozenset[tuple[str, ...]]:
        return frozenset((name, index, name) for name in names(text) for index in ("i32", "si32"))

    return {"a2a3": rows(_ALL), "a5": rows(f"{_ALL} {_FP8_TEXT} hif8")}


_GATHER_ATTRS = (Attr("coalesce", "coalesce"), Attr("gatherOob", "gather_oob", "undefined"))

INDIRECT_ROWS: tuple[OpRow, ...] = (
    OpRow(
        "mgather",
        "mgather",
        ins=(Operand("mem", Kind.VIEW), Operand("idx")),
        out=DST,
        generic=("mem", "idx", "dst", ""),
        forms=(
            Form(
                dict.fromkeys(("idx", "dst"), Space.VEC),
                (Pipe.MTE2,),
                ("mem", "idx", "dst"),
                {"a2a3": _global_dtypes()["a2a3"]},
            ),
            Form(
                dict.fromkeys(("idx", "dst"), Space.VEC),
                (Pipe.V,),
                ("mem", "idx", "dst"),
                {"a5": _global_dtypes()["a5"]},
            ),
        ),
        check=_check_gather_global,
        attrs=_GATHER_ATTRS,
        deduce=asked(),
        internal_flags=V_S_0 | {(Pipe.MTE2, Pipe.S, 0), (Pipe.S, Pipe.MTE2, 0)},
    ),
    OpRow(
        "mgather",
        "mgather_mat",
        ins=(
            Operand("mem", Kind.VIEW),
            Operand("idx", Kind.VIEW),
            Operand("scratch", Kind.VIEW, Role.SCRATCH, optional=True),
        ),
        out=DST,
        generic=("mem", "idx", "dst", "scratch"),
        forms=(Form({"dst": Space.MAT}, (Pipe.MTE2,), ("mem", "idx", "dst"), _global_dtypes()),),
        attrs=_GATHER_ATTRS,
        deduce=asked(Space.MAT),
    ),
    OpRow(
        "mscatter",
        "mscatter",
        ins=(SRC, Operand("idx")),
        out=Operand("mem", Kind.VIEW, Role.UPDATE),
        forms=(
            Form(
                dict.fromkeys(("src", "idx"), Space.VEC),
                (Pipe.MTE3,),
                ("src", "idx", "mem"),
                {"a2a3": _global_dtypes()["a2a3"]},
            ),
            Form(
                dict.fromkeys(("src", "idx"), Space.VEC),
                (Pipe.V,),
                ("src", "idx", "mem"),
                {"a5": _global_dtypes()["a5"]},
            ),
        ),
        check=_check_scatter_global,
        attrs=(
            Attr("coalesce", "coalesce"),
            Attr("scatterAtomicOp", "scatter_atomic_op", "none"),
            Attr("scatterOob", "scatter_oob", "undefined"),
            Attr("scatterConflict", "scatter_conflict"),
        ),
    ),
)
