"""The op table: one row per tile op, from which everything else is made."""

from collections.abc import Mapping
from functools import cache

from pto_buf.dialect.table.cube import CUBE_ROWS
from pto_buf.dialect.table.elementwise import ELEMENTWISE_ROWS
from pto_buf.dialect.table.memory import MEMORY_ROWS
from pto_buf.dialect.table.row import OpRow

ROWS: tuple[OpRow, ...] = (*MEMORY_ROWS, *CUBE_ROWS, *ELEMENTWISE_ROWS)


@cache
def rows_by_mnemonic() -> Mapping[str, OpRow]:
    """Rows by their name in `pto`."""
    return {row.mnemonic: row for row in ROWS}


@cache
def rows_by_dsl() -> Mapping[str, OpRow]:
    """Rows by their name in pypto."""
    return {row.dsl: row for row in ROWS}
