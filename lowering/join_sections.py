"""`ptobuf-join-sections`: makes one function with two sections of the parts that `ptobuf-split-sections` made.

A block has two vector cores, and both run the vector section. A kernel that does not ask which of them it is on was
not written to share its work: then the first one does it, and the second one only sends and hears the signals, as the
cube core expects of both. On a2a3 the function's first parameter, `%ffts`, is where signals between cores live.

The assembler turns a `while` into jumps, which it has no room for in a section. A part with one becomes a function
that the section calls.
"""

from dataclasses import dataclass
from itertools import count
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.arith import CmpiOp, ConstantOp
from xdsl.dialects.builtin import FunctionType, IntegerAttr, MemRefType, ModuleOp, StringAttr, i64
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.dialects.scf import IfOp, WhileOp, YieldOp
from xdsl.ir import Block, Operation, Region
from xdsl.passes import ModulePass

from pto_buf.dialect.attributes import KernelKindAttr, PipeAttr
from pto_buf.dialect.cross_core import SetFftsOp, SyncSetOp, SyncWaitOp
from pto_buf.dialect.kernel import GetSubBlockIdxOp, SectionCubeOp, SectionVectorOp
from pto_buf.dialect.pto import BarrierOp
from pto_buf.dialect.tile_op import target_of
from pto_buf.hw import A2A3, A5, Core, Pipe, Target
from pto_buf.lowering.core_signals import PART_OF, WHY
from pto_buf.lowering.keeping import keep_only, needed_for
from pto_buf.walking import functions, ops_of

FFTS = MemRefType(i64, [256])
"""The type of `%ffts`, as the oldest assembler takes it."""


@dataclass(frozen=True)
class JoinSectionsPass(ModulePass):
    """ptobuf-join-sections."""

    name: ClassVar[str] = "ptobuf-join-sections"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        parts: dict[str, dict[Core, FuncOp]] = {}
        for function in functions(op):
            if isinstance(kernel := function.attributes.get(PART_OF), StringAttr):
                kind = function.attributes["pto.kernel_kind"]
                assert isinstance(kind, KernelKindAttr)
                parts.setdefault(kernel.data, {})[kind.data] = function
        for name, cores in parts.items():
            _join(name, cores[Core.CUBE], cores[Core.VECTOR], target)


def _join(name: str, cube: FuncOp, vector: FuncOp, target: Target) -> None:
    if not any(ops_of(vector, GetSubBlockIdxOp)):
        _leave_to_the_first(vector, target)
    block = Block(arg_types=cube.body.block.arg_types)
    for new, old in zip(block.args, cube.body.block.args, strict=True):
        new.name_hint = old.name_hint
    for kind, part in ((SectionCubeOp, cube), (SectionVectorOp, vector)):
        section = kind(Region(_body(part, block)))
        section.location = part.location
        block.add_op(section)
    end = ReturnOp()
    end.location = cube.location
    block.add_op(end)
    if target is A2A3:
        block.insert_arg(FFTS, 0).name_hint = "ffts"
        _set_ffts(block, cube)
    joined = FuncOp(name, FunctionType.from_lists(block.arg_types, []), Region(block))
    joined.location = cube.location
    kept = {key: attr for key, attr in cube.attributes.items() if key not in (PART_OF, "pto.kernel_kind")}
    joined.attributes.update(kept)
    assert cube.parent is not None
    cube.parent.insert_op_before(joined, cube)
    for part in (cube, vector):
        part.detach()
        part.erase()
    for section in tuple(block.ops):
        if isinstance(section, SectionCubeOp | SectionVectorOp) and any(
            isinstance(op, WhileOp) for op in section.walk()
        ):
            _call_instead(section, joined)


def _set_ffts(block: Block, at: Operation) -> None:
    """Says first of all that the first argument of a block is where signals live."""
    first = SetFftsOp.create(operands=[block.args[0]])
    first.location = at.location
    assert block.first_op is not None
    block.insert_op_before(first, block.first_op)


