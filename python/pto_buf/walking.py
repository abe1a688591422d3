"""Going through the ops in an op. xDSL's own `walk` makes three generators for each op, and asking an op for a class
that it is not of takes as long again: together that was a twelfth of a compilation.
"""

from collections.abc import Iterable, Iterator
from typing import TypeVar, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

_Op = TypeVar("_Op", bound=Operation)


def ops_in(root: Operation) -> Iterator[Operation]:
    """`root` and all ops in it, in the order of the text. Only what was given already may be erased meanwhile."""
    yield root
    for region in root.regions:
        for block in region.blocks:
            op = block.first_op
            while op is not None:
                following = op._next_op  # pyright: ignore[reportPrivateUsage]
                if op.regions:
                    yield from ops_in(op)
                else:
                    yield op
                op = following


def ops_of(root: Operation, *kinds: type[_Op]) -> Iterator[_Op]:
    """Those of `ops_in` that are of one of these classes."""
    return among(ops_in(root), *kinds)


def among(ops: Iterable[Operation], *kinds: type[_Op]) -> Iterator[_Op]:
    """Those of the ops that are of one of these classes; each class of ops is asked once."""
    wanted: dict[type[Operation], bool] = {}
    for op in ops:
        kind = type(op)
        if kind not in wanted:
            wanted[kind] = issubclass(kind, kinds)
        if wanted[kind]:
            yield cast(_Op, op)


def functions(module: ModuleOp) -> Iterator[FuncOp]:
    """The functions of a module that have a body."""
    for op in module.body.block.ops:
        if isinstance(op, ModuleOp):
            yield from functions(op)
        elif isinstance(op, FuncOp) and not op.is_declaration:
            yield op


def numbered(root: Operation) -> dict[Operation, int]:
    """The place of each op among `ops_in`."""
    return {op: number for number, op in enumerate(ops_in(root))}
