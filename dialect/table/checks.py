"""Rules over shapes and layouts that rows share. Each raises TableError naming the rule and the value found."""

from collections.abc import Sequence

from pto_buf.dialect.table.row import TableError, Use, ViewSpec
from pto_buf.hw import Space
from pto_buf.tile import BLayout, SLayout, TileSpec

_KIND = "shape-or-dtype"


def fmt(shape: Sequence[int | None]) -> str:
    return "x".join("?" if extent is None else str(extent) for extent in shape)


def agree(left: Sequence[int | None], right: Sequence[int | None]) -> bool:
    """Whether two extents can be the same: an unknown one agrees with any."""
    return len(left) == len(right) and all(a is None or b is None or a == b for a, b in zip(left, right, strict=True))


def require(holds: bool, use: Use, message: str, operand: str | None = None) -> None:
    if not holds:
        raise TableError(f"'{use.row.mnemonic}': {message}", _KIND, operand)


def _view(use: Use, name: str) -> ViewSpec:
    value = use.operands[name]
    assert isinstance(value, ViewSpec), name
    return value


def check_load(use: Use) -> None:
    src, dst = _view(use, "src"), use.tile("dst")
    require(
        agree(_minor_two(src.shape), dst.valid),
        use,
        f"loads {fmt(src.shape)} into a tile of valid extent {fmt(dst.valid)}; they must be equal",
        "dst",
    )


def check_store(use: Use) -> None:
    src, dst = use.tile("src"), _view(use, "dst")
    require(
        agree(src.valid, _minor_two(dst.shape)),
        use,
        f"stores a tile of valid extent {fmt(src.valid)} to {fmt(dst.shape)}; they must be equal",
        "src",
    )
    if src.space is Space.ACC and use.target.name == "a2a3":
        require(1 <= src.cols <= 4095, use, f"an accumulator of {src.cols} columns; 1 to 4095 can be stored", "src")


def _minor_two(shape: Sequence[int | None]) -> tuple[int | None, int | None]:
    """The two extents that a tile sees of a view: leading dims fold into the rows."""
    rows: int | None = 1
    for extent in shape[:-1]:
        rows = None if rows is None or extent is None else rows * extent
    return rows, shape[-1] if shape else 1


def check_move(use: Use) -> None:
    src, dst = use.tile("src"), use.tile("dst")
    if use.target.name == "a2a3" or src.space is Space.MAT:
        require(
            src.shape == dst.shape and agree(src.valid, dst.valid),
            use,
            f"moves {fmt(src.shape)} (valid {fmt(src.valid)}) into {fmt(dst.shape)} (valid {fmt(dst.valid)}); "
            "they must be equal (a window needs textract)",
            "dst",
        )
    check_matrix_layout(use, "dst")


def check_extract(use: Use) -> None:
    src, dst = use.tile("src"), use.tile("dst")
    for name, size, extent in (("row", dst.rows, src.rows), ("col", dst.cols, src.cols)):
        start = use.constants.get(name)
        if start is None:
            require(size <= extent, use, f"a window of {size} {name}s does not fit a source of {extent}", "src")
        else:
            require(
                start >= 0 and start + size <= extent,
                use,
                f"window {name}s [{start}, {start + size}) leave the source's {extent}",
                "src",
            )
    check_matrix_layout(use, "dst")


def check_matrix_layout(use: Use, name: str) -> None:
    """left, right and acc have one hardware layout each."""
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
    )


def same_valid(use: Use) -> None:
    """All tiles of an elementwise op are row_major and have one valid extent."""
    tiles = [(name, value) for name, value in use.operands.items() if isinstance(value, TileSpec)]
    first_name, first = tiles[0]
    for name, tile in tiles:
        require(
            agree(first.valid, tile.valid),
            use,
            f"{first_name} has valid extent {fmt(first.valid)}, {name} {fmt(tile.valid)}; they must be equal",
            name,
        )


def check_matmul(use: Use) -> None:
    lhs, rhs, dst = use.tile("lhs"), use.tile("rhs"), use.tile("dst")
    (m, k), (k2, n), (dm, dn) = (_static(tile) for tile in (lhs, rhs, dst))
    require(k == k2, use, f"contracts {k} columns of lhs against {k2} rows of rhs", "rhs")
    require((m, n) == (dm, dn), use, f"the product is {m}x{n}, the accumulator {dm}x{dn}", "dst")
    for name, extent in (("rows", m), ("depth", k), ("columns", n)):
        require(extent <= 4095, use, f"{name} {extent}; at most 4095")
    if "bias" in use.operands:
        bias = use.tile("bias")
        require(bias.rows == 1 and bias.cols == n, use, f"bias is {fmt(bias.shape)}, must be 1x{n}", "bias")
        require(bias.dtype == dst.dtype, use, f"bias is {bias.dtype}, must be {dst.dtype} as the accumulator", "bias")


def _static(tile: TileSpec) -> tuple[int, int]:
    """Valid extents where they are known, physical ones else (as the assembler takes them)."""
    return (
        tile.rows if tile.v_rows is None else tile.v_rows,
        tile.cols if tile.v_cols is None else tile.v_cols,
    )
