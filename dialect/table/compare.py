"""Rows of comparison and selection.

A mask is packed bits on a2a3 (`ui8`; the assembler takes `i8` too, the library does not). On a5 the mask tile of a
comparison has the shape of the data.
"""

from collections.abc import Mapping
from dataclasses import replace

from pto_buf.dialect.table.checks import (
    agree,
    at_least_bytes,
    element_bytes,
    is_a2a3,
    require,
    row_major,
    same_dtype,
    same_shape,
    same_valid,
)
from pto_buf.dialect.table.dtypes import DtypeSets, names
from pto_buf.dialect.table.families import DST, LATELY_OPTIONAL_SCRATCH, LHS, RHS, V_S_0, vector_forms
from pto_buf.dialect.table.row import Form, Kind, Operand, OpRow, Request, Use
from pto_buf.dialect.table.scratch import for_select, rows_of
from pto_buf.dialect.table.vocabulary import Attr
from pto_buf.hw import Pipe, Space
from pto_buf.tile import TileSpec, aligned_tile, canonical_tile

_MASKS: Mapping[str, tuple[str, ...]] = {"a2a3": ("ui8",), "a5": ("ui8", "i8", "si8")}
_MODE = (Attr("cmpMode", "cmp", "eq"),)


def _with_mask(tiles: int, a2a3: str, a5: str, *, scalar_at: int | None = None, mask_first: bool = False) -> DtypeSets:
    """`tiles` of one type, a number of it at `scalar_at`, and a mask at one end."""
    found: dict[str, frozenset[tuple[str, ...]]] = {}
    for target, text in (("a2a3", a2a3), ("a5", a5)):
        rows: list[tuple[str, ...]] = []
        for name in names(text):
            numbers = (name, name.lstrip("su") if name[1:2] == "i" else name) if scalar_at is not None else (name,)
            for number in dict.fromkeys(numbers):
                row = [name] * tiles
                if scalar_at is not None:
                    row.insert(scalar_at, number)
                rows += [(mask, *row) if mask_first else (*row, mask) for mask in _MASKS[target]]
        found[target] = frozenset(rows)
    return found


def _check_mode(use: Use) -> None:
    """The a2a3 library compares i32 for equality, whatever it is told."""
    src, mode = use.tile("lhs"), use.attr("cmpMode")
    integer = src.dtype in ("i32", "si32", "ui32")
    require(
        not (is_a2a3(use) and integer) or mode == "eq",
        use,
        f"{src.dtype} can only be compared by eq on a2a3, not {mode}",
    )


def _check_compare(use: Use) -> None:
    _check_mode(use)
    src, dst = use.tile("lhs"), use.tile("dst")
    same_valid("lhs", "rhs")(use)
    if is_a2a3(use):
        require(
            agree((src.v_rows,), (dst.v_rows,)),
            use,
            f"lhs has {src.v_rows} valid rows, dst {dst.v_rows}; they must be equal",
            "dst",
        )
    elif "rhs" in use.operands and isinstance(use.operands["rhs"], TileSpec):
        same_shape("lhs", "rhs", "dst")(use)


def _check_compare_scalar(use: Use) -> None:
    _check_mode(use)
    src, dst = use.tile("lhs"), use.tile("dst")
    require(
        agree((src.v_rows,), (dst.v_rows,)),
        use,
        f"lhs has {src.v_rows} valid rows, dst {dst.v_rows}; they must be equal",
        "dst",
    )


