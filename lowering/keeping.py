"""Keeping of a function what some of its ops need, control flow and arithmetic, and nothing else."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.scf import ConditionOp, ForOp, IfOp, WhileOp, YieldOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue

from pto_buf.walking import ops_in

_ENDS = (YieldOp, ConditionOp, ReturnOp)


@dataclass
class Needed:
    """What ops need: other ops, and of loops and branches the values that come out of or round them."""

    ops: dict[Operation, Operation] = field(default_factory=dict[Operation, Operation])
    """With the op that needs it first."""
    values: set[SSAValue] = field(default_factory=set[SSAValue])


def needed_for(roots: Iterable[Operation], stop: Callable[[Operation, Operation], None]) -> Needed:
    """What `roots` need, they included. `stop` is told of each op with whoever needs it, and may raise."""
    found = Needed()
    waiting: list[tuple[Operation, Operation]] = [(root, root) for root in roots]
    values: list[tuple[SSAValue, Operation]] = []
    while waiting or values:
        if values:
            value, user = values.pop()
            if value not in found.values:
                found.values.add(value)
                sources, owner = _sources(value)
                values += [(source, user) for source in sources]
                waiting += [(owner, user)] if owner is not None else []
            continue
        op, user = waiting.pop()
        if op in found.ops:
            continue
        stop(op, user)
        found.ops[op] = user
        values += [(operand, op) for operand in _own_operands(op)]
        around = op.parent_op()
        if around is not None and not isinstance(around, FuncOp):
            waiting.append((around, op))
    return found


def _own_operands(op: Operation) -> Sequence[SSAValue]:
    """What an op needs to be done at all."""
    match op:
        case ForOp():
            return (op.lb, op.ub, op.step)
        case IfOp():
            return (op.cond,)
        case WhileOp():
            end = op.before_region.block.last_op
            assert isinstance(end, ConditionOp)
            return (end.condition,)
        case _:
            return tuple(op.operands)


def _sources(value: SSAValue) -> tuple[Sequence[SSAValue], Operation | None]:
    """The values that a value comes from, and the op that makes it."""
    if isinstance(value, OpResult):
        op = value.op
        match op:
            case ForOp():
                return _carried(op, value.index), op
            case IfOp():
                return [_end(region.block).operands[value.index] for region in op.regions], op
            case WhileOp():
                return (_end(op.before_region.block).operands[1 + value.index],), op
            case _:
                return (), op
    assert isinstance(value, BlockArgument)
    around = value.block.parent_op()
    if isinstance(around, ForOp):
        return (_carried(around, value.index - 1) if value.index else ()), around
    if isinstance(around, WhileOp):
        before = around.before_region.block
        if value.block is before:
            return (around.arguments[value.index], _end(around.after_region.block).operands[value.index]), around
        return (_end(before).operands[1 + value.index],), around
    return (), None


def _carried(loop: ForOp, number: int) -> tuple[SSAValue, ...]:
    body = loop.body.block
    return loop.iter_args[number], _end(body).operands[number], body.args[1 + number], loop.results[number]


def _end(block: Block) -> Operation:
    assert block.last_op is not None
    return block.last_op


def keep_only(function: FuncOp, needed: Needed) -> None:
    """Erases what is not needed: ops, and values that loops and branches hand on."""
    ops = list(ops_in(function))
    nested = [op for op in ops if op in needed.ops and isinstance(op, ForOp | IfOp | WhileOp)]
    kept = [_Kept(op, needed.values) for op in nested]
    for one in kept:
        one.hand_on_less()
    for op in reversed(ops):
        if op is not function and op not in needed.ops and not _ends_kept(op, function, needed):
            op.detach()
            op.erase()
    for one in reversed(kept):
        one.rebuild()


def _ends_kept(op: Operation, function: FuncOp, needed: Needed) -> bool:
    around = op.parent_op()
    return isinstance(op, _ENDS) and (around is function or around in needed.ops)


class _Kept:
    """A loop or branch, and which of its values stay, by their positions."""

    def __init__(self, op: ForOp | IfOp | WhileOp, values: set[SSAValue]):
        self.op = op
        self.results = [number for number, result in enumerate(op.results) if result in values]
        self.carried = self.results
        if isinstance(op, WhileOp):
            self.carried = [number for number, arg in enumerate(op.before_region.block.args) if arg in values]
            after = op.after_region.block.args
            self.results = [n for n, result in enumerate(op.results) if result in values or after[n] in values]
        self.gone: list[BlockArgument] = []

    def hand_on_less(self) -> None:
        """Lets nothing name what goes."""
        match self.op:
            case ForOp() as loop:
                body = loop.body.block
                self._pick(_end(body), self.carried)
                self.gone += [arg for arg in body.args[1:] if arg.index - 1 not in self.carried]
                loop.operands = [loop.lb, loop.ub, loop.step, *(loop.iter_args[number] for number in self.carried)]
            case IfOp() as branch:
                for region in branch.regions:
                    if region.blocks:
                        self._pick(_end(region.block), self.results)
            case WhileOp() as loop:
                before, after = loop.before_region.block, loop.after_region.block
                self._pick(_end(after), self.carried)
                condition = _end(before)
                condition.operands = [condition.operands[0], *(condition.operands[1 + n] for n in self.results)]
                self.gone += [arg for arg in before.args if arg.index not in self.carried]
                self.gone += [arg for arg in after.args if arg.index not in self.results]
                loop.operands = [loop.arguments[number] for number in self.carried]

    @staticmethod
    def _pick(end: Operation, positions: Sequence[int]) -> None:
        end.operands = [end.operands[number] for number in positions]

    def rebuild(self) -> None:
        """Makes the op anew with the results that stay."""
        old = self.op
        for arg in reversed(self.gone):
            arg.block.erase_arg(arg)
        if len(self.results) == len(old.results):
            return
        regions: list[Region] = [old.detach_region(region) for region in tuple(old.regions)]
        types = [old.results[number].type for number in self.results]
        new = type(old).create(
            operands=tuple(old.operands),
            result_types=types,
            properties=old.properties,
            attributes=old.attributes,
            regions=regions,
        )
        new.location = old.location
        assert old.parent is not None
        old.parent.insert_op_before(new, old)
        for number, result in zip(self.results, new.results, strict=True):
            result.name_hint = old.results[number].name_hint
            old.results[number].replace_all_uses_with(result)
        old.detach()
        old.erase()
