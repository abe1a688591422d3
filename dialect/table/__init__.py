"""The op table: one row per tile op, from which everything else is made."""

from collections.abc import Mapping
from functools import cache

from pto_buf.dialect.table.compare import COMPARE_ROWS
from pto_buf.dialect.table.convert import CONVERT_ROWS
from pto_buf.dialect.table.cube import CUBE_ROWS
from pto_buf.dialect.table.elementwise import ELEMENTWISE_ROWS
from pto_buf.dialect.table.expand import EXPAND_ROWS
from pto_buf.dialect.table.gather import GATHER_ROWS
from pto_buf.dialect.table.indirect import INDIRECT_ROWS
from pto_buf.dialect.table.memory import MEMORY_ROWS
from pto_buf.dialect.table.moves import MOVE_ROWS
from pto_buf.dialect.table.quantise import QUANTISE_ROWS
from pto_buf.dialect.table.rearrange import REARRANGE_ROWS
from pto_buf.dialect.table.reduce import REDUCE_ROWS
from pto_buf.dialect.table.row import OpRow
from pto_buf.dialect.table.scalar import SCALAR_ROWS
from pto_buf.dialect.table.sort import SORT_ROWS

ROWS: tuple[OpRow, ...] = (
    *MEMORY_ROWS,
    *MOVE_ROWS,
    *CUBE_ROWS,
    *ELEMENTWISE_ROWS,
    *SCALAR_ROWS,
    *REDUCE_ROWS,
    *EXPAND_ROWS,
    *CONVERT_ROWS,
    *SORT_ROWS,
    *GATHER_ROWS,
    *INDIRECT_ROWS,
    *REARRANGE_ROWS,
    *QUANTISE_ROWS,
    *COMPARE_ROWS,
)


@cache
def rows_by_mnemonic() -> Mapping[str, OpRow]:
    """Rows by their name in `pto`; of those that share a name, the first."""
    return {row.mnemonic: row for row in reversed(ROWS)}


@cache
def variants() -> Mapping[str, tuple[OpRow, ...]]:
    """All rows of each name in `pto`: they differ in what their operands are."""
    found: dict[str, list[OpRow]] = {}
    for row in ROWS:
        found.setdefault(row.mnemonic, []).append(row)
    return {mnemonic: tuple(rows) for mnemonic, rows in found.items()}


@cache
def rows_by_dsl() -> Mapping[str, OpRow]:
    """Rows by their name in pypto."""
    return {row.dsl: row for row in ROWS}
