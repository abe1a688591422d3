"""`ptobuf-reuse-in-place`: where memory is short, results of the compiler's take the buffers of their operands."""

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from pto_buf.dialect.ptobuf import SlotSelectOp
from pto_buf.dialect.tile_op import target_of
from pto_buf.errors import DiagnosticError
from pto_buf.hw import Space, Target
from pto_buf.kept import Keeps, changed, kept
from pto_buf.lowering.plan_memory import tenants
from pto_buf.memory.footprint import set_bytes
from pto_buf.memory.inplace import pairs
from pto_buf.memory.plan import plan
from pto_buf.slots.build import Built, build
from pto_buf.walking import functions

_ONE_BY_ONE = 8
"""Sets joined one at a time, the plan asked after each; then all that can be at once."""


@dataclass(frozen=True)
class ReuseInPlacePass(ModulePass, Keeps):
    """Joins two sets of the compiler's where an op that may work in place reads the one last and makes the other.

    Only while the sets of a space do not fit: a buffer with two tiles makes the second one's writer wait for more.
    """

    name: ClassVar[str] = "ptobuf-reuse-in-place"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op):
            _reuse(function, target_of(function))


def _reuse(function: FuncOp, target: Target) -> None:
    joined = 0
    while True:
        built = kept(function, build)
        short = _short_of(built, target)
        if not short:
            return
        found = [pair for pair in pairs(built.program) if built.sets[pair.new].slots.type.data.tile.space in short]
        if not found:
            return
        if joined < _ONE_BY_ONE:
            sizes = [_bytes(built, pair.new, target) for pair in found]
            found = [found[sizes.index(max(sizes))]]
        taken: set[int] = set()
        for pair in found:
            if pair.old not in taken and pair.new not in taken:
                taken |= {pair.old, pair.new}
                _join(built, pair.old, pair.new)
                joined += 1
        changed(function)


def _short_of(built: Built, target: Target) -> list[Space]:
    """The spaces whose sets do not fit."""
    total: dict[Space, int] = {}
    for one in built.program.sets:
        total[one.tile.space] = total.get(one.tile.space, 0) + set_bytes(one.count, one.tile, target)
    full = [space for space, needed in total.items() if needed > target.capacity[space]]
    placed = tenants(built) if full else []
    short: list[Space] = []
    for space in full:
        try:
            plan([one for one in placed if one.tile.space is space], target)
        except DiagnosticError:
            short.append(space)
    return short


def _bytes(built: Built, key: int, target: Target) -> int:
    spec = built.sets[key].slots.type.data
    return set_bytes(spec.count, spec.tile, target)


def _join(built: Built, old: int, new: int) -> None:
    """Let everything that names the new set's slot name the old one's."""
    kept, gone = built.sets[old], built.sets[new]
    for use in list(gone.slots.uses):
        select = use.operation
        assert isinstance(select, SlotSelectOp)
        select.operands = (kept.slots, select.index)
    gone.detach()
    gone.erase()
