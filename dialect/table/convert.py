"""The row of the element type conversion."""

from collections.abc import Sequence
from dataclasses import replace

from pto_buf.dialect.table.checks import agree, at_least_bytes, fmt, require
from pto_buf.dialect.table.dtypes import DtypeSets
from pto_buf.dialect.table.families import DST, OPTIONAL_SCRATCH, SRC, like, vector_forms
from pto_buf.dialect.table.row import OpRow, Use
from pto_buf.dialect.table.scratch import conversion_bytes, for_conversion, without_tile
from pto_buf.dialect.table.vocabulary import SCRATCH_DEMANDED, Attr
from pto_buf.tile import TileSpec

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


def _check(use: Use) -> None:
    """The extents agree; a packed pair counts for two."""
    src, dst = use.tile("src"), use.tile("dst")
    for what, here, there in (
        ("valid extent", src.valid, dst.valid),
        ("shape", src.shape, dst.shape),
    ):
        require(
            agree(_unpacked(here, src), _unpacked(there, dst)),
            use,
            f"src has {what} {fmt(here)}, dst {fmt(there)}; they must be equal",
            "dst",
        )
    if "tmp" in use.operands:
        at_least_bytes(use, "tmp", conversion_bytes(use))


def _unpacked(extent: Sequence[int | None], tile: TileSpec) -> tuple[int | None, ...]:
    rows, cols = extent
    return rows, cols * 2 if tile.dtype.startswith("f4") and cols is not None else cols


CONVERT_ROWS: tuple[OpRow, ...] = (
    OpRow(
        "tcvt",
        "cast",
        ins=(SRC, replace(OPTIONAL_SCRATCH, since=(0, 58))),
        out=DST,
        forms=vector_forms(("src", "tmp", "dst"), ("src", "dst"), _pairs()),
        check=_check,
        attrs=(
            Attr("rmode", "round_mode", "CAST_RINT"),
            Attr("satmode", "saturation_mode"),
            Attr("sat_mode", "saturation_mode"),
        ),
        inner_attrs=True,
        in_place=frozenset({"src"}),
        deduce=like("src"),
        scratch=for_conversion,
        scratch_since=SCRATCH_DEMANDED,
        hidden=without_tile,
    ),
)
