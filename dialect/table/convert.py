"""The row of the element type conversion."""

from pto_buf.dialect.table.checks import (
    at_least_bytes,
    is_a2a3,
    known_valid,
    require,
    same_shape,
    same_valid,
)
from pto_buf.dialect.table.dtypes import DtypeSets
from pto_buf.dialect.table.families import DST, OPTIONAL_SCRATCH, SRC, like, vector_forms
from pto_buf.dialect.table.row import OpRow, Use
from pto_buf.dialect.table.vocabulary import Attr

_TO: dict[str, dict[str, str]] = {
    "a2a3": {
        "f32": "f32 f16 bf16 i16 i32 i64",
        "f16": "f32 i32 i16 i8 ui8",
        "bf16": "f32 i32",
        "i8": "f16",
        "ui8": "f16",
        "i16": "f16 f32",
        "i32": "f32 f16 i16 i64",
        "i64": "f32 i32",
    },
    "a5": {
        "f32": "f32 f16 bf16 i16 i32 i64 f8E4M3FN f8E5M2 hif8",
        "f16": "f32 i32 i16 i8 ui8 hif8",
        "bf16": "f32 f16 i32 f4E1M2x2 f4E2M1x2",
        "i8": "f16 i16 i32",
        "ui8": "f16 ui16",
        "i16": "ui8 f16 f32 ui32 i32",
        "i32": "f32 i16 ui16 i64 ui8",
        "ui32": "ui8 ui16 i16",
        "i64": "f32 i32",
        "f8E4M3FN": "f32",
        "f8E5M2": "f32",
        "hif8": "f32",
        "f4E1M2x2": "bf16",
        "f4E2M1x2": "bf16",
    },
}
"""What the hardware library converts; the assembler lets every pair through."""


def _spellings(name: str) -> tuple[str, ...]:
    """A signless integer is a signed one."""
    return (name, f"s{name}") if name[0] == "i" else (name,)


def _pairs() -> DtypeSets:
    return {
        target: frozenset(
            (src, dst)
            for source, results in table.items()
            for result in results.split()
            for src in _spellings(source)
            for dst in _spellings(result)
        )
        for target, table in _TO.items()
    }


def scratch_bytes(use: Use) -> int:
    """Bytes of scratch that a conversion without saturation needs on a2a3; 0 where it needs none."""
    src, dst = use.tile("src"), use.tile("dst")
    if use.attr("satmode") != "OFF" or not is_a2a3(use):
        return 0
    rows, cols = known_valid(dst)
    if src.dtype == "f32" and dst.dtype in ("i16", "si16") and rows and cols:
        head, rest = 4 * 64 * min(cols // 64, 255), cols % 64
        tail = 32 * ((min(rows, 255) - 1) * (src.cols // 8) + -(-rest // 8)) if rest else 0
        return max(head, tail)
    if src.dtype == "f16" and dst.dtype in ("i16", "si16", "i8", "si8") and cols:
        width = min(cols, 64)
        to_i16 = 32 * -(-width // 8)
        return to_i16 if dst.dtype in ("i16", "si16") else max(to_i16, 128 + 32 * -(-width // 16))
    return 0


def _check(use: Use) -> None:
    same_valid("src", "dst")(use)
    same_shape("src", "dst")(use)
    needed = scratch_bytes(use)
    if not needed:
        return
    require(
        "tmp" in use.operands,
        use,
        f"{use.tile('src').dtype} to {use.tile('dst').dtype} without saturation needs {needed} bytes of scratch; "
        "give tmp, or satmode ON",
        kind="scratch",
    )
    at_least_bytes(use, "tmp", needed)


CONVERT_ROWS: tuple[OpRow, ...] = (
    OpRow(
        "tcvt",
        "cast",
        ins=(SRC, OPTIONAL_SCRATCH),
        out=DST,
        forms=vector_forms(("src", "tmp", "dst"), ("src", "dst"), _pairs()),
        check=_check,
        attrs=(Attr("rmode", "round_mode", "CAST_RINT"), Attr("satmode", "saturation_mode")),
        inner_attrs=True,
        in_place=frozenset({"src"}),
        deduce=like("src"),
    ),
)
