"""Binding the arguments of a call to the parameters of an op of the DSL."""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import cast

from pto_buf.errors import near_miss
from pto_buf.frontend.context import Context, Evaluate
from pto_buf.frontend.kinds import ARGUMENTS, SHAPE
from pto_buf.frontend.names import DType, spelling
from pto_buf.frontend.scalars import integer
from pto_buf.frontend.values import Number, Poison, PoisonedError, Static, Tuple, Value, describe
from pto_buf.hw import Space

SPACES_THERE_ARE = "there is pl.Mem.Vec, Mat, Left, Right, Acc and Bias"


@dataclass(frozen=True)
class Parameters:
    """The parameters of an op: names in order, those that may be left out, and other spellings of some.

    The first `positional` may be given by position.
    """

    names: tuple[str, ...]
    positional: int
    optional: frozenset[str]
    aliases: Mapping[str, str]


@cache
def parameters(signature: str) -> Parameters:
    """Read a signature like `tile, shape|shapes, *, out=`.

    `=` marks what may be left out, `|` another spelling; what follows `*` is given by keyword only.
    """
    names: list[str] = []
    optional: list[str] = []
    aliases: dict[str, str] = {}
    positional: int | None = None
    for part in filter(None, (one.strip() for one in signature.split(","))):
        if part == "*":
            positional = len(names)
            continue
        spellings = part.removesuffix("=").split("|")
        names.append(spellings[0])
        aliases.update(dict.fromkeys(spellings, spellings[0]))
        if part.endswith("="):
            optional.append(spellings[0])
    return Parameters(tuple(names), len(names) if positional is None else positional, frozenset(optional), aliases)


@dataclass(frozen=True)
class Arguments:
    """The arguments of one call by parameter name."""

    ctx: Context
    node: ast.Call
    op: str
    order: tuple[str, ...]
    nodes: Mapping[str, ast.expr]
    values: Mapping[str, Value]
    explicit: bool = False
    """Whether the call is an `_into` form, which says where all it works on lies."""

    def __contains__(self, name: str) -> bool:
        value = self.values.get(name)
        return value is not None and value != Static(None)

    def nodes_in_order(self) -> list[str]:
        """The parameters given, but for the destination, in the order of the signature."""
        return [name for name in self.order if name in self and name != "out"]

    def with_value(self, name: str, value: Value) -> "Arguments":
        """The same arguments but for one."""
        return replace(self, values={**self.values, name: value})

    def value(self, name: str) -> Value:
        return self.values[name]

    def place(self, name: str) -> ast.expr:
        """The argument's node, the call's where it was left out."""
        return self.nodes.get(name, self.node)

    def static(self, name: str, default: object) -> object:
        """The constant given for `name`. Raises DiagnosticError for a run-time value."""
        if name not in self:
            return default
        value = self.values[name]
        if not isinstance(value, Static):
            raise self.ctx.error(
                self.place(name), f"{name} of '{self.op}' must be a constant, is {describe(value)}", kind=ARGUMENTS
            )
        return value.value

    def refuse(self, name: str, default: object) -> None:
        """Raise DiagnosticError where a parameter that is not supported is given as anything but its default."""
        if name in self and self.values[name] != Static(default):
            raise self.ctx.error(self.place(name), f"{name} of '{self.op}' is not supported", kind=ARGUMENTS)

    def space(self, name: str, default: Space | None) -> Space | None:
        """The memory space given for `name`. Raises DiagnosticError."""
        found = self.static(name, default)
        if found is not None and not isinstance(found, Space):
            raise self.ctx.error(
                self.place(name),
                f"{name} of '{self.op}' must be a memory space such as pl.Mem.Mat",
                kind=ARGUMENTS,
                help=SPACES_THERE_ARE,
            )
        return found

    def dtype(self, name: str) -> str:
        """The element type given for `name`, as `pto` names it. Raises DiagnosticError."""
        found = self.static(name, None)
        if not isinstance(found, DType):
            raise self.ctx.error(
                self.place(name), f"{name} of '{self.op}' must be an element type such as pl.FP32", kind=ARGUMENTS
            )
        return found.name

    def numbers(self, name: str) -> list[Number]:
        """The integers of a list or tuple. Raises DiagnosticError."""
        items = sequence(self.values[name])
        if items is None:
            raise self.ctx.error(
                self.place(name),
                f"{name} of '{self.op}' must be a list of integers, is {describe(self.values[name])}",
                kind=ARGUMENTS,
            )
        node = self.place(name)
        parts = node.elts if isinstance(node, (ast.List, ast.Tuple)) else [node] * len(items)
        return [integer(self.ctx, part, item, name) for part, item in zip(parts, items, strict=True)]

    def extents(self, name: str) -> list[int]:
        """Positive constant integers. Raises DiagnosticError."""
        found: list[int] = []
        for extent in self.numbers(name):
            if not isinstance(extent, Static):
                raise self.ctx.error(
                    self.place(name),
                    f"{name} of '{self.op}' must be constant: the extents of a tile are static",
                    kind=SHAPE,
                    help="keep the tile's full extent and give valid_shape=",
                )
            assert isinstance(extent.value, int)
            if extent.value < 1:
                raise self.ctx.error(
                    self.place(name), f"{name} of '{self.op}' holds {extent.value}, must be at least 1", kind=SHAPE
                )
            found.append(int(extent.value))
        return found