def _mask_result(use: Use, request: Request) -> TileSpec:
    """Packed: one bit an element, rows padded to 32 bytes. On a5 as many bytes as elements."""
    src = use.tile("lhs")
    if use.target.name == "a5":
        return canonical_tile(Space.VEC, src.rows, src.cols, "ui8", use.target).with_valid(*src.valid)
    packed = aligned_tile(Space.VEC, src.rows, max(-(-src.cols // 8), 32), "ui8", use.target)
    return packed.with_valid(src.v_rows, None if src.v_cols is None else -(-src.v_cols // 8))


def _check_select(use: Use) -> None:
    row_major("lhs", "rhs", "dst")(use)
    same_valid("lhs", "rhs", "dst")(use)
    if "tmp" in use.operands and is_a2a3(use):
        tmp = use.tile("tmp")
        require(element_bytes(tmp) == 4, use, f"tmp is {tmp.dtype}, must be of 4 bytes", "tmp", "scratch")
        at_least_bytes(use, "tmp", 16 if element_bytes(use.tile("lhs")) == 2 else 8)


def _check_select_scalar(use: Use) -> None:
    same_valid("src", "dst")(use)
    row_major("src", "dst")(use)
    if not is_a2a3(use):
        row_major("mask")(use)
    elif "tmp" in use.operands:
        row_major("tmp")(use)
        same_dtype(use, "tmp", "dst")
        at_least_bytes(use, "tmp", use.tile("src").cols * element_bytes(use.tile("src")))


def _like_last(use: Use, request: Request) -> TileSpec:
    return use.tile("lhs")


def _like_source(use: Use, request: Request) -> TileSpec:
    return use.tile("src")


def _select_scalar(pipes: tuple[Pipe, ...], target: str) -> tuple[Form, ...]:
    dtypes = _with_mask(2, "i16 i32 f16 f32", "i8 i16 i32 f16 f32", scalar_at=1, mask_first=True)
    (form,) = vector_forms(("mask", "src", "tmp", "dst"), ("mask", "src", "value", "dst"), {target: dtypes[target]})
    return (replace(form, pipes=pipes),)


_MASK = Operand("mask")

COMPARE_ROWS: tuple[OpRow, ...] = (
    OpRow(
        "tcmp",
        "cmp",
        ins=(LHS, RHS),
        out=DST,
        forms=vector_forms(
            ("lhs", "rhs", "dst"),
            ("lhs", "rhs", "dst"),
            _with_mask(2, "i32 f16 f32", "i8 i16 i32 f16 bf16 f32"),
        ),
        check=_check_compare,
        attrs=_MODE,
        inner_attrs=True,
        deduce=_mask_result,
    ),
    OpRow(
        "tcmps",
        "cmps",
        ins=(LHS, Operand("rhs", Kind.SCALAR)),
        out=DST,
        forms=vector_forms(
            ("lhs", "dst"),
            ("lhs", "rhs", "dst"),
            _with_mask(1, "i16 i32 f16 f32", "i8 i16 i32 f16 f32", scalar_at=1),
        ),
        check=_check_compare_scalar,
        attrs=_MODE,
        inner_attrs=True,
        deduce=_mask_result,
    ),
    OpRow(
        "tsel",
        "sel",
        ins=(_MASK, LHS, RHS, LATELY_OPTIONAL_SCRATCH),
        out=DST,
        forms=vector_forms(
            ("mask", "lhs", "rhs", "tmp", "dst"),
            ("mask", "lhs", "rhs", "dst"),
            _with_mask(3, "i16 i32 f16 bf16 f32", "i8 i16 i32 f16 bf16 f32", mask_first=True),
        ),
        check=_check_select,
        in_place=frozenset({"lhs", "rhs"}),
        deduce=_like_last,
        scratch=for_select,
    ),
    OpRow(
        "tsels",
        "sels",
        ins=(_MASK, Operand("src"), LATELY_OPTIONAL_SCRATCH, Operand("value", Kind.SCALAR)),
        out=DST,
        forms=(
            # The a2a3 library writes the number into the scratch on the scalar unit.
            *_select_scalar((Pipe.V, Pipe.S), "a2a3"),
            *_select_scalar((Pipe.V,), "a5"),
        ),
        check=_check_select_scalar,
        in_place=frozenset({"src"}),
        deduce=_like_source,
        scratch=rows_of("src", 1),
        internal_flags=V_S_0,
    ),
)
