"""Writing for one version of the assembler: what it spells otherwise is respelt, what it lacks is reported.

Without a version, programs are written as all versions read them, wherever there is such a spelling.
"""

import re
from collections.abc import Iterator, Mapping

from xdsl.dialects.builtin import FunctionType, IntegerAttr, MemRefType, ModuleOp, i64
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import BlockArgument, Operation
from xdsl.rewriter import Rewriter

from pto_buf.dialect.cross_core import (
    SetFftsOp,
    SetIntraBlockOp,
    SyncAllOp,
    SyncSetOp,
    SyncWaitOp,
    WaitIntraBlockOp,
)
from pto_buf.dialect.pto import OLD_SPELLINGS, PtoTileOp
from pto_buf.dialect.queue_op import QueueOp
from pto_buf.dialect.scalars import TPrintOp
from pto_buf.dialect.table.row import OldSpelling, OpRow, Use
from pto_buf.dialect.table.vocabulary import NEWEST, OLDEST, Version
from pto_buf.dialect.tile_op import TileOp, target_of
from pto_buf.dialect.types import PtrSpec, PtrType, TileBufType
from pto_buf.errors import Diagnostic, DiagnosticError, UsageError
from pto_buf.hw import A5, Pipe
from pto_buf.source import place_of

SINCE: Mapping[str, Version] = {
    "alloc_multi_tile": (0, 49),
    "multi_tile_get": (0, 49),
    "cmo.cacheinvalid": (0, 51),
    "fence.barrier_all": (0, 51),
    "set_quant_scalar": (0, 51),
    "set_quant_vector": (0, 51),
    "declare_struct": (0, 52),
    "get_buf_dyn": (0, 52),
    "rls_buf_dyn": (0, 52),
    "struct_get": (0, 52),
    "struct_set": (0, 52),
    "set_cross_block": (0, 60),
    "set_intra_block": (0, 60),
    "wait_cross_block": (0, 60),
    "wait_intra_block": (0, 60),
}
"""The first version that has an op, of ops without a row that the oldest does not have."""

_POINTERS: Version = (0, 56)
"""From here on `set_ffts` takes a pointer, soft `syncall` only workspaces in global memory, and no tile op memrefs."""

_INTRA_BLOCK: Version = (0, 60)
"""From here on signals within a block have ops of their own on a5, and each goes to one vector core."""

_SECOND_VECTOR_CORE = 16
"""What is added to the id of a signal for it."""


def parse_version(text: str) -> Version:
    """`0.48` or `v0.48`. Raises UsageError for a version that is not known."""
    match = re.fullmatch(r"v?(\d+)\.(\d+)", text)
    version = (int(match[1]), int(match[2])) if match else None
    if version is None or not OLDEST <= version <= NEWEST:
        known = f"there are {_named(OLDEST)} to {_named(NEWEST)}"
        raise UsageError(f"'{text}' is no version of ptoas that is known", known)
    return version


def _named(version: Version) -> str:
    return f"v{version[0]}.{version[1]}"


def spell_for(module: ModuleOp, version: Version) -> None:
    """Respell `module` in place, only to be printed then.

    Raises DiagnosticError with everything that the version does not have.
    """
    lacking: list[Diagnostic] = []
    for op in list(module.walk()):
        if isinstance(op, SetFftsOp):
            _retype_base(op, version)
        elif isinstance(op, SyncSetOp | SyncWaitOp) and version >= _INTRA_BLOCK:
            _within_block(op)
        wrong = [*_lacks(op, version)]
        written = f"the program is written for {_named(version)}"
        lacking += [Diagnostic(f"'{op.name}' {words}; {written}", place_of(op), kind="version") for words in wrong]
        if isinstance(op, TileOp) and not wrong:
            _respell(op, version)
    if lacking:
        raise DiagnosticError(*lacking)


def _lacks(op: Operation, version: Version) -> Iterator[str]:
    """What `op` has or is that the version does not know."""
    since = SINCE.get(op.name.removeprefix("pto."), OLDEST)
    if since > version:
        yield f"exists from {_named(since)} on"
    for what, needed in _parts(op):
        if needed > version:
            yield f"{what} exists from {_named(needed)} on"
    match op:
        case TileOp():
            if version >= _POINTERS and any(value.type.name == "memref" for value in op.operands):
                yield f"takes memrefs before {_named(_POINTERS)} only; give tiles and partition views"
            yield from _row_lacks(op.row, op.use(target_of(op)), version)
            scratch = op.missing_scratch() if isinstance(op, PtoTileOp) else None
            if scratch is not None and version >= op.row.scratch_since:
                yield f"needs tmp from {_named(op.row.scratch_since)} on, like {TileBufType(scratch)}"
        case SetFftsOp():
            pointer = isinstance(op.base.type, PtrType)
            if pointer != (version >= _POINTERS):
                yield f"takes a {'memref' if pointer else '!pto.ptr'}, found {op.base.type}"
        case SyncAllOp() if op.mode.data == "soft":
            on_chip = len(op.workspaces) > 2
            if on_chip and version >= _POINTERS:
                yield f"takes workspaces only in global memory from {_named(_POINTERS)} on"
            elif not on_chip and version < _POINTERS:
                yield f"needs workspaces on chip before {_named(_POINTERS)}"
        case _:
            pass


