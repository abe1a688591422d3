"""Where the operands of tile ops lie: pointers, views and tiles of the IR as regions of the checker's program."""

from collections.abc import Callable, Iterable, MutableMapping
from dataclasses import dataclass, replace

from xdsl.ir import BlockArgument, Operation, SSAValue

from pto_buf.check.program import Element, Instruction, Local, Run, Site, Touch, Window
from pto_buf.check.reading.tiles import Place, whole
from pto_buf.check.reading.uses import Effect, OpUse
from pto_buf.check.terms import Fn, Term, add, apply, const, constant_of
from pto_buf.dialect.gm import MakeTensorViewOp, PartitionViewOp
from pto_buf.dialect.pointers import (
    AddPtrOp,
    GetTensorViewDimOp,
    GetTensorViewStrideOp,
    GetValidShapeOp,
    LoadScalarOp,
    StoreScalarOp,
    TileValidColsOp,
    TileValidRowsOp,
)
from pto_buf.dialect.tile_op import TileOp
from pto_buf.dialect.tile_views import SetValidShapeOp, SubviewOp, TileViewOp
from pto_buf.dialect.tiles import AllocTileOp
from pto_buf.dialect.types import PartitionViewType, PtrType, TensorViewType, TileBufType
from pto_buf.errors import DiagnosticError
from pto_buf.hw import Pipe
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
        self._places: dict[SSAValue, Place] = {}
        self._touched: dict[tuple[Place, tuple[int, int] | None, tuple[int, ...]], Local] = {}

    def argument(self, value: BlockArgument, number: int, make: Callable[[str], Term]) -> None:
        """A function argument that is no integer. `make` makes a number that is given with it.

        A view is that of an array of its own.
        """
        name = value.name_hint or f"arg{number}"
        pointer = _Pointer(number, name, const(0))
        if isinstance(value.type, PtrType):
            self._pointers[value] = pointer
        elif isinstance(value.type, TensorViewType | PartitionViewType):
            given = value.type.data
            size = DTYPE_BITS[given.dtype] // 8
            shape = tuple(
                make(f"{name}.shape{dim}") if extent is None else const(extent)
                for dim, extent in enumerate(given.shape)
            )
            strides = tuple(make(f"{name}.stride{dim}") for dim in range(len(shape)))
            if isinstance(value.type, TensorViewType):
                self._views[value] = _View(pointer, shape, strides, size)
            else:
                zeros = (const(0),) * len(shape)
                self._windows[value] = Window(number, name, const(0), shape, strides, zeros, shape, size)

    # --- what names memory ---

    def define(self, op: Operation) -> bool:
        """Takes note of an op that names memory; False if it is none."""
        match op:
            case MakeTensorViewOp():
                pointer = self._pointer(op.ptr, op)
                size = DTYPE_BITS[op.view.type.data.dtype] // 8
                self._views[op.view] = _View(pointer, self._all(op.shape), self._all(op.strides), size)
            case PartitionViewOp():
                self._windows[op.view] = self._window(op)
            case SubviewOp():
                row, col = self._all(op.offsets)
                view = op.tile.type.data
                self._places[op.tile] = self.place(op.source, op).window(row, col, view.rows, view.cols)
            case TileViewOp():
                self._places[op.view] = self._seen_as(op)
            case SetValidShapeOp():
                pass  # moves nothing
            case AddPtrOp():
                pointer = self._pointer(op.ptr, op)
                base = add(pointer.base, self._terms[op.offset])
                self._pointers[op.result] = replace(pointer, base=base)
            case _:
                return False
        return True

    def _all(self, values: Iterable[SSAValue]) -> tuple[Term, ...]:
        return tuple(self._terms[value] for value in values)

    def _window(self, op: PartitionViewOp) -> Window:
        view = self._views.get(op.source)
        if view is None:
            raise _unsupported(op, "the view it cuts is not made by make_tensor_view")
        pointer, offsets, sizes = view.pointer, self._all(op.offsets), self._all(op.sizes)
        base = pointer.base
        return Window(pointer.argument, pointer.name, base, view.shape, view.strides, offsets, sizes, view.size)

    def _pointer(self, value: SSAValue, op: Operation) -> _Pointer:
        found = self._pointers.get(value)
        if found is None:
            raise _unsupported(op, "the pointer is no argument of the kernel")
        return found

    def scalar(self, op: Operation, site: Site) -> list[Instruction] | None:
        """What an op of the scalar unit on memory does; None if it is none."""
        match op:
            case LoadScalarOp() | StoreScalarOp():
                element, one = self._element(op), (const(1),)
                assert isinstance(op.ptr.type, PtrType)
                size = DTYPE_BITS[op.ptr.type.data.dtype] // 8
                window = Window(element.table, element.name, element.at[0], one, one, (const(0),), one, size)
                stores = isinstance(op, StoreScalarOp)
                return [Run(site, (Pipe.S,), (Touch(window, not stores, stores),))]
            case GetTensorViewDimOp() | GetTensorViewStrideOp():
                self._ask_view(op)
                return []
            case TileValidRowsOp() | TileValidColsOp() | GetValidShapeOp():
                self._ask_tile(op)
                return []
            case _:
                return None

    def loaded(self, op: Operation) -> Element | None:
        """What the scalar unit loads; None if the op is no load."""
        return self._element(op) if isinstance(op, LoadScalarOp) else None

    def _element(self, op: LoadScalarOp | StoreScalarOp) -> Element:
        pointer = self._pointer(op.ptr, op)
        return Element(pointer.argument, pointer.name, (add(pointer.base, self._terms[op.offset]),))

    def _ask_view(self, op: GetTensorViewDimOp | GetTensorViewStrideOp) -> None:
        view, dim = self._views.get(op.view), constant_of(self._terms[op.dim])
        if view is not None and dim is not None and 0 <= dim < len(view.shape):
            self._terms[op.value] = (view.shape if isinstance(op, GetTensorViewDimOp) else view.strides)[dim]

    def _ask_tile(self, op: TileValidRowsOp | TileValidColsOp | GetValidShapeOp) -> None:
        """Valid extents that the type says; others are only known at run time."""
        assert isinstance(op.tile.type, TileBufType)
        rows, cols = op.tile.type.data.valid
        extents = (
            (rows, cols) if isinstance(op, GetValidShapeOp) else (rows,) if isinstance(op, TileValidRowsOp) else (cols,)
        )
        for result, extent in zip(op.results, extents, strict=True):
            if extent is not None:
                self._terms[result] = const(extent)

    def _seen_as(self, op: TileViewOp) -> Place:
        """The same bytes in another shape. Of a window that is not one piece, all bytes it is cut from."""
        source, view = self.place(op.viewed, op), op.view.type
        assert isinstance(view, TileBufType)
        seen = source.bytes()
        if len(seen.runs) > 1:
            return replace(source, row=const(0), col=const(0), rows=source.base.rows, cols=source.base.cols)
        return whole(view.data, seen.address)

    def tile(self, op: AllocTileOp) -> Term:
        """The address of a new tile."""
        if op.addr is None:
            raise DiagnosticError.at(
                place_of(op),
                "the tile has no address, so it is not known which bytes an op touches",
                help="give every alloc_tile an addr (level 3), or check what the memory plan made of it",
                kind="unsupported-op",
            )
        return self._terms[op.addr]

    def lies_at(self, tile: SSAValue, address: Term) -> None:
        """From here on the tile lies there."""
        assert isinstance(tile.type, TileBufType)
        self._places[tile] = whole(tile.type.data, address)

    # --- what ops touch ---

    def place(self, tile: SSAValue, op: Operation) -> Place:
        """Where a tile operand of `op` lies. Tiles that control flow chooses are whole ones."""
        found = self._places.get(tile)
        if found is not None:
            return found
        address = self._terms.get(tile)
        if address is None or not isinstance(tile.type, TileBufType):
            raise _unsupported(op, "where one of its tiles lies is not known")
        return whole(tile.type.data, address)

    def address(self, tile: SSAValue, op: Operation) -> Term:
        """The byte address of a tile that control flow passes on."""
        place = self.place(tile, op)
        if len(place.bytes().runs) > 1:
            raise _unsupported(op, "a window of a tile is passed on")
        return place.bytes().address

    def choose(self, op: Operation) -> None:
        """`arith.select` of two tiles."""
        condition, yes, no = op.operands
        address = apply(Fn.SELECT, self._terms[condition], self.address(yes, op), self.address(no, op))
        self.lies_at(op.results[0], address)

    def touch(self, op: TileOp, use: OpUse, effect: Effect) -> Touch:
        """What the op does to one operand in memory."""
        value = op.operands[effect.position]
        if value in self._windows:
            return Touch(self._windows[value], effect.reads, effect.writes)
        place = self.place(value, op)
        known = self._touched.get((place, effect.extent, use.vectors))
        if known is None:
            known = place.bytes()
            if place.whole and effect.extent is not None and effect.extent != (0, place.base.footprint):
                known = replace(known, runs=(effect.extent,))
            known = self._touched[place, effect.extent, use.vectors] = replace(known, vectors=use.vectors)
        return Touch(known, effect.reads, effect.writes)


def _unsupported(op: Operation, why: str) -> DiagnosticError:
    return DiagnosticError.at(place_of(op), f"'{op.name}': {why}, so nothing can be proven", kind="unsupported-op")
