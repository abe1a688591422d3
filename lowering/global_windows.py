"""Reading off the IR what tile ops touch of global memory, for the reasoning that needs no IR."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.ir import BlockArgument, Operation, SSAValue

from pto_buf.dialect.gm import MakeTensorViewOp, PartitionViewOp
from pto_buf.dialect.groups import operands_of
from pto_buf.dialect.pointers import AddPtrOp
from pto_buf.dialect.table.row import Operand
from pto_buf.dialect.tile_op import TileOp
from pto_buf.dialect.types import PartitionViewType
from pto_buf.fences.windows import Array, Window, Windows
from pto_buf.slots.build import Built
from pto_buf.slots.simplify import ZERO, apply
from pto_buf.slots.terms import Fn, Term
from pto_buf.tile import DTYPE_BITS


def global_windows(built: Built) -> Windows:
    """Of each tile op what it touches of the arrays that any of them writes."""
    found = all_windows(built)
    written = {window.array for windows in found.values() for window in windows if window.writes}
    return {
        key: kept
        for key, windows in found.items()
        if (kept := tuple(window for window in windows if window.array in written))
    }


def all_windows(built: Built) -> Windows:
    """Of each tile op what it touches of arrays.

    Each pointer argument is an array of its own. A pointer that is worked out otherwise is left to the checker.
    """
    reader = _Reader(built)
    found: dict[int, tuple[Window, ...]] = {}
    for key, op in built.ops.items():
        if isinstance(op, TileOp) and any(_is_window(value) for value in operands_of(op)):
            touched = (reader.window(operand, value) for operand, value in op.named_operands())
            windows = tuple(window for window in touched if window is not None)
            if windows:
                found[key] = windows
    return found


def _is_window(value: SSAValue) -> bool:
    return type(value.type) is PartitionViewType  # which has no subclasses


@dataclass(frozen=True)
class _Tensor:
    """What windows of one view of an array have in common."""

    array: Array
    base: Term
    shape: tuple[Term, ...]
    strides: tuple[Term, ...]
    element: int


@dataclass
class _Reader:
    built: Built
    tensors: dict[Operation, _Tensor | None] = field(default_factory=dict[Operation, _Tensor | None])

    def window(self, operand: Operand, value: SSAValue) -> Window | None:
        part = value.owner if _is_window(value) else None
        if not isinstance(part, PartitionViewOp) or not isinstance(view := part.source.owner, MakeTensorViewOp):
            return None
        if view not in self.tensors:
            self.tensors[view] = self._tensor(view)
        tensor = self.tensors[view]
        if tensor is None:
            return None
        return Window(
            tensor.array,
            operand.role.reads,
            operand.role.writes,
            tensor.base,
            tensor.shape,
            tensor.strides,
            self._terms(part.offsets),
            self._terms(part.sizes),
            tensor.element,
        )

    def _tensor(self, view: MakeTensorViewOp) -> _Tensor | None:
        pointer, base = view.ptr, ZERO
        while isinstance(step := pointer.owner, AddPtrOp):
            pointer, base = step.ptr, apply(Fn.ADD, self.built.terms.of(step.offset), base)
        if not isinstance(pointer, BlockArgument):
            return None
        dtype = view.view.type.data.dtype
        array = Array(pointer.index, pointer.name_hint or f"arg{pointer.index}", dtype)
        return _Tensor(array, base, self._terms(view.shape), self._terms(view.strides), DTYPE_BITS[dtype] // 8)

    def _terms(self, values: Sequence[SSAValue]) -> tuple[Term, ...]:
        return tuple([self.built.terms.of(one) for one in values])
