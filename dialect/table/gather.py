"""Rows of gathering and scattering within the vector buffer."""

from pto_buf.dialect.table.checks import (
    agree,
    fmt,
    is_a2a3,
    require,
    row_major,
    same_dtype,
    same_valid,
)
from pto_buf.dialect.table.dtypes import DtypeSets, names, on_both
from pto_buf.dialect.table.families import DST, OPTIONAL_SCRATCH, SRC, V_S_0, asked, vector_forms
from pto_buf.dialect.table.row import Form, Kind, Operand, OpRow, Role, TableError, Use
from pto_buf.dialect.table.scratch import like
from pto_buf.dialect.table.vocabulary import Attr
from pto_buf.hw import Pipe, Space
from pto_buf.tile import DTYPE_BITS, FP8

_ALL = "i8 i16 i32 f16 bf16 f32"
_FP8_TEXT = " ".join(FP8)
_PATTERN = (
    Attr("maskPattern", "mask_pattern", required=True),
    Attr("axis", "string", required=True, since=(0, 57), meant="row"),
)


def mask_step(pattern: str) -> int:
    """Every how many elements a pattern takes one, at most."""
    return {"P1111": 1, "P0101": 2, "P1010": 2}.get(pattern, 4)


# --- gathering ---------------------------------------------------------------------------------------------------


def _full_width(use: Use, *operands: str) -> None:
    for name in operands:
        tile = use.tile(name)
        require(
            tile.v_cols in (None, tile.cols),
            use,
            f"{name} has {tile.v_cols} valid of {tile.cols} columns; all must be valid",
            name,
        )


def _check_gather(use: Use) -> None:
    _full_width(use, "dst", "indices")
    if is_a2a3(use):
        if "tmp" not in use.operands:
            raise TableError(f"'{use.row.mnemonic}': needs tmp on a2a3", "scratch")
        same_dtype(use, "tmp", "indices")
        same_valid("indices", "tmp")(use)


def _check_mask(use: Use, narrow: str, wide: str) -> None:
    """`narrow` holds every n-th element of `wide`, along rows or along columns."""
    row_major("src", "dst")(use)
    axis, step = use.attrs.get("axis"), mask_step(use.attrs.get("maskPattern", "P1111"))
    require(axis in ("row", "col"), use, f'axis is "{axis}", must be "row" or "col"', kind="attribute")
    small, large = use.tile(narrow), use.tile(wide)
    along = 1 if axis == "row" else 0
    kept = small.valid[along]
    wanted = list(small.valid)
    wanted[along] = None if kept is None else kept * step
    require(
        agree(wanted, large.valid),
        use,
        f"{narrow} has valid extent {fmt(small.valid)}, {wide} {fmt(large.valid)}; {wide} must be {fmt(wanted)}",
        narrow,
    )


def _check_gather_mask(use: Use) -> None:
    _full_width(use, "dst")
    _check_mask(use, "dst", "src")


def _check_gather_compare(use: Use) -> None:
    mode = use.attr("cmpMode")
    require(mode in ("eq", "gt"), use, f"cmpMode is {mode}, must be eq or gt", kind="attribute")
    src = use.tile("src").dtype
    if is_a2a3(use):
        require(src in ("f16", "f32") or mode == "eq", use, f"{src} can only be compared by eq on a2a3", "src")


def _gather_dtypes() -> DtypeSets:
    rows: dict[str, frozenset[tuple[str, ...]]] = {}
    for target, text, widths in (
        ("a2a3", "i16 i32 f16 f32", "i32"),
        ("a5", f"i8 i16 i32 f16 f32 {_FP8_TEXT}", "i16 i32"),
    ):
        rows[target] = frozenset((name, index, name) for name in names(text) for index in names(widths))
    return rows


def _same_width(text: str) -> frozenset[tuple[str, ...]]:
    known = names(text)
    return frozenset((a, b) for a in known for b in known if DTYPE_BITS[a] == DTYPE_BITS[b])


def _compare_dtypes() -> DtypeSets:
    def rows(text: str) -> frozenset[tuple[str, ...]]:
        return frozenset(
            (name, number, index, index)
            for name in names(text)
            for number in (name, name.lstrip("su") if name[1:2] == "i" else name)
            for index in ("i32", "ui32", "si32")
        )

    return {"a2a3": rows("i32 f16 f32"), "a5": rows("i16 i32 f16 f32")}