def _call_instead(section: SectionCubeOp | SectionVectorOp, kernel: FuncOp) -> None:
    """Makes a function of what is in a section, and a call of it of the section."""
    core = Core.CUBE if isinstance(section, SectionCubeOp) else Core.VECTOR
    body, given = section.body.block, kernel.body.block.args
    block = Block(arg_types=kernel.body.block.arg_types)
    for new, old in zip(block.args, given, strict=True):
        new.name_hint = old.name_hint
        old.replace_uses_with_if(new, lambda use: section.is_ancestor(use.operation))
    for op in tuple(body.ops):
        op.detach()
        block.add_op(op)
    end = ReturnOp()
    block.add_op(end)
    if any(isinstance(op, SetFftsOp) for op in kernel.body.block.ops):
        _set_ffts(block, section)
    home = kernel.parent_op()
    assert isinstance(home, ModuleOp)
    taken = {op.sym_name.data for op in home.walk() if isinstance(op, FuncOp)}
    wanted = f"{kernel.sym_name.data}_{core}"
    name = next(name for more in count() if (name := wanted + "_" * more) not in taken)
    called = FuncOp(name, FunctionType.from_lists(block.arg_types, []), Region(block), "private")
    called.attributes["pto.kernel_kind"] = KernelKindAttr(core)
    call = CallOp(name, list(given), [])
    for op in (end, called, call):
        op.location = section.location
    body.add_op(call)
    home.body.block.insert_op_before(called, kernel)


def _body(part: FuncOp, block: Block) -> Block:
    """The ops of a part, which take the arguments of `block`."""
    old = part.body.block
    for before, after in zip(old.args, block.args, strict=True):
        before.replace_all_uses_with(after)
    body = Block()
    for op in tuple(old.ops):
        op.detach()
        if isinstance(op, ReturnOp):
            op.erase()
        else:
            body.add_op(op)
    for op in body.walk():
        op.attributes.pop(WHY, None)
    return body


def _leave_to_the_first(part: FuncOp, target: Target) -> None:
    """Puts the body under the condition that this is the first vector core; the second one keeps to the signals."""
    second = _signals_only(part, target)
    block = part.body.block
    ops = tuple(block.ops)
    end, barrier = ops[-1], ops[-2]
    assert isinstance(end, ReturnOp) and isinstance(barrier, BarrierOp) and barrier.pipe.data is Pipe.ALL
    work, rest = Block(), Block()
    for op in ops[:-2]:
        op.detach()
        work.add_op(op)
    for before, after in zip(second.body.block.args, block.args, strict=True):
        before.replace_all_uses_with(after)
    for op in tuple(second.body.block.ops):
        op.detach()
        if isinstance(op, ReturnOp):
            op.erase()
        else:
            rest.add_op(op)
    second.erase()
    number = GetSubBlockIdxOp()
    zero = ConstantOp(IntegerAttr(0, i64))
    is_first = CmpiOp(number.value, zero.result, "eq")
    number.value.name_hint, is_first.result.name_hint = "vector_core", "is_first"
    work.add_op(YieldOp())
    otherwise: list[Block] = []
    if rest.first_op is not None:
        rest.add_op(YieldOp())
        otherwise.append(rest)
    branch = IfOp(is_first.result, [], Region(work), Region(otherwise))
    for end in (block.last_op for region in branch.regions for block in region.blocks):
        assert end is not None
        end.location = part.location
    for op in (number, zero, is_first, branch):
        op.location = part.location
        block.insert_op_before(op, barrier)


def _signals_only(part: FuncOp, target: Target) -> FuncOp:
    """A copy of a vector part with its signals, and nothing else.

    It waits on the pipe that it sends from: where only that pipe stands still, it would else run ahead of its waits.
    """
    copy = part.clone()
    signals = list(ops_of(copy, SyncSetOp, SyncWaitOp))
    keep_only(copy, needed_for(signals, _anything))
    for op in signals:
        if target is A5:
            op.pipe = PipeAttr(Pipe.MTE3)
    return copy


def _anything(op: Operation, user: Operation) -> None:
    """What signals depend on both kinds of core have: `ptobuf-split-sections` saw to that."""
