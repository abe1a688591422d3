"""Uses that the op table refuses, written as changes of the legal examples, and which of its rules they break.

A line `a2a3-row_max-vec-vec-vec dst.valid=8x1 => reduces 64 rows to 8x1; ...` names an example, what is changed in it
and what is said then. Changes: `tile.rows=8` (any field of a tile), `tile.valid=8x?`, `view.shape=4x8`,
`operand=f16` (another scalar), `tmp:=src` (a copy of another operand), `operand=` (left out), `@attr=word`,
`@attr=` (left out), `#row=5` (a constant index).
"""

import sys
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

from pto_buf.dialect.table import ROWS
from pto_buf.dialect.table.checks import require
from pto_buf.dialect.table.row import OpRow, TableError, Use, Value, ViewSpec
from pto_buf.tile import TileSpec
from support.op_examples import Example, examples_of

FOLDER = Path(__file__).parents[1] / "dialect" / "refusals"
TABLE = Path(sys.modules[OpRow.__module__].__file__ or "").parent


@dataclass(frozen=True)
class Refusal:
    """An example that is changed, and what is said of it."""

    example: Example
    edits: tuple[str, ...]
    message: str

    @property
    def name(self) -> str:
        return " ".join((self.example.name, *self.edits))

    @property
    def changed(self) -> Example:
        use = self.example.use
        for edit in self.edits:
            use = edited(use, edit)
        return replace(self.example, use=use)


@cache
def examples() -> Mapping[str, Example]:
    """The legal uses, by name."""
    found = [example for row in ROWS for example in examples_of(row)]
    named = {example.name: example for example in found}
    assert len(named) == len(found)
    return named


def refusals(path: Path) -> Iterable[Refusal]:
    """Those of one file."""
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            head, message = line.split(" => ")
            name, *edits = head.split()
            yield Refusal(examples()[name], tuple(edits), message)


def edited(use: Use, edit: str) -> Use:
    """`use` with one change."""
    name, _, word = edit.partition("=")
    if name.startswith("@"):
        kept = {attr: value for attr, value in use.attrs.items() if attr != name[1:]}
        return replace(use, attrs=kept | ({name[1:]: word} if word else {}))
    if name.startswith("#"):
        return replace(use, constants={**use.constants, name[1:]: int(word)})
    operands = dict(use.operands)
    if name.endswith(":"):
        operands[name[:-1]] = operands[word]
    elif "." in name:
        operand, field = name.split(".")
        operands[operand] = _with_field(operands[operand], field, word)
    elif word:
        operands[name] = word
    else:
        del operands[name]
    return replace(use, operands=operands)


def _with_field(value: Value, field: str, word: str) -> Value:
    if isinstance(value, ViewSpec):
        return replace(value, shape=_extents(word)) if field == "shape" else replace(value, dtype=word)
    assert isinstance(value, TileSpec)
    if field == "valid":
        return value.with_valid(*_extents(word))
    old = getattr(value, field)
    changed: dict[str, Any] = {field: word if isinstance(old, str) and type(old) is str else type(old)(word)}
    if field in ("rows", "cols"):  # a tile that is valid as a whole stays so
        valid = f"v_{field}"
        changed[valid] = min(changed[field], getattr(value, valid) or 0) if getattr(value, valid) != old else int(word)
    return replace(value, **changed)


def _extents(word: str) -> tuple[int | None, ...]:
    return tuple(None if extent == "?" else int(extent) for extent in word.split("x"))


# --- which rules are asked and broken ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rule:
    """A question that a row's check asks: where in the table, called from where, about which operand."""

    row: str
    places: tuple[str, ...]
    operand: str | None

    def __str__(self) -> str:
        return f"{self.row}: {' > '.join(self.places)} about {self.operand or 'the whole use'}"


@contextmanager
def watching(row: OpRow, asked: Callable[[Rule, bool], None]) -> Generator[None]:
    """Tells `asked` of each rule that the table asks in the block, and whether it holds."""

    def profile(frame: FrameType, event: str, arg: object) -> None:
        if event != "call":
            return
        if frame.f_code is require.__code__:
            asked(_rule(row, frame), bool(frame.f_locals["holds"]))
        elif frame.f_code is TableError.__init__.__code__ and not _called_by_require(frame):
            asked(_rule(row, frame), False)

    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(None)


def _called_by_require(frame: FrameType) -> bool:
    return frame.f_back is not None and frame.f_back.f_code is require.__code__


def _rule(row: OpRow, frame: FrameType) -> Rule:
    places: list[str] = []
    caller = frame.f_back
    while caller is not None and caller.f_code is not OpRow.form.__code__:
        path = Path(caller.f_code.co_filename)
        if path.resolve().parent == TABLE.resolve():
            places.append(f"{path.name}:{caller.f_lineno}")
        caller = caller.f_back
    operand = frame.f_locals.get("operand")
    return Rule(row.dsl, tuple(reversed(places)), operand)
