"""Reading off the IR what tile ops touch of global memory, for the reasoning that needs no IR."""

from xdsl.ir import BlockArgument, SSAValue

from pto_buf.dialect.gm import MakeTensorViewOp, PartitionViewOp
from pto_buf.dialect.pointers import AddPtrOp
from pto_buf.dialect.table.row import Operand
from pto_buf.dialect.tile_op import TileOp
from pto_buf.fences.windows import Array, Window, Windows
from pto_buf.slots.build import Built
from pto_buf.slots.simplify import ZERO, apply
from pto_buf.slots.terms import Fn, Term
from pto_buf.tile import DTYPE_BITS


def global_windows(built: Built) -> Windows:
    """Of each tile op what it touches of the arrays that any of them writes.

    Each pointer argument is an array of its own. A pointer that is worked out otherwise is left to the checker.
    """
    found: dict[int, tuple[Window, ...]] = {}
    for key, op in built.ops.items():
        if isinstance(op, TileOp):
            touched = (_window(operand, value, built) for operand, value in op.named_operands())
            windows = tuple(window for window in touched if window is not None)
            if windows:
                found[key] = windows
    written = {window.array for windows in found.values() for window in windows if window.writes}
    return {
        key: kept
        for key, windows in found.items()
        if (kept := tuple(window for window in windows if window.array in written))
    }


def _window(operand: Operand, value: SSAValue, built: Built) -> Window | None:
    part = value.owner
    if not isinstance(part, PartitionViewOp):
        return None
    view = part.source.owner
    if not isinstance(view, MakeTensorViewOp):
        return None
    pointer, base = view.ptr, ZERO
    while isinstance(step := pointer.owner, AddPtrOp):
        pointer, base = step.ptr, apply(Fn.ADD, built.terms.of(step.offset), base)
    if not isinstance(pointer, BlockArgument):
        return None
    dtype = view.view.type.data.dtype

    def terms(values: tuple[SSAValue, ...]) -> tuple[Term, ...]:
        return tuple(built.terms.of(one) for one in values)

    return Window(
        Array(pointer.index, pointer.name_hint or f"arg{pointer.index}", dtype),
        operand.role.reads,
        operand.role.writes,
        base,
        terms(tuple(view.shape)),
        terms(tuple(view.strides)),
        terms(tuple(part.offsets)),
        terms(tuple(part.sizes)),
        DTYPE_BITS[dtype] // 8,
    )
