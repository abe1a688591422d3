"""Rules of the ops between cores that the form of the text does not say: who stands where, which slots and peer."""

from collections.abc import Iterator, Mapping

from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation
from xdsl.utils.exceptions import VerifyException

from pto_buf.dialect.attributes import KernelKindAttr, word_of
from pto_buf.dialect.kernel import SectionCubeOp, SectionOp
from pto_buf.dialect.table.geometry import check_tile
from pto_buf.dialect.table.row import TableError
from pto_buf.dialect.tile_op import target_of
from pto_buf.dialect.types import TileBufType, tile_of
from pto_buf.hw import Core, Space

CORE_OF: Mapping[str, Core] = {
    **dict.fromkeys(
        ("aic_initialize_pipe", "talloc_to_aiv", "tpush_to_aiv", "tpop_from_aiv", "tfree_from_aiv"), Core.CUBE
    ),
    **dict.fromkeys(
        ("aiv_initialize_pipe", "talloc_to_aic", "tpush_to_aic", "tpop_from_aic", "tfree_from_aic"), Core.VECTOR
    ),
}
"""The core that an end of a queue belongs to."""

_LOGICAL_NAME = "pto.ptodsl.logical_name"
"""Another name of a function, where its own was made unique."""

_SLOTS_ONE_WAY, _SLOTS_BOTH_WAYS = 8, 4
"""Slots of a queue where the text says nothing."""


def verify_core(op: Operation) -> None:
    """Raises VerifyException for an end of a queue that stands on the other core, or where no core is said."""
    wanted = CORE_OF.get(op.name.removeprefix("pto."))
    if wanted is not None and (found := _core_around(op)) != wanted.value:
        where = "no kernel_kind and no section says which" if found is None else f"this is a {found} one"
        raise VerifyException(f"belongs in a {wanted} kernel or section; {where}")


def _core_around(op: Operation) -> str | None:
    around = op.parent_op()
    while around is not None and not isinstance(around, FuncOp):
        if isinstance(around, SectionOp):
            return Core.CUBE if isinstance(around, SectionCubeOp) else Core.VECTOR
        around = around.parent_op()
    if around is None or "pto.tileop.helper" in around.attributes:
        return CORE_OF[op.name.removeprefix("pto.")]
    kind = around.attributes.get("pto.kernel_kind")
    return kind.data if isinstance(kind, KernelKindAttr) else None


def verify_tiles(op: Operation) -> None:
    """Raises VerifyException for a tile that is sent or taken and that no memory of the target can hold."""
    if op.name.removeprefix("pto.") not in CORE_OF:
        return
    for value in (*op.operands, *op.results):
        if isinstance(value.type, TileBufType):
            try:
                check_tile(value.type.data, target_of(op))
            except TableError as error:
                raise VerifyException(error.message) from None


_SCALES: Mapping[str, tuple[str, ...]] = {"a2a3": ("i64", "ui64"), "a5": ("f16", "bf16", "f32")}
"""Element types of a table of scales for a queue."""


def verify_scales(op: Operation) -> None:
    """Raises VerifyException for a table of scales that is no row of the scaling buffer in the target's types."""
    if op.name != "pto.set_quant_vector":
        return
    tile, target = tile_of(op.operands[0].type), target_of(op).name
    if tile is None or tile.space is not Space.SCALING or tile.rows != 1:
        raise VerifyException(f"takes one row of the scaling buffer, found {op.operands[0].type}")
    if tile.dtype not in _SCALES[target]:
        raise VerifyException(f"takes scales of {' or '.join(_SCALES[target])} on {target}, found {tile.dtype}")


def verify_slot_counts(op: IRDLOperation) -> None:
    """Raises VerifyException for more slots on the core than the queue has."""
    local = op.attributes.get("local_slot_num")
    if local is None:
        return
    if target_of(op).name == "a5":
        raise VerifyException("local_slot_num is for a2a3")
    usual = _SLOTS_BOTH_WAYS if word_of(op.attributes["dir_mask"]) == "3" else _SLOTS_ONE_WAY
    slots = op.attributes.get("slot_num")
    most = usual if slots is None else int(word_of(slots))
    if int(word_of(local)) > most:
        raise VerifyException(f"local_slot_num {word_of(local)} is more than the {most} slots of the queue")


def verify_peer(op: Operation) -> None:
    """Raises VerifyException for a peer that is no function of the program."""
    peer = op.attributes.get("peer_func")
    if not isinstance(peer, SymbolRefAttr):
        return
    name = peer.root_reference.data
    if name not in _function_names(op):
        raise VerifyException(f"peer_func @{name} is no function of this program")


def _function_names(op: Operation) -> Iterator[str]:
    """The names of all functions around `op`, in nested modules too."""
    top = op
    while (parent := top.parent_op()) is not None:
        top = parent
    if not isinstance(top, ModuleOp):
        return
    for other in top.walk():
        if isinstance(other, FuncOp):
            yield other.sym_name.data
            if isinstance(logical := other.attributes.get(_LOGICAL_NAME), StringAttr):
                yield logical.data
