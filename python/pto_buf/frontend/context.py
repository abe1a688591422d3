"""What the parts of the reader share while they read one kernel."""

import ast
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Block, SSAValue

from pto_buf.errors import Collector, DiagnosticError, Note, Place
from pto_buf.frontend.buffers.held import Held
from pto_buf.frontend.buffers.placement import OwnedSet
from pto_buf.frontend.builder import Builder
from pto_buf.frontend.frames import Frame
from pto_buf.frontend.kinds import TOO_LARGE, UNSUPPORTED
from pto_buf.frontend.names import MemRefDecl
from pto_buf.frontend.syntax.module import Function
from pto_buf.frontend.syntax.samples import Shaped
from pto_buf.frontend.values import PoisonedError, Scalar, Scope, SlotSet, Tile, Value
from pto_buf.hw import Space, Target
from pto_buf.locations import location

MOST_STATEMENTS = 30_000
"""Statements that a kernel may come to once its loops are unrolled and its helpers written out."""


class TooLongError(Exception):
    """A kernel that comes to too many statements: nothing more of it is read."""

    def __init__(self, error: DiagnosticError):
        super().__init__(str(error))
        self.error = error


class SourceText:
    """A text the user wrote: places of its syntax tree's nodes, columns counted in characters from 1."""

    def __init__(self, text: str, file: str):
        self.text = text
        self.file = file
        self._lines = text.split("\n")

    def place(self, node: ast.AST) -> Place:
        """Where a node starts."""
        line, offset = getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
        if not 1 <= line <= len(self._lines):
            return Place(self.file, line)
        row = self._lines[line - 1]
        if not row.isascii():  # `ast` counts bytes
            offset = len(row.encode()[:offset].decode(errors="replace"))
        return Place(self.file, line, offset + 1)

    def location(self, node: ast.AST) -> LocationAttr:
        """The location attribute of a node."""
        place = self.place(node)
        return location(place.file, place.line, place.col)


class SpannedSource(SourceText):
    """Places of nodes that were made from objects with spans: their text is not at hand, their columns are right."""

    def __init__(self, file: str):
        super().__init__("", file)

    def place(self, node: ast.AST) -> Place:
        return Place(self.file, getattr(node, "lineno", 0), getattr(node, "col_offset", -1) + 1)


Evaluate = Callable[[ast.expr], Value]


class Moved:
    """Tiles moved to another space for an op that reads them there, known in the region that moved them."""

    def __init__(self):
        self._levels: list[dict[tuple[SSAValue, Space], Tile]] = [{}]

    def get(self, tile: SSAValue, space: Space) -> Tile | None:
        """The tile as it was moved before, in this region or one around it."""
        return next((level[tile, space] for level in self._levels if (tile, space) in level), None)

    def put(self, tile: SSAValue, space: Space, moved: Tile) -> None:
        """Remember a move."""
        self._levels[-1][tile, space] = moved

    @contextmanager
    def region(self) -> Generator[None]:
        """What is moved inside is not known behind it: it may not have run."""
        self._levels.append({})
        try:
            yield
        finally:
            self._levels.pop()


@dataclass
class Context:
    """One kernel while it is read."""

    source: SourceText
    target: Target
    builder: Builder
    collector: Collector
    globals: Mapping[str, object]
    """What module constants and imported names stand for."""
    scope: Scope = field(default_factory=Scope)
    held: Held = field(default_factory=Held)
    frames: list[Frame] = field(default_factory=list[Frame])
    """The counted loops around the current statement, outermost first."""
    owned: dict[OwnedSet, None] = field(default_factory=dict[OwnedSet, None])
    """Our own sets, in the order of the text."""
    declared: list[SlotSet] = field(default_factory=list[SlotSet])
    memrefs: dict[ast.expr, MemRefDecl] = field(default_factory=dict[ast.expr, MemRefDecl])
    """The declarations that variables hold, by the call that made them."""
    depth: int = 0
    """Loops and branches around the current statement."""
    samples: Mapping[str, Shaped] = field(default_factory=dict[str, Shaped])
    """What the file's own calls pass for parameters without a shape."""
    helpers: Mapping[str, Function] = field(default_factory=dict[str, Function])
    """Functions that are spliced where they are called, by their name."""
    splice: "Callable[[Context, Function, ast.Call, Evaluate], Value] | None" = None
    """Reads a helper's body in place of a call."""
    moved: Moved = field(default_factory=Moved)
    statements: int = 0
    """Statements read, those of helpers and unrolled loops each time anew."""

    @property
    def pipeline(self) -> Frame | None:
        """The innermost `pl.pipeline` around the current statement."""
        return next((frame for frame in reversed(self.frames) if frame.stage is not None), None)

    def count(self, node: ast.AST) -> None:
        """Count a statement. Raises TooLongError for one too many."""
        self.statements += 1
        if self.statements > MOST_STATEMENTS:
            message = f"the kernel comes to more than {MOST_STATEMENTS:,} statements"
            raise TooLongError(self.error(node, message, help="use pl.range in place of pl.unroll", kind=TOO_LARGE))

    def scalar(self, value: SSAValue) -> Scalar:
        """An index value that is known not to be negative."""
        return Scalar(value, "index", 0)

    def place(self, node: ast.AST) -> Place:
        return self.source.place(node)

    def error(
        self, node: ast.AST, message: str, *notes: Note, kind: str = UNSUPPORTED, help: str | None = None
    ) -> DiagnosticError:
        """An error at a node, to be raised."""
        return DiagnosticError.at(self.place(node), message, *notes, help=help, kind=kind)

    @contextmanager
    def at(self, node: ast.AST) -> Generator[None]:
        """Ops made inside get the node's place."""
        with self.builder.at(node):
            yield

    @contextmanager
    def region(self, block: Block, loop: bool) -> Generator[None]:
        """What is read inside goes to `block`, the body of a loop or an arm of a branch."""
        self.depth += 1
        try:
            with self.builder.inside(block), self.held.region(loop), self.moved.region():
                yield
        finally:
            self.depth -= 1

    def attempt(self, action: Callable[[], None], otherwise: Callable[[], None]) -> None:
        """Run `action`; on a mistake of the user's remember it and run `otherwise`, so that reading goes on."""
        try:
            action()
        except DiagnosticError as err:
            self.collector.add(err)
            otherwise()
        except PoisonedError:
            otherwise()
