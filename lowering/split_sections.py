"""`ptobuf-split-sections`: makes a kernel for the cube core and one for the vector cores of one that has work for both.

A function without `pto.kernel_kind` whose tile ops run on both kinds of core becomes two, `@k.cube` and `@k.vector`,
each with its own core's ops and a copy of the control flow and arithmetic that these need. From here on each is a
kernel of its own; `ptobuf-join-sections` makes one function with two sections of them again.

Where an op of one core has to come behind one of the other, since both touch the same global memory, signals are put
into both: `pto_buf.cores` says which, and why they suffice.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import is_side_effect_free

from pto_buf.dialect.attributes import KernelKindAttr
from pto_buf.dialect.kernel import GetSubBlockIdxOp
from pto_buf.dialect.pointers import AddPtrOp, LoadScalarOp
from pto_buf.dialect.ptobuf import AllocSlotsOp, ReleaseOp, SlotSelectOp
from pto_buf.dialect.tile_op import TileOp, target_of
from pto_buf.dialect.types import tile_of
from pto_buf.errors import DiagnosticError, Note, Place
from pto_buf.fences.windows import Windows
from pto_buf.hw import Core, Space, Target
from pto_buf.kept import Keeps, changed
from pto_buf.lowering.core_signals import PART_OF, put_signals
from pto_buf.lowering.global_windows import global_windows
from pto_buf.lowering.keeping import keep_only, needed_for
from pto_buf.lowering.lost_overlap import note_lost, tell_lost
from pto_buf.slots.build import build
from pto_buf.source import place_of
from pto_buf.walking import functions, ops_in, ops_of

_CUBE_SPACES = (Space.MAT, Space.LEFT, Space.RIGHT, Space.ACC, Space.BIAS, Space.SCALING)


@dataclass(frozen=True)
class SplitSectionsPass(ModulePass, Keeps):
    """ptobuf-split-sections."""

    name: ClassVar[str] = "ptobuf-split-sections"

    fail_on_lost_overlap: bool = False
    """Overlap that is given up is an error; else a warning. Either way the function says so in an attribute."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        mixed = [function for function in functions(op) if "pto.kernel_kind" not in function.attributes]
        tell_lost([one for function in mixed for one in _split(function, target)], fail=self.fail_on_lost_overlap)


def _split(function: FuncOp, target: Target) -> list[tuple[Place | None, str]]:
    """Makes two functions of one that has work for both cores. Returns what overlap is lost, and where."""
    tile_ops = {op: _core_of_tiles(op) for op in ops_of(function, TileOp)}
    if len(set(tile_ops.values())) < 2:
        return []
    cores: dict[Operation, Core] = {**tile_ops, **dict(_others(function))}
    built = build(function)
    windows = global_windows(built)
    _refuse_stale_numbers(function, windows)
    signals = put_signals(function, built, windows, cores, target)
    cores |= signals.cores
    for core in Core:
        part = _part(function, cores, core)
        note_lost(part, [what for waiting, _, what in signals.lost if waiting is core])
    changed(function)
    function.detach()
    function.erase()
    return [(place, what) for _, place, what in signals.lost]


def _core_of_tiles(op: TileOp) -> Core:
    """The core whose memories an op works on. Raises DiagnosticError for an op that works on those of both."""
    tiles = [tile for value in (*op.operands, *op.results) if (tile := tile_of(value.type)) is not None]
    found = {_core_of(tile.space): tile.space for tile in tiles}
    if len(found) > 1:
        first, second = found.values()
        raise DiagnosticError.at(
            place_of(op),
            f"'{op.name}' works on {first} and {second}, which belong to two kinds of core",
            help="hand the data over through a tensor: store it, and load it again",
            kind="two-cores",
        )
    return next(iter(found), Core.VECTOR)


def _core_of(space: Space) -> Core:
    return Core.CUBE if space in _CUBE_SPACES else Core.VECTOR


def _others(function: FuncOp) -> Iterator[tuple[Operation, Core]]:
    """The ops besides tile ops that one core does. Raises DiagnosticError for an op of which that is not known."""
    for op in ops_in(function):
        match op:
            case AllocSlotsOp():
                yield op, _core_of(op.slots.type.data.tile.space)
            case SlotSelectOp() if op.held is not None:
                yield op, _core_of(op.slot.type.data.space)
            case ReleaseOp() if (tile := tile_of(op.lease.type)) is not None:
                yield op, _core_of(tile.space)
            case TileOp() | LoadScalarOp() | FuncOp():
                pass
            case _ if not op.regions and op.name.startswith("pto") and not is_side_effect_free(op):
                raise DiagnosticError.at(
                    place_of(op),
                    f"'{op.name}' does not say which core of this kernel does it: it has work for both kinds",
                    help="leave it out where it only orders ops: fences and signals are put in",
                    kind="two-cores",
                )
            case _:
                pass


def _refuse_stale_numbers(function: FuncOp, windows: Windows) -> None:
    """Numbers are read through a cache, which no signal empties. Raises DiagnosticError for one of a written array."""
    written = {window.array.number for found in windows.values() for window in found if window.writes}
    for op in ops_in(function):
        if isinstance(op, LoadScalarOp) and base_argument(op.ptr) in written:
            raise DiagnosticError.at(
                place_of(op),
                "reads a number from a tensor that this kernel writes, which both of its cores would have to see alike",
                help="load it into a tile, or write to another tensor",
                kind="two-cores",
            )


def base_argument(pointer: SSAValue) -> int | None:
    """The argument whose array a pointer points into; None if it is worked out otherwise."""
    while isinstance(step := pointer.owner, AddPtrOp):
        pointer = step.ptr
    return pointer.index if isinstance(pointer, BlockArgument) else None


def _part(function: FuncOp, cores: Mapping[Operation, Core], core: Core) -> FuncOp:
    """Makes the function of one core. Raises DiagnosticError where it needs a number that only the other core has."""
    part = function.clone()
    block = function.parent
    assert block is not None
    block.insert_op_before(part, function)
    of = {copy: cores[op] for op, copy in zip(ops_in(function), ops_in(part), strict=True) if op in cores}

    def stop(op: Operation, user: Operation) -> None:
        alone = isinstance(op, GetSubBlockIdxOp) and core is Core.CUBE
        if of.get(op, core) is not core or alone:
            raise DiagnosticError.at(
                place_of(user),
                f"the {core} core has to do this too, and needs a number for it that only the other core has",
                Note(place_of(op), "the number comes from here"),
                help="let what both cores do depend on arguments and loop counters",
                kind="two-cores",
            )

    keep_only(part, needed_for([op for op, own in of.items() if own is core], stop))
    part.sym_name = StringAttr(f"{function.sym_name.data}.{core}")
    part.attributes["pto.kernel_kind"] = KernelKindAttr(core)
    part.attributes[PART_OF] = StringAttr(function.sym_name.data)
    return part
