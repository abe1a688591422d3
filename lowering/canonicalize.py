"""`ptobuf-canonicalize`: folds and clean-ups that keep every lease and every slot."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from pto_buf.dialect.ptobuf import AllocSlotsOp, ReleaseOp, SlotSelectOp
from pto_buf.dialect.slot_op import IntoManyOp, IntoOp, SlotOp
from pto_buf.dialect.types import tile_of
from pto_buf.kept import Keeps, changed, kept
from pto_buf.lowering.folding import fold, remove_unused
from pto_buf.lowering.verify_slots import verdict_of
from pto_buf.slots.build import build
from pto_buf.slots.dead import dead_ops
from pto_buf.walking import functions, ops_of


@dataclass(frozen=True)
class CanonicalizePass(ModulePass, Keeps):
    """Folds index arithmetic, branches and loops; drops leases that nothing reads, and releases that end nothing.

    Slots are never merged, and nothing that touches one is moved. In a kernel that breaks the slot protocol every
    access and release stays, so that it is refused for the same reasons as before.
    """

    name = "ptobuf-canonicalize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op):
            fold(function)
            remove_unused(function)
            _drop_dead_leases(function)
            _drop_unused_tiles(function)


def _drop_dead_leases(function: FuncOp) -> None:
    """Erases releases, which only end what the next write ends anyway, and ops whose leases nothing reads."""
    built = kept(function, build)
    verdict = kept(function, verdict_of)
    if verdict.errors:
        return
    roots = [key for key, op in built.ops.items() if isinstance(op, SlotOp) and _matters(op)]
    for op in ops_of(function, SlotSelectOp):
        if op.held is not None:
            op.held = None  # that what it stands for is still there is known now
            changed(function)
    gone: list[Operation] = list(ops_of(function, ReleaseOp))
    gone += [built.ops[key] for key in reversed(dead_ops(built.program, verdict.flow, roots))]
    for op in gone:
        op.detach()
        op.erase()
    if gone:
        changed(function)
        remove_unused(function)


def _drop_unused_tiles(function: FuncOp) -> None:
    """Erases slot sets that the compiler made and nothing selects from; those of the user stay declared."""
    for op in list(ops_of(function, AllocSlotsOp)):
        if op.owned is not None and not op.slots.first_use:
            op.detach()
            op.erase()
            changed(function)


def _matters(op: SlotOp) -> bool:
    """Whether the op does more than leave values in slots for other ops on slots."""
    if not isinstance(op, IntoOp | IntoManyOp):
        return True
    if any(tile_of(value.type) is None for value in op.outs):
        return True
    users = (use.operation for result in op.results for use in result.uses)
    return any(not isinstance(user, SlotOp | ReleaseOp) for user in users)
