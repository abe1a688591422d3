"""Views on a terminal, in colour. The plain form of the same parts is in `pto_buf.report.parts`."""

from collections.abc import Iterable
from itertools import groupby

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from pto_buf.report.parts import Lanes, Part, scale
from pto_buf.report.table import Table

_SLOT_COLOURS = ("blue", "dark_orange3", "green", "magenta", "cyan", "red", "yellow", "purple")
_GAP_COLOURS = {"s": "bold red", "f": "bold yellow", "b": "bold yellow", "i": "bold cyan", "q": "bold cyan"}


def draw(parts: Iterable[Part], console: Console) -> None:
    """Print the parts below one another."""
    console.print(Group(*(_drawn(part) for part in parts)))


def _drawn(part: Part) -> RenderableType:
    match part:
        case str():
            return Text(part)
        case Table():
            return _table(part)
        case Lanes():
            return _lanes(part)


def _table(table: Table) -> RichTable:
    drawn = RichTable(
        title=table.title or None, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False
    )
    for column, head in enumerate(table.head):
        drawn.add_column(Text(head), justify="left" if column in table.words else "right", overflow="fold")
    for row in table.rows:
        drawn.add_row(*(Text(cell) for cell in row))
    return drawn


def _lanes(lanes: Lanes) -> Text:
    drawn = Text(no_wrap=True, overflow="crop")
    drawn.append(f"{'':<4}  {scale(lanes)}\n", style="dim")
    for name, marks in lanes.rows:
        drawn.append(f"{name:<4}  ")
        for mark, run in groupby(marks):
            drawn.append("".join(run), style=_style(mark))
        drawn.append("\n")
    return drawn.append(lanes.legend, style="dim")


def _style(mark: str) -> str:
    if mark.isdigit():
        return f"white on {_SLOT_COLOURS[int(mark) % len(_SLOT_COLOURS)]}"
    return {"#": "white on grey42", "-": "grey42", ".": "grey30"}.get(mark, _GAP_COLOURS.get(mark, "white on grey42"))
