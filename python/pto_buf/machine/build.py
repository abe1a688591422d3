"""Translates a `pto` function into flat code, once; structured control flow becomes jumps."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from xdsl.dialects import func, scf
from xdsl.ir import Block, Operation, Region, SSAValue

from pto_buf.dialect.gm import MakeTensorViewOp, PartitionViewOp
from pto_buf.dialect.kernel import SectionOp
from pto_buf.dialect.tile_op import TileOp, target_of
from pto_buf.dialect.tile_views import SetValidShapeOp, SubviewOp, TileViewOp
from pto_buf.dialect.tiles import AllocTileOp, AssignOp
from pto_buf.dialect.types import TileBufType
from pto_buf.errors import DiagnosticError
from pto_buf.machine import values
from pto_buf.machine.code import Code, Copy, Emit, Enter, Goto, Label, Leave, Let, NextTrip, Unless
from pto_buf.machine.emit import exec_maker
from pto_buf.machine.queries import SETTERS, SPLIT, query_function
from pto_buf.machine.scalar import ScalarError
from pto_buf.machine.scalar_ops import scalar_function
from pto_buf.machine.steps import CoreId, TileRef
from pto_buf.machine.sync_ops import sync_maker
from pto_buf.sections import core_of
from pto_buf.source import place_of
from pto_buf.tile import TileSpec


@dataclass(frozen=True)
class _Ops:
    """Ops still to translate."""

    rest: Iterator[Operation]


_Work = _Ops | Callable[[], None]

_NOTHING = frozenset({"func.return", "scf.yield", "scf.condition", "pto.set_ffts"})
"""Ops that do nothing by themselves: terminators are read by the op around them."""


def build(function: func.FuncOp, core: CoreId) -> Code:
    """The code of `function` on `core`; its arguments are the first registers.

    Raises DiagnosticError, at the op, for an op that is not known.
    """
    builder = _Builder(function, core)
    builder.run()
    return builder.code


class _Builder:
    def __init__(self, function: func.FuncOp, core: CoreId):
        self.code = Code()
        self._core = core
        self._function = function
        self._target = target_of(function)
        self._registers: dict[SSAValue, int] = {}
        self._work: list[_Work] = []
        self._site = 0

    def run(self) -> None:
        body = self._function.body.block
        self._define(body.args)
        self._work.append(_Ops(iter(body.ops)))
        while self._work:
            item = self._work[-1]
            if not isinstance(item, _Ops):
                self._work.pop()
                item()
            elif (op := next(item.rest, None)) is None:
                self._work.pop()
            else:
                self._op(op)

    # --- registers ---

    def _define(self, values: Iterable[SSAValue]) -> tuple[int, ...]:
        registers: list[int] = []
        for value in values:
            self._registers[value] = self.code.register()
            registers.append(self._registers[value])
        return tuple(registers)

    def _of(self, values: Iterable[SSAValue]) -> tuple[int, ...]:
        return tuple(self._registers[value] for value in values)

    def _let(self, op: Operation, fn: Callable[..., Any], args: Iterable[SSAValue] | None = None) -> None:
        operands = self._of(op.operands if args is None else args)
        (out,) = self._define(op.results)
        self.code.add(Let(out, fn, operands, place_of(op)))

    # --- ops ---

    def _op(self, op: Operation) -> None:
        self._site += 1
        if op.name in _NOTHING:
            return
        if (fn := scalar_function(op)) is not None:
            return self._let(op, fn)
        make = (
            exec_maker(op, self._site, self._target, self._registers)
            if isinstance(op, TileOp)
            else sync_maker(op, self._site, self._target, self._registers)
        )
        if make is not None:
            out = self._define(op.results)
            return self.code.add(Emit(make, place_of(op), out[0] if out else None))
        match op:
            case scf.ForOp():
                self._for(op)
            case scf.IfOp():
                self._if(op)
            case scf.WhileOp():
                self._while(op)
            case MakeTensorViewOp():
                self._let(op, values.view)
            case PartitionViewOp():
                self._let(op, values.window)
            case AllocTileOp():
                self._tile(op)
            case SubviewOp():
                self._let(op, partial(_subview, op.tile.type.data), [op.source, *op.offsets, *op.valid])
            case TileViewOp():
                self._let(op, partial(_retiled, cast(TileBufType, op.view.type).data))
            case AssignOp():
                self._reassign(op, values.moved)
                self._registers[op.tile] = self._registers[op.source]
            case SetValidShapeOp():
                self._reassign(op, values.with_valid)
            case SectionOp():
                if self._core.core is core_of(op):
                    self._push(op.body, lambda: None)
            case _:
                self._other(op)

    def _other(self, op: Operation) -> None:
        if (fn := query_function(op, self._core)) is not None:
            self._let(op, fn)
        elif op.name in SETTERS:
            self._reassign(op, SETTERS[op.name])
        elif op.name in SPLIT:
            operands = self._of(op.operands)
            for out, part in zip(self._define(op.results), SPLIT[op.name], strict=True):
                self.code.add(Let(out, part, operands, place_of(op)))
        else:
            raise DiagnosticError.at(
                place_of(op), f"'{op.name}' cannot be executed: it is not known to the machine", kind="unknown-op"
            )

    def _tile(self, op: AllocTileOp) -> None:
        if op.addr is None:
            raise DiagnosticError.at(
                place_of(op),
                "the tile has no address",
                help="ptobuf-plan-memory gives addresses; a level-3 text has them",
                kind="no-address",
            )
        spec = op.tile.type.data
        rows, cols = spec.valid

        def make(address: int, *dynamic: int) -> Any:
            valid = iter(dynamic)
            return values.tile(
                spec, address, next(valid) if rows is None else rows, next(valid) if cols is None else cols
            )

        extents = [value for value in (op.valid_row, op.valid_col) if value is not None]
        self._let(op, make, [op.addr, *extents])

    def _reassign(self, op: Operation, fn: Callable[..., Any]) -> None:
        """The tile itself changes, under every name that stands for the same variable."""
        operands = self._of(op.operands)
        self.code.add(Let(operands[0], fn, operands, place_of(op)))

    # --- control flow ---

    def _push(self, region: Region, then: Callable[[], None]) -> None:
        """Translate the region's ops next, and then call `then`."""
        self._work.append(then)
        self._work.append(_Ops(iter(region.block.ops)))

    def _for(self, op: scf.ForOp) -> None:
        place = place_of(op)
        counter, *carried = self._define(op.body.block.args)
        lower, upper, step = self._of((op.lb, op.ub, op.step))
        results = self._define(op.res)
        checked, inside = self.code.register(), self.code.register()
        head, exit = Label(), Label()
        self.code.add(Let(checked, _positive, (step,), place))
        self.code.add(Copy((counter, *carried), (lower, *self._of(op.iter_args))))
        self.code.add(Enter(place))
        self.code.place(head)
        self.code.add(Let(inside, _less, (counter, upper), place))
        self.code.add(Unless(inside, exit))

        def close() -> None:
            self.code.add(Copy(tuple(carried), self._of(_last(op.body.block).operands)))
            self.code.add(Let(counter, _plus, (counter, checked), place))
            self.code.add(NextTrip())
            self.code.add(Goto(head))
            self.code.place(exit)
            self.code.add(Leave())
            self.code.add(Copy(results, tuple(carried)))

        self._push(op.body, close)

    def _if(self, op: scf.IfOp) -> None:
        results = self._define(op.output)
        otherwise, end = Label(), Label()
        self.code.add(Unless(self._of((op.cond,))[0], otherwise))

        def close_then() -> None:
            self._yield(op.true_region, results)
            self.code.add(Goto(end))
            self.code.place(otherwise)
            if op.false_region.blocks:
                self._push(op.false_region, close)
            else:
                self.code.place(end)

        def close() -> None:
            self._yield(op.false_region, results)
            self.code.place(end)

        self._push(op.true_region, close_then)

    def _yield(self, region: Region, results: tuple[int, ...]) -> None:
        if results:
            self.code.add(Copy(results, self._of(_last(region.block).operands)))

    def _while(self, op: scf.WhileOp) -> None:
        before, after = op.before_region.block, op.after_region.block
        first, second = self._define(before.args), self._define(after.args)
        results = self._define(op.res)
        head, exit = Label(), Label()
        self.code.add(Copy(first, self._of(op.arguments)))
        self.code.add(Enter(place_of(op)))
        self.code.place(head)

        def test() -> None:
            condition, *passed = self._of(_last(before).operands)
            self.code.add(Copy(results, tuple(passed)))
            self.code.add(Unless(condition, exit))
            self.code.add(Copy(second, tuple(passed)))
            self._push(op.after_region, close)

        def close() -> None:
            self.code.add(Copy(first, self._of(_last(after).operands)))
            self.code.add(NextTrip())
            self.code.add(Goto(head))
            self.code.place(exit)
            self.code.add(Leave())

        self._push(op.before_region, test)


def _subview(spec: TileSpec, source: TileRef, *numbers: int) -> TileRef:
    return values.subtile(source, spec, *numbers)


def _retiled(spec: TileSpec, source: TileRef, *valid: int) -> TileRef:
    return values.retiled(source, spec, *valid)


def _last(block: Block) -> Operation:
    last = block.last_op
    assert last is not None, "a region without terminator does not verify"
    return last


def _positive(step: int) -> int:
    if step <= 0:
        raise ScalarError(f"the loop's step is {step}; it must be at least 1")
    return step


def _less(counter: int, upper: int) -> int:
    return int(counter < upper)


def _plus(counter: int, step: int) -> int:
    return counter + step
