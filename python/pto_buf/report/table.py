"""A table for people: plain text, lined up; the terminal's view draws the same one."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """`words` are the numbers of the columns that hold words, which line up on the left; numbers do on the right."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: tuple[int, ...] = (0,)
    title: str = ""


def plain(table: Table) -> str:
    """The title on a line of its own, the head, and a line for each row."""
    lines = [table.head, *table.rows]
    wide = [max(len(row[column]) for row in lines) for column in range(len(table.head))]
    text = [_line(row, wide, table.words) for row in lines]
    return "\n".join([table.title, *text] if table.title else text) + "\n"


def _line(row: Sequence[str], wide: Sequence[int], words: Sequence[int]) -> str:
    cells = (
        cell.ljust(width) if column in words else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(row, wide, strict=True))
    )
    return "  ".join(cells).rstrip()
