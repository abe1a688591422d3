"""Where the operands of tile ops lie: pointers, views and tiles of the IR as regions of the checker's program."""

from collections.abc import MutableMapping
from dataclasses import dataclass

from xdsl.ir import BlockArgument, Operation, SSAValue

from pto_buf.check.program import Local, Touch, Window
from pto_buf.check.terms import Fn, Term, apply, const
from pto_buf.dialect.pto import AllocTileOp, MakeTensorViewOp, PartitionViewOp
from pto_buf.dialect.table.row import Operand
from pto_buf.dialect.tile_op import TileOp
from pto_buf.dialect.types import PtrType, TileBufType
from pto_buf.errors import DiagnosticError
from pto_buf.source import place_of
from pto_buf.tile import DTYPE_BITS


@dataclass(frozen=True)
class _Pointer:
    """Element `base` of the array behind function argument `argument`."""

    argument: int
    name: str
    base: Term


@dataclass(frozen=True)
class _View:
    pointer: _Pointer
    shape: tuple[Term, ...]
    strides: tuple[Term, ...]
    size: int


class Memory:
    """Follows memory through the ops that name it. `terms` is the builder's: integers, addresses of chosen tiles."""

    def __init__(self, terms: MutableMapping[SSAValue, Term]):
        self._terms = terms
        self._pointers: dict[SSAValue, _Pointer] = {}
        self._views: dict[SSAValue, _View] = {}
        self._windows: dict[SSAValue, Window] = {}
        self._addresses: dict[SSAValue, Term] = {}

    def argument(self, value: BlockArgument, number: int) -> None:
        """A function argument that is no integer."""
        if isinstance(value.type, PtrType):
            self._pointers[value] = _Pointer(number, value.name_hint or f"arg{number}", const(0))

    def define(self, op: Operation) -> bool:
        """Takes note of an op that names memory; False if it is none."""
        match op:
            case MakeTensorViewOp():
                pointer = self._pointers.get(op.ptr)
                if pointer is None:
                    raise _unsupported(op, "the pointer is no argument of the kernel")
                size = DTYPE_BITS[op.view.type.data.dtype] // 8
                self._views[op.view] = _View(pointer, self._all(op.shape), self._all(op.strides), size)
            case PartitionViewOp():
                view = self._views.get(op.source)
                if view is None:
                    raise _unsupported(op, "the view it cuts is not made by make_tensor_view")
                self._windows[op.view] = Window(
                    view.pointer.argument,
                    view.pointer.name,
                    view.pointer.base,
                    view.shape,
                    view.strides,
                    self._all(op.offsets),
                    self._all(op.sizes),
                    view.size,
                )
            case AllocTileOp():
                if op.addr is None:
                    raise DiagnosticError.at(
                        place_of(op),
                        "the tile has no address, so it is not known which bytes an op touches",
                        help="give every alloc_tile an addr (level 3), or check what the memory plan made of it",
                        kind="unsupported-op",
                    )
                self._addresses[op.tile] = self._terms[op.addr]
            case _:
                return False
        return True

    def _all(self, values: tuple[SSAValue, ...]) -> tuple[Term, ...]:
        return tuple(self._terms[value] for value in values)

    def address(self, tile: SSAValue) -> Term:
        """The byte address of a tile that control flow passes on."""
        address = self._addresses.get(tile, self._terms.get(tile))
        if address is None:
            owner = tile.owner
            assert isinstance(owner, Operation)
            raise _unsupported(owner, "its tile is passed on, and where it lies is not known")
        return address

    def choose(self, op: Operation) -> None:
        """`arith.select` of two tiles."""
        condition, yes, no = op.operands
        self._addresses[op.results[0]] = apply(Fn.SELECT, self._terms[condition], self.address(yes), self.address(no))

    def touch(self, op: TileOp, operand: Operand, value: SSAValue) -> Touch:
        """What the op does to one operand in memory."""
        if value in self._windows:
            return Touch(self._windows[value], operand.role.reads, operand.role.writes)
        if not isinstance(value.type, TileBufType):
            raise _unsupported(op, f"where its operand {operand.name} lies is not known")
        spec = value.type.data
        where = Local(spec.space, self.address(value), ((0, spec.footprint),))
        return Touch(where, operand.role.reads, operand.role.writes)


def _unsupported(op: Operation, why: str) -> DiagnosticError:
    return DiagnosticError.at(place_of(op), f"'{op.name}': {why}, so nothing can be proven", kind="unsupported-op")
