"""Rows of sorting and merging sorted lists."""

from pto_buf.dialect.table.checks import (
    at_least_bytes,
    is_a2a3,
    require,
    same_shape,
)
from pto_buf.dialect.table.dtypes import on_both, pairs
from pto_buf.dialect.table.families import DST, OPTIONAL_SCRATCH, SRC, V_S_0, asked, vector_forms
from pto_buf.dialect.table.row import Kind, Operand, OpRow, Role, Use
from pto_buf.dialect.table.scratch import for_merge, for_sort
from pto_buf.dialect.table.vocabulary import Attr


def _check_sort(use: Use) -> None:
    if "tmp" in use.operands and is_a2a3(use):
        at_least_bytes(use, "tmp", use.tile("src").footprint)


def _check_one_row(use: Use, operands: tuple[str, ...]) -> None:
    for name in operands:
        if name in use.operands:
            rows = use.tile(name).rows
            require(rows == 1, use, f"{name} has {rows} rows, must be one", name)


def _check_merge_blocks(use: Use) -> None:
    _check_one_row(use, ("src", "dst"))
    same_shape("src", "dst")(use)
    length = use.constants.get("blockLen")
    require(
        length is None or (length > 0 and length % 64 == 0),
        use,
        f"blockLen is {length}, must be a positive multiple of 64",
        "blockLen",
    )
    cols = use.tile("src").v_cols
    if length is not None and cols is not None:
        step = _AT_ONCE * length
        require(
            cols % step == 0 and 1 <= cols // step <= _MOST_MERGES,
            use,
            f"src has {cols} valid columns, must be 1 to {_MOST_MERGES} times {step}: {_AT_ONCE} lists of {length}",
            "src",
        )


_AT_ONCE = 4
"""Lists that one merge takes; the library asks for whole merges."""
_MOST_MERGES = 255


def _sources(count: int) -> tuple[str, ...]:
    return tuple(f"src{number}" for number in range(count))


def _check_merge(use: Use) -> None:
    sources = tuple(operand.name for operand in use.row.ins if operand.name.startswith("src"))
    _check_one_row(use, (*sources, "tmp", "dst"))
    if "tmp" in use.operands:
        wanted = max(sum(use.tile(name).cols for name in sources), use.tile("dst").cols)
        found = use.tile("tmp").cols
        require(found >= wanted, use, f"tmp has {found} columns, needs {wanted}", "tmp", "scratch")


def _merge(count: int, *, scratch: bool) -> OpRow:
    """Sorted lists become one. Without scratch, the text says `no_tmp`."""
    sources = _sources(count)
    tiles = (*sources, *(("tmp",) if scratch else ()), "dst")
    dtypes = on_both(frozenset((name,) * len(tiles) for name in ("f16", "f32")))
    return OpRow(
        "tmrgsort",
        f"mrgsort{count}" if scratch else f"mrgsort{count}_no_tmp",
        ins=(
            *(Operand(name) for name in sources),
            *((Operand("tmp", role=Role.SCRATCH),) if scratch else ()),
        ),
        out=DST,
        more_outs=(Operand("executed", Kind.SCALAR, Role.WRITE),),
        forms=vector_forms(tiles, tiles, dtypes),
        check=_check_merge,
        attrs=(Attr("exhausted", "bool", "false"), *(() if scratch else (Attr("no_tmp", "unit", required=True),))),
        inner_attrs=True,
        deduce=asked(),
        scratch=for_merge if scratch else None,
        internal_flags=V_S_0,
    )


SORT_ROWS: tuple[OpRow, ...] = (
    OpRow(
        "tsort32",
        "sort32",
        ins=(SRC, Operand("idx"), OPTIONAL_SCRATCH),
        out=DST,
        forms=vector_forms(
            ("src", "idx", "tmp", "dst"),
            ("src", "idx", "dst"),
            on_both(pairs("f16 i32 f16", "f32 i32 f32")),
        ),
        check=_check_sort,
        deduce=asked(),
        scratch=for_sort,
    ),
    OpRow(
        "tmrgsort",
        "mrgsort",
        ins=(SRC, Operand("blockLen", Kind.SCALAR)),
        out=DST,
        forms=vector_forms(
            ("src", "dst"),
            ("src", "blockLen", "dst"),
            on_both(
                frozenset((name, length, name) for name in ("f16", "f32") for length in ("i32", "i64", "i16", "ui32"))
            ),
        ),
        check=_check_merge_blocks,
        attrs=(Attr("exhausted", "bool", "false"),),
        deduce=asked(like_name="src"),
    ),
    *(_merge(count, scratch=False) for count in (2, 3, 4)),
    *(_merge(count, scratch=True) for count in (2, 3, 4)),
)
