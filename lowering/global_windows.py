"""Reading off the IR what tile ops touch of global memory, for the reasoning that needs no IR."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from pto_buf.dialect.gm import MakeTensorViewOp, PartitionViewOp
from pto_buf.dialect.groups import operands_of
from pto_buf.dialect.pointers import AddPtrOp
from pto_buf.dialect.table.row import Operand
from pto_buf.dialect.tile_op import TileOp
from pto_buf.dialect.types import PartitionViewType
from pto_buf.fences.windows import Array, View, Window, Windows
from pto_buf.kept import kept
from pto_buf.slots.build import Built, build
from pto_buf.slots.simplify import ZERO, apply
from pto_buf.slots.terms import Fn, Term
from pto_buf.tile import DTYPE_BITS


def global_windows(built: Built) -> Windows:
    """Of each tile op what it touches of the arrays that any of them writes."""
    return of_written(all_windows(built))


def of_written(found: Windows) -> Windows:
    """Those of the windows that are of arrays of which any is written."""
    written = {window.array.number for windows in found.values() for window in windows if window.writes}
    return {
        key: own
        for key, windows in found.items()
        if (own := tuple([window for window in windows if window.array.number in written]))
    }


def windows_of(function: FuncOp) -> Windows:
    """As `all_windows`, from what is kept of the function."""
    return all_windows(kept(function, build))


def all_windows(built: Built) -> Windows:
    """Of each tile op what it touches of arrays.

    Each pointer argument is an array of its own. A pointer that is worked out otherwise is left to the checker.
    """
    reader = _Reader(built)
    found: dict[int, tuple[Window, ...]] = {}
    for key, op in built.ops.items():
        if isinstance(op, TileOp) and any(_is_window(value) for value in operands_of(op)):
            named = [(operand, value) for operand, value in op.named_operands() if _is_window(value)]
            windows = tuple([one for operand, value in named if (one := reader.window(operand, value)) is not None])
            if windows:
                found[key] = windows
    return found


def _is_window(value: SSAValue) -> bool:
    return type(value.type) is PartitionViewType  # which has no subclasses


@dataclass
class _Reader:
    built: Built
    views: dict[Operation, View | None] = field(default_factory=dict[Operation, View | None])

    def window(self, operand: Operand, value: SSAValue) -> Window | None:
        part = value.owner
        if not isinstance(part, PartitionViewOp) or not isinstance(made := part.source.owner, MakeTensorViewOp):
            return None
        if made not in self.views:
            self.views[made] = self._view(made)
        view = self.views[made]
        if view is None:
            return None
        role = operand.role
        return Window(view, role.reads, role.writes, self._terms(part.offsets), self._terms(part.sizes))

    def _view(self, view: MakeTensorViewOp) -> View | None:
        pointer, base = view.ptr, ZERO
        while isinstance(step := pointer.owner, AddPtrOp):
            pointer, base = step.ptr, apply(Fn.ADD, self.built.terms.of(step.offset), base)
        if not isinstance(pointer, BlockArgument):
            return None
        dtype = view.view.type.data.dtype
        array = Array(pointer.index, pointer.name_hint or f"arg{pointer.index}", dtype)
        return View(array, base, self._terms(view.shape), self._terms(view.strides), DTYPE_BITS[dtype] // 8)

    def _terms(self, values: Sequence[SSAValue]) -> tuple[Term, ...]:
        return tuple([self.built.terms.of(one) for one in values])
