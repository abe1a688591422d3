"""Which names are live where, by a structured backward walk over the syntax tree. Pure; work linear in the text."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast

Names = frozenset[str]
_NONE: Names = frozenset()

_LEAVES = (ast.Break, ast.Continue, ast.Return)


def names_in(node: ast.AST) -> tuple[dict[str, None], dict[str, None]]:
    """The names read and the names bound in a node, each in the order of the text, in one walk."""
    reads: dict[str, None] = {}
    binds: dict[str, None] = {}
    stack = [node]
    while stack:
        one = stack.pop()
        if type(one) is ast.Name:
            (reads if type(one.ctx) is ast.Load else binds)[one.id] = None
        elif type(one) is not ast.Constant:
            stack.extend(_children(one))
    return reads, binds


def _children(node: ast.AST) -> list[ast.AST]:
    """The nodes directly below, last one first."""
    found: list[ast.AST] = []
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, ast.AST):
            found.append(value)
        elif isinstance(value, list):
            found.extend(item for item in cast(list[object], value) if isinstance(item, ast.AST))
    found.reverse()
    return found


def loads(node: ast.AST | None) -> Names:
    """The names read in an expression."""
    return _NONE if node is None else frozenset(names_in(node)[0])


def stores(node: ast.AST) -> Names:
    """The names bound anywhere in a statement or target."""
    return frozenset(names_in(node)[1])


def assigned(body: Sequence[ast.stmt]) -> list[str]:
    """The names bound in a body, in the order of the text."""
    found: dict[str, None] = {}
    for statement in body:
        found |= names_in(statement)[1]
    return list(found)


@dataclass(frozen=True)
class _Effect:
    reads: Names
    """Read before it is certainly bound."""
    binds: Names
    """Certainly bound."""
    leaves: bool
    """May leave the body early."""


@dataclass
class Flow:
    """Liveness of the names of one function body."""

    _effects: dict[int, _Effect] = field(default_factory=dict[int, _Effect])
    _live_out: dict[int, Names] = field(default_factory=dict[int, Names])

    def run(self, body: Sequence[ast.stmt], live_at_end: Names = _NONE) -> None:
        """Analyse a function body."""
        self._walk(body, live_at_end, live_at_end)

    def live_after(self, statement: ast.stmt) -> Names:
        """Names that may be read after a loop or branch."""
        return self._live_out.get(id(statement), _NONE)

    def reads_in(self, loop: ast.For | ast.While) -> Names:
        """Names that a trip of a loop may read before it binds them."""
        reads = self._of_body(loop.body).reads
        return reads | loads(loop.test) if isinstance(loop, ast.While) else reads

    # --- effects, bottom up ---

    def _of_body(self, body: Sequence[ast.stmt]) -> _Effect:
        reads: set[str] = set()
        binds: set[str] = set()
        leaves = False
        for statement in body:
            effect = self._of(statement)
            reads |= effect.reads - binds
            if not leaves:
                binds |= effect.binds
            leaves |= effect.leaves
        return _Effect(frozenset(reads), frozenset(binds), leaves)

    def _of(self, statement: ast.stmt) -> _Effect:
        key = id(statement)
        if key not in self._effects:
            self._effects[key] = self._compute(statement)
        return self._effects[key]

    def _compute(self, statement: ast.stmt) -> _Effect:
        match statement:
            case ast.For():
                body = self._of_body(statement.body)
                return _Effect(loads(statement.iter) | (body.reads - stores(statement.target)), _NONE, False)
            case ast.While():
                return _Effect(loads(statement.test) | self._of_body(statement.body).reads, _NONE, False)
            case ast.If():
                then, other = self._of_body(statement.body), self._of_body(statement.orelse)
                reads = loads(statement.test) | then.reads | other.reads
                return _Effect(reads, then.binds & other.binds, then.leaves or other.leaves)
            case ast.With():
                body = self._of_body(statement.body)
                header: Names = _NONE
                for item in statement.items:
                    header |= loads(item.context_expr)
                return _Effect(header | body.reads, body.binds, body.leaves)
            case ast.AugAssign():
                return _Effect(loads(statement.value) | stores(statement.target), stores(statement.target), False)
            case ast.FunctionDef() | ast.ClassDef():
                return _Effect(_NONE, frozenset({statement.name}), False)
            case _:
                reads, binds = names_in(statement)
                return _Effect(frozenset(reads), frozenset(binds), isinstance(statement, _LEAVES))

    # --- liveness, top down ---

    def _walk(self, body: Sequence[ast.stmt], live: Names, at_leave: Names) -> None:
        for statement in reversed(body):
            live = self._before(statement, live, at_leave)

    def _before(self, statement: ast.stmt, live: Names, at_leave: Names) -> Names:
        effect = self._of(statement)
        match statement:
            case ast.For() | ast.While():
                self._live_out[id(statement)] = live
                around = live | self.reads_in(statement)
                self._walk(statement.body, around, around)
            case ast.If():
                self._live_out[id(statement)] = live
                self._walk(statement.body, live, at_leave)
                self._walk(statement.orelse, live, at_leave)
            case ast.With():
                self._walk(statement.body, live, at_leave)
            case _:
                pass
        after = effect.reads | (live - effect.binds)
        return after | at_leave if effect.leaves else after


def never_negative(body: Sequence[ast.stmt], name: str, known: Names) -> bool:
    """Whether every assignment to `name` in a body keeps it at or above 0 if it was: sums and products of itself, of
    non-negative literals and of the names in `known`."""
    for statement in _assignments(body):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for target in targets:
            if name not in stores(target):
                continue
            if not isinstance(target, ast.Name) or statement.value is None:
                return False
            if not _stays_positive(statement.value, known | {name}):
                return False
    return not any(
        isinstance(node, ast.For) and name in stores(node.target) for statement in body for node in ast.walk(statement)
    )


def _assignments(body: Sequence[ast.stmt]) -> Iterator[ast.Assign | ast.AnnAssign]:
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, (ast.Assign, ast.AnnAssign)):
                yield node


def _stays_positive(node: ast.expr, known: Names) -> bool:
    match node:
        case ast.Constant(value=int() as value):
            return value >= 0
        case ast.Name():
            return node.id in known
        case ast.BinOp(op=ast.Add() | ast.Mult() | ast.FloorDiv() | ast.LShift()):
            return _stays_positive(node.left, known) and _stays_positive(node.right, known)
        case ast.BinOp(op=ast.Mod()):
            return True
        case ast.BinOp(op=ast.BitAnd()):
            return _stays_positive(node.left, known) or _stays_positive(node.right, known)
        case _:
            return False