def _parts(op: Operation) -> Iterator[tuple[str, Version]]:
    """Operands and attributes of ops without a row, with the first version that has them."""
    if isinstance(op, QueueOp) and op.subblock is not None:
        yield "aiv_subblockid", (0, 50)
    if "acc_push_epilogue" in op.attributes:
        yield "acc_push_epilogue", (0, 51)
    if isinstance(op, SyncWaitOp) and "ffts_mode" in {**op.properties, **op.attributes}:
        yield "ffts_mode", (0, 60)
    if isinstance(op, TPrintOp) and (op.tmp is not None or op.print_format is not None):
        yield "tmp or printFormat", (0, 49)


def _row_lacks(row: OpRow, use: Use, version: Version) -> Iterator[str]:
    if row.since > version:
        yield f"exists from {_named(row.since)} on"
        return
    form = row.form(use)
    if form.since > version:
        spaces = ", ".join(f"{name} in {space}" for name, space in form.spaces.items())
        yield f"{spaces} exists from {_named(form.since)} on"
    for operand in row.operands:
        if operand.name in use.operands and operand.since > version:
            yield f"{operand.name} exists from {_named(operand.since)} on"
        if operand.name not in use.operands and operand.needed_before > version:
            yield f"needs {operand.name} before {_named(operand.needed_before)}"
    old = _old(row, use, version)
    for attr in row.attrs:
        if old is not None and attr.name in old.without and use.attr(attr.name) != attr.default:
            yield f"takes {attr.name} in this form from {_named(old.before)} on"
        if attr.name in use.attrs and attr.since > version and use.attrs[attr.name] not in (attr.meant, attr.default):
            yield f"{attr.name} = {use.attrs[attr.name]} exists from {_named(attr.since)} on"


def _respell(op: TileOp, version: Version) -> None:
    row = op.row
    for attr in row.attrs:
        if attr.since > version:
            op.attributes.pop(attr.name, None)
    old = _old(row, op.use(target_of(op)), version)
    block = op.parent
    if old is not None and block is not None:
        replacement = OLD_SPELLINGS[old.mnemonic].of(op)
        block.insert_op_before(replacement, op)
        op.detach()
        op.erase()


def _old(row: OpRow, use: Use, version: Version) -> OldSpelling | None:
    return next((old for old in row.old if version < old.before and old.when is not None and old.when(use)), None)


# --- signals between cores ----------------------------------------------------------------------------------------


def _retype_base(op: SetFftsOp, version: Version) -> None:
    """Gives a parameter that only says where signals live the type that the version takes."""
    base, type = op.base, PtrType(PtrSpec("i64")) if version >= _POINTERS else MemRefType(i64, [256])
    function = op.parent_op()
    if not isinstance(base, BlockArgument) or base.type == type or not isinstance(function, FuncOp):
        return
    if base.block is function.body.block and all(isinstance(use.operation, SetFftsOp | CallOp) for use in base.uses):
        Rewriter.replace_value_with_new_type(base, type)
        function.function_type = FunctionType.from_lists(base.block.arg_types, function.function_type.outputs.data)


def _within_block(op: SyncSetOp | SyncWaitOp) -> None:
    """Respells a signal on a5, whose number is a constant: what FIX sends goes to both vector cores."""
    block = op.parent
    if target_of(op) is not A5 or op.ffts_mode is not None or op.event_id is None or block is None:
        return
    kind = SetIntraBlockOp if isinstance(op, SyncSetOp) else WaitIntraBlockOp
    number = op.event_id.value.data
    both = kind is SetIntraBlockOp and op.pipe.data is Pipe.FIX and number < _SECOND_VECTOR_CORE
    for id in (number, number + _SECOND_VECTOR_CORE) if both else (number,):
        made = kind.create(properties={**op.properties, "event_id": IntegerAttr(id, 32)})
        made.location = op.location
        block.insert_op_before(made, op)
    op.detach()
    op.erase()
