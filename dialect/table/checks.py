"""Rules that rows share, and the words they report with. Each raises TableError naming the rule and the value found."""

from collections.abc import Sequence

from pto_buf.dialect.table.row import Check, TableError, Use
from pto_buf.hw import Space
from pto_buf.tile import DTYPE_BITS, BLayout, SLayout, TileSpec

SHAPE = "shape-or-dtype"
LAYOUT = "layout"


def fmt(shape: Sequence[int | None]) -> str:
    """`16x?`."""
    return "x".join("?" if extent is None else str(extent) for extent in shape)


def agree(left: Sequence[int | None], right: Sequence[int | None]) -> bool:
    """Whether two extents can be the same: an unknown one agrees with any."""
    return len(left) == len(right) and all(a is None or b is None or a == b for a, b in zip(left, right, strict=True))


def require(holds: bool, use: Use, message: str, operand: str | None = None, kind: str = SHAPE) -> None:
    """Raises TableError with the op's name before the message, unless the rule holds."""
    if not holds:
        raise TableError(f"'{use.row.mnemonic}': {message}", kind, operand)


def every(*checks: Check) -> Check:
    """All the rules, in this order."""

    def check(use: Use) -> None:
        for one in checks:
            one(use)

    return check


def present(use: Use, names: Sequence[str]) -> list[str]:
    """Those of `names` that the use has as tiles."""
    return [name for name in names if isinstance(use.operands.get(name), TileSpec)]


def same_valid(*names: str) -> Check:
    """The named tiles have one valid extent."""

    def check(use: Use) -> None:
        first, *rest = present(use, names)
        wanted = use.tile(first).valid
        for name in rest:
            found = use.tile(name).valid
            require(
                agree(wanted, found),
                use,
                f"{first} has valid extent {fmt(wanted)}, {name} {fmt(found)}; they must be equal",
                name,
            )

    return check


def same_shape(*names: str) -> Check:
    """The named tiles have one physical shape."""

    def check(use: Use) -> None:
        first, *rest = present(use, names)
        wanted = use.tile(first).shape
        for name in rest:
            found = use.tile(name).shape
            require(wanted == found, use, f"{first} is {fmt(wanted)}, {name} {fmt(found)}; they must be equal", name)

    return check


def row_major(*names: str) -> Check:
    """The named tiles have rows that lie one behind the other."""

    def check(use: Use) -> None:
        for name in present(use, names):
            found = use.tile(name).blayout
            require(found is BLayout.ROW_MAJOR, use, f"{name} is {found}, must be row_major", name, LAYOUT)

    return check


def unboxed(*names: str) -> Check:
    """The named tiles are not cut into boxes."""

    def check(use: Use) -> None:
        for name in present(use, names):
            found = use.tile(name).slayout
            require(found is SLayout.NONE_BOX, use, f"{name} has slayout {found}, must be none_box", name, LAYOUT)

    return check


def at_least_bytes(use: Use, name: str, least: int) -> None:
    """Tile `name` holds `least` bytes."""
    found = use.tile(name).footprint
    require(found >= least, use, f"{name} holds {found} bytes, needs {least}", name, "capacity-or-count")


def same_dtype(use: Use, name: str, as_name: str) -> None:
    """Tile `name` has the element type of tile `as_name`."""
    found, wanted = use.tile(name).dtype, use.tile(as_name).dtype
    require(found == wanted, use, f"{name} is {found}, must be {wanted} as {as_name}", name)


def wide_enough(use: Use, name: str, least: int) -> None:
    """Tile `name` has `least` valid columns, as far as they are known."""
    found = use.tile(name).v_cols
    require(found is None or found >= least, use, f"{name} has {found} valid columns, needs {least}", name)


def tall_enough(use: Use, name: str, least: int) -> None:
    """Tile `name` has `least` valid rows, as far as they are known."""
    found = use.tile(name).v_rows
    require(found is None or found >= least, use, f"{name} has {found} valid rows, needs {least}", name)


def not_empty(*names: str) -> Check:
    """The named tiles have at least one valid row and column."""

    def check(use: Use) -> None:
        for name in present(use, names):
            found = use.tile(name).valid
            require(0 not in found, use, f"{name} has valid extent {fmt(found)}; it must not be empty", name)

    return check


def precise_with_scratch(use: Use) -> None:
    """The precise form of an op works in a scratch tile."""
    require(
        use.attr("precisionType") != "high_precision" or "tmp" in use.operands,
        use,
        "precisionType high_precision needs tmp",
        "tmp",
        "scratch",
    )


def is_a2a3(use: Use) -> bool:
    return use.target.name == "a2a3"


def element_bytes(tile: TileSpec) -> int:
    return DTYPE_BITS[tile.dtype] // 8


def known_valid(tile: TileSpec) -> tuple[int, int]:
    """Valid extents where they are known, physical ones else (as the assembler takes them)."""
    return (
        tile.rows if tile.v_rows is None else tile.v_rows,
        tile.cols if tile.v_cols is None else tile.v_cols,
    )


def check_matrix_layout(use: Use, name: str) -> None:
    """left and right have one hardware layout each."""
    tile = use.tile(name)
    wanted = {
        Space.LEFT: (
            BLayout.COL_MAJOR if use.target.name == "a5" else BLayout.ROW_MAJOR,
            SLayout.ROW_MAJOR,
            512,
        ),
        Space.RIGHT: (BLayout.ROW_MAJOR, SLayout.COL_MAJOR, 512),
    }.get(tile.space)
    if wanted is None:
        return
    found = (tile.blayout, tile.slayout, tile.fractal)
    require(
        found == wanted,
        use,
        f"{name} in {tile.space} has layout {'/'.join(map(str, found))}; on {use.target.name} it must be "
        f"{'/'.join(map(str, wanted))}",
        name,
        LAYOUT,
    )