def _offset_dtypes() -> DtypeSets:
    known = names(_ALL)
    rows = frozenset((a, offset, b) for a in known for b in known for offset in ("i32", "ui32", "si32", "i16", "ui16"))
    return on_both(rows)


# --- scattering --------------------------------------------------------------------------------------------------


def _scatter_dtypes() -> DtypeSets:
    rows = frozenset(
        (name, index, name) for name in names(_ALL) for index in names("i32" if DTYPE_BITS[name] == 32 else "i16")
    )
    return on_both(rows)


def _check_scatter(use: Use) -> None:
    same_valid("src", "indexes")(use)
    src, dst = use.tile("src"), use.tile("dst")
    for axis, name in enumerate(("rows", "columns")):
        found, room = src.valid[axis], dst.valid[axis]
        require(
            found is None or room is None or room >= found,
            use,
            f"dst has {room} valid {name}, src {found}; dst cannot be smaller",
            "dst",
        )


def _check_scatter_mask(use: Use) -> None:
    _check_mask(use, "src", "dst")


GATHER_ROWS: tuple[OpRow, ...] = (
    OpRow(
        "tgather",
        "gather_mask",
        ins=(SRC,),
        out=DST,
        generic=("src", "dst", "", "", "", ""),
        forms=vector_forms(
            ("src", "dst"),
            ("src", "dst"),
            {
                "a2a3": _same_width("i16 i32 f16 bf16 f32"),
                "a5": _same_width(f"{_ALL} {_FP8_TEXT} hif8"),
            },
        ),
        check=_check_gather_mask,
        attrs=_PATTERN,
        inner_attrs=True,
        tail_attr="axis",
        deduce=asked(like_name="src"),
    ),
    OpRow(
        "tgather",
        "gather_compare",
        ins=(SRC, Operand("kValue", Kind.SCALAR), Operand("tmp", role=Role.SCRATCH)),
        out=DST,
        more_outs=(Operand("cdst", role=Role.WRITE),),
        generic=("src", "dst", "cdst", "", "tmp", "kValue"),
        forms=vector_forms(("src", "tmp", "dst", "cdst"), ("src", "kValue", "dst", "cdst"), _compare_dtypes()),
        check=_check_gather_compare,
        attrs=(Attr("cmpMode", "cmp", "eq"), Attr("offset", "int", "0")),
        deduce=asked(),
        internal_flags=V_S_0,
    ),
    OpRow(
        "tgather",
        "gather",
        ins=(SRC, Operand("indices"), OPTIONAL_SCRATCH),
        out=DST,
        generic=("src", "dst", "", "indices", "tmp", ""),
        forms=vector_forms(("src", "indices", "tmp", "dst"), ("src", "indices", "dst"), _gather_dtypes()),
        check=_check_gather,
        deduce=asked(like_name="indices", typed_like="src"),
        scratch=like("indices"),
        whole=frozenset({"src"}),
    ),
    OpRow(
        "tgatherb",
        "gatherb",
        ins=(SRC, Operand("offsets")),
        out=DST,
        forms=vector_forms(("src", "offsets", "dst"), ("src", "offsets", "dst"), _offset_dtypes()),
        check=row_major("dst"),
        deduce=asked(like_name="src"),
        whole=frozenset({"src"}),
    ),
    OpRow(
        "tscatter",
        "scatter_mask",
        ins=(SRC,),
        out=Operand("dst", role=Role.UPDATE),
        generic=("src", "dst", ""),
        forms=vector_forms(("src", "dst"), ("src", "dst"), on_both(frozenset((name, name) for name in names(_ALL)))),
        check=_check_scatter_mask,
        attrs=_PATTERN,
        inner_attrs=True,
        tail_attr="axis",
        internal_flags=V_S_0,
    ),
    OpRow(
        "tscatter",
        "scatter",
        ins=(SRC, Operand("indexes")),
        out=Operand("dst", role=Role.UPDATE),
        generic=("src", "dst", "indexes"),
        forms=(
            Form(
                dict.fromkeys(("src", "indexes", "dst"), Space.VEC),
                (Pipe.S,),
                ("src", "indexes", "dst"),
                _scatter_dtypes(),
            ),
        ),
        check=_check_scatter,
        whole=frozenset({"dst"}),
        internal_flags=V_S_0,
    ),
)
