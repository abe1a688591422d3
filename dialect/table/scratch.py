"""The scratch tile that a use of an op wants: what a front end makes when the source gives none.

On a2a3 the library works in it. On a5 it does not, but older assemblers want the operand in the text: the smallest
tile will do.
"""

from pto_buf.dialect.table.checks import agree, element_bytes, is_a2a3, known_valid
from pto_buf.dialect.table.row import Scratch, Use
from pto_buf.hw import Space
from pto_buf.tile import DTYPE_BITS, BLayout, TileSpec

LIBRARY_SCRATCH = (184 * 1024, 192 * 1024)
"""UB bytes that the a2a3 library works in where an op has no scratch tile."""


def without_tile(use: Use) -> tuple[int, int] | None:
    """Where the a2a3 library works in a use that wants a scratch tile and has none."""
    wanted = None if use.row.scratch is None or "tmp" in use.operands else use.row.scratch(use)
    return None if wanted is None else LIBRARY_SCRATCH


def _vec(rows: int, cols: int, dtype: str, v_rows: int | None = None, v_cols: int | None = None) -> TileSpec:
    """A plain tile, valid as a whole where nothing else is said; an extent of 0 says that nothing is to be done."""
    return TileSpec(
        Space.VEC, rows, cols, dtype, rows if v_rows is None else v_rows, cols if v_cols is None else v_cols
    )


def _said(scratch: Scratch, words: str) -> Scratch:
    """`scratch` with the words that the reference has for it."""
    scratch.__doc__ = words
    return scratch


def placeholder(use: Use, dtype: str) -> TileSpec:
    """32 bytes."""
    return _vec(1, 32 * 8 // DTYPE_BITS[dtype], dtype)


def like(name: str, dtype: str | None = None) -> Scratch:
    """As large as tile `name`; a placeholder on a5."""

    def scratch(use: Use) -> TileSpec | None:
        tile = use.tile(name)
        if not is_a2a3(use):
            return placeholder(use, dtype or tile.dtype)
        return _vec(tile.rows, tile.cols, dtype or tile.dtype, *known_valid(tile))

    return _said(scratch, f"as large as {name}{f', of {dtype}' if dtype else ''}; 32 bytes on a5")


def rows_of(name: str, rows: int) -> Scratch:
    """`rows` rows as wide as tile `name`; a placeholder on a5."""

    def scratch(use: Use) -> TileSpec | None:
        tile = use.tile(name)
        return _vec(rows, tile.cols, tile.dtype) if is_a2a3(use) else placeholder(use, tile.dtype)

    return _said(scratch, f"{rows} row{'s'[: rows != 1]} as wide as {name}; 32 bytes on a5")


def for_select(use: Use) -> TileSpec | None:
    """Sixteen words for the masks."""
    return _vec(1, 16, "i32") if is_a2a3(use) else placeholder(use, "i32")


def for_prelu(use: Use) -> TileSpec | None:
    """One packed mask a row, and one more."""
    if not is_a2a3(use):
        return placeholder(use, "ui8")
    rows, cols = known_valid(use.tile("dst"))
    packed = -(-cols // 8)
    return _vec(rows + 1, max(32, -(-packed // 32) * 32), "ui8", rows, packed)


def for_transpose(use: Use) -> TileSpec | None:
    """As large as the source where the library transposes in blocks."""
    src, dst = use.tile("src"), use.tile("dst")
    size = element_bytes(src)
    block = 32 // size
    in_blocks = dst.cols % (32 if size == 1 else 16) == 0 and src.cols % block == 0 and src.cols // block <= 255
    return like("src")(use) if is_a2a3(use) and in_blocks else placeholder(use, src.dtype)


def for_float(name: str) -> Scratch:
    """As large as tile `name`, for floats only."""

    def scratch(use: Use) -> TileSpec | None:
        tile = use.tile(name)
        return _vec(tile.rows, tile.cols, tile.dtype) if "f" in tile.dtype else None

    return _said(scratch, f"as large as {name}, for floats only")


def for_sort(use: Use) -> TileSpec | None:
    """As large as the source where its width is not a multiple of 32."""
    src = use.tile("src")
    whole = src.v_cols is not None and src.v_cols % 32 == 0
    return None if whole or not is_a2a3(use) else _vec(src.rows, src.cols, src.dtype)


def for_column_sum(use: Use) -> TileSpec | None:
    """Half the rows where sums are made in pairs."""
    src = use.tile("src")
    if use.attr("isBinary") != "true":
        return None
    rows, cols = known_valid(src)
    line = 32 // element_bytes(src)
    return _vec(-(-rows // 2), -(-cols // line) * line, src.dtype, -(-rows // 2), cols)


def for_ramp(use: Use) -> TileSpec | None:
    """Words that the vector unit fills, on a2a3."""
    if not is_a2a3(use):
        return None
    return _vec(1, 192 if element_bytes(use.tile("dst")) == 4 else 448, "i32")


def for_merge(use: Use) -> TileSpec | None:
    """As wide as all sources together."""
    sources = [use.tile(operand.name) for operand in use.row.ins if operand.name.startswith("src")]
    width = max(sum(tile.cols for tile in sources), use.tile("dst").cols)
    return _vec(1, width, sources[0].dtype)


def row_scratch_bytes(rows: int | None) -> int:
    """Bytes of scratch that a row broadcast over `rows` valid rows needs on a2a3."""
    if rows is None:
        return 8192
    return -(-rows // 8) * 256 if rows < 256 else 30 * 256


def for_row_expand(use: Use) -> TileSpec | None:
    """Room to spread the column, on a2a3 only; without it the library takes UB bytes 184 KiB to 192 KiB."""
    dst = use.tile("dst")
    column = use.tile("rhs" if agree(use.tile("lhs").valid, dst.valid) else "lhs")
    if not is_a2a3(use) or column.blayout is not BLayout.COL_MAJOR:
        return None
    return _vec(1, max(row_scratch_bytes(dst.v_rows), 32) // element_bytes(dst), dst.dtype)


def conversion_bytes(use: Use) -> int:
    """Bytes of scratch that a conversion without saturation needs on a2a3; 0 where it needs none."""
    src, dst = use.tile("src"), use.tile("dst")
    if use.attr("satmode") == "ON" or not is_a2a3(use):  # unsaid, it is OFF
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


def for_conversion(use: Use) -> TileSpec | None:
    """Room for the wide intermediate."""
    needed = conversion_bytes(use)
    return _vec(1, max(32, -(-needed // 32) * 32), "i8") if needed else None