def sequence(value: Value) -> Sequence[Value] | None:
    """The items of a list or tuple."""
    if isinstance(value, Tuple):
        return value.items
    if isinstance(value, Static):
        items: object = value.value
        if isinstance(items, (list, tuple)):
            return [Static(item) for item in cast(Sequence[object], items)]
    return None


def bind(ctx: Context, node: ast.Call, op: str, spec: Parameters, evaluate: Evaluate) -> Arguments:
    """Evaluate the arguments in the order of the text and bind them. Raises DiagnosticError."""
    nodes: dict[str, ast.expr] = {}
    for position, argument in enumerate(node.args):
        if isinstance(argument, ast.Starred):
            raise ctx.error(argument, "arguments cannot be unpacked with '*'")
        if position >= spec.positional:
            names = ", ".join(spec.names[: spec.positional])
            raise ctx.error(
                argument,
                f"'{op}' takes {spec.positional} arguments ({names}), found {len(node.args)}",
                kind=ARGUMENTS,
            )
        nodes[spec.names[position]] = argument
    for keyword in node.keywords:
        if keyword.arg is None:
            raise ctx.error(keyword.value, "arguments cannot be unpacked with '**'")
        name = spec.aliases.get(keyword.arg)
        if name is None and keyword.arg == "attrs" and isinstance(keyword.value, ast.Dict):
            continue  # printed IR has notes of pypto's own passes there
        if name is None:
            known = ", ".join(spec.names)
            words = f"'{op}' has no argument '{keyword.arg}'; it has {known}"
            raise ctx.error(keyword.value, words, kind=ARGUMENTS, help=near_miss(keyword.arg, spec.aliases))
        if name in nodes:
            raise ctx.error(keyword.value, f"argument '{name}' of '{op}' is given twice", kind=ARGUMENTS)
        nodes[name] = keyword.value
    missing = [name for name in spec.names if name not in nodes and name not in spec.optional]
    if missing:
        lever = SPACES_THERE_ARE if missing[0] in ("memory_space", "target_memory") else None
        raise ctx.error(node, f"'{op}' lacks its argument '{missing[0]}'", kind=ARGUMENTS, help=lever)
    values = {name: evaluate(argument) for name, argument in nodes.items()}
    if any(isinstance(value, Poison) for value in values.values()):
        raise PoisonedError
    return Arguments(ctx, node, op, spec.names, nodes, values)


def require_space(args: Arguments, space: Space | None, found: Space, kind: str) -> None:
    """The space asked for must be that of the destination. Raises DiagnosticError."""
    if space is not None and space is not found:
        raise args.ctx.error(
            args.node,
            f"'{args.op}' is asked for a tile in {spelling(space)}, its destination is in {spelling(found)}",
            kind=kind,
        )
