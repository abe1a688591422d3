"""From a function of the `ptobuf` dialect to the program that slot reasoning sees, and the way back to its ops."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, UnregisteredOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block as IRBlock
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from pto_buf.dialect.groups import operands_of
from pto_buf.dialect.pointers import GetValidShapeOp, TileValidColsOp, TileValidRowsOp
from pto_buf.dialect.ptobuf import AllocSlotsOp, ReleaseOp, SlotSelectOp
from pto_buf.dialect.slot_op import IntoManyOp, IntoOp, SlotOp
from pto_buf.dialect.table.row import Role
from pto_buf.dialect.tile_op import target_of
from pto_buf.dialect.types import tile_of
from pto_buf.errors import Diagnostic, DiagnosticError, Note, Place
from pto_buf.hw import Target
from pto_buf.slots.flow import SiteKey
from pto_buf.slots.index_terms import IndexTerms
from pto_buf.slots.names import effective
from pto_buf.slots.program import Access, Block, Branch, Loop, Node, Op, Program, Release, SlotSet, While
from pto_buf.slots.shapes import Shapes
from pto_buf.source import place_of
from pto_buf.walking import ops_of

STAGE_ATTRIBUTE = "ptobuf.stage"


@dataclass(frozen=True)
class Built:
    """A program, and where its parts are in the IR.

    `keys` numbers the function and the IR ops that its program sees: tile ops, releases, loops, branches and selections
    that take up what a slot holds; so what changes between them changes no key. `ops` holds the first four by key.
    `indices` holds the SSA value of the slot index of each access; a release's index stands at access 0. `sets` is by
    the key of the set.
    """

    program: Program
    keys: Mapping[Operation, int]
    ops: Mapping[int, Operation]
    indices: Mapping[SiteKey, SSAValue]
    sets: Mapping[int, AllocSlotsOp]
    terms: IndexTerms
    """Of any number of the function, in the variables of the program."""


def build(func: FuncOp) -> Built:
    """The program of a function with a body.

    Raises DiagnosticError for what slot reasoning cannot follow: a slot or a tile that comes out of a branch or a
    loop in more than one place, an op that is not known to read or write the tiles it takes.
    """
    builder = _Builder(target_of(func), _keys(func))
    body = builder.block(func.body.block)
    if builder.problems:
        raise DiagnosticError(*builder.problems)
    checked = body if builder.takes_up else None
    program = Program(func.sym_name.data, tuple(builder.sets.values()), effective(body) if checked else body, checked)
    sets = {slots.key: cast(AllocSlotsOp, op) for op, slots in builder.sets.items()}
    return Built(program, builder.keys, builder.ops, builder.indices, sets, builder.terms)


def _keys(func: FuncOp) -> Mapping[Operation, int]:
    """The function itself, and the ops that its program sees, in the order of the text."""
    kinds = (FuncOp, SlotOp, ReleaseOp, SlotSelectOp, scf.ForOp, scf.IfOp, scf.WhileOp)
    seen = (op for op in ops_of(func, *kinds) if not isinstance(op, SlotSelectOp) or op.held is not None)
    return {op: number for number, op in enumerate(seen)}


@dataclass(frozen=True)
class _Held:
    """A slot as an operand names it: by itself (`lease` is None) or by the value of the op with that key.

    `written` is the position, among that op's accesses, of the one that left the value.
    """

    slots: SlotSet
    index: SSAValue
    lease: int | None
    chosen: Place | None
    written: int | None = None
    held: int | None = None
    """The key of the selection that took up what the slot held."""


_Reader = Callable[[Any], Sequence[Node]]


def _nothing(op: Operation) -> Sequence[Node]:
    return ()


@dataclass
class _Builder:
    target: Target
    keys: Mapping[Operation, int]
    sets: dict[Operation, SlotSet] = field(default_factory=dict[Operation, SlotSet])
    ops: dict[int, Operation] = field(default_factory=dict[int, Operation])
    indices: dict[SiteKey, SSAValue] = field(default_factory=dict[SiteKey, SSAValue])
    problems: list[Diagnostic] = field(default_factory=list[Diagnostic])
    takes_up: bool = False

    def __post_init__(self) -> None:
        self.terms = IndexTerms(self.keys)
        self.shapes = Shapes(self.target)
        self._held: dict[SSAValue, _Held | None] = {}
        self._readers: dict[type[Operation], _Reader] = {}

    def block(self, block: IRBlock) -> Block:
        nodes: list[Node] = []
        for op in block.ops:
            kind = type(op)
            if kind not in self._readers:
                self._readers[kind] = self._reader(kind)
            nodes += self._readers[kind](op)
        return tuple(nodes)

    def _reader(self, kind: type[Operation]) -> "_Reader":
        """What makes nodes of ops of one class."""
        if issubclass(kind, SlotOp):
            return self._tile_op
        if issubclass(kind, scf.ForOp | scf.IfOp | scf.WhileOp):
            return self._region
        if issubclass(kind, scf.YieldOp | scf.ConditionOp):
            return _nothing
        if issubclass(kind, TileValidRowsOp | TileValidColsOp | GetValidShapeOp):
            return _nothing  # they look at the extents, not at the bytes
        own: Mapping[type[Operation], _Reader] = {
            AllocSlotsOp: self._set,
            ReleaseOp: self._release,
            SlotSelectOp: self._taken_up,
        }
        return own.get(kind, self._other)

    def _set(self, op: AllocSlotsOp) -> Sequence[Node]:
        spec = op.slots.type.data
        name, place = op.set_name.data, place_of(op)
        self.sets[op] = SlotSet(len(self.sets), name, spec.count, spec.tile, op.owned is not None, place)
        return ()

    def _taken_up(self, op: SlotSelectOp) -> Sequence[Node]:
        held = self._slot(op.slot, op) if op.held is not None else None
        if held is None:
            return ()
        self.takes_up = True
        taken = Access(held.slots, self.terms.of(held.index), Role.READ, "slot", None, place=held.chosen)
        return (Op(self.keys[op], "slot_select", (), (), place_of(op), takes_up=taken),)

    def _tile_op(self, op: SlotOp) -> Sequence[Node]:
        key, place = self.keys[op], place_of(op)
        self.ops[key] = op
        shape = self.shapes.of(op)
        if shape.wrong is not None:
            self._problem(op, f"'{op.name}': {shape.wrong.message}", kind=shape.wrong.kind)
        operands, accesses = operands_of(op), list[Access]()
        for touched in shape.touched:
            held = self._slot(operands[touched.position], op)
            if held is None:
                continue
            self.indices[SiteKey(key, len(accesses))] = held.index
            accesses.append(
                Access(
                    held.slots,
                    self.terms.of(held.index),
                    touched.role,
                    touched.name,
                    held.lease,
                    touched.start,
                    touched.end,
                    held.chosen,
                    held.written,
                    held.held,
                )
            )
        return (Op(key, shape.name, shape.pipes, tuple(accesses), place, shape.in_place),)

    def _release(self, op: ReleaseOp) -> Sequence[Node]:
        held = self._slot(op.lease, op)
        if held is None:
            return ()
        key = self.keys[op]
        self.ops[key] = op
        self.indices[SiteKey(key, 0)] = held.index
        term = self.terms.of(held.index)
        return (Release(key, held.slots, term, held.lease, place_of(op), held.chosen, held.written),)

    def _region(self, op: scf.ForOp | scf.IfOp | scf.WhileOp) -> Sequence[Node]:
        key, place = self.keys[op], place_of(op)
        self.ops[key] = op
        if isinstance(op, scf.IfOp):
            otherwise = self.block(op.false_region.block) if op.false_region.blocks else ()
            return (Branch(key, self.terms.of(op.cond), self.block(op.true_region.block), otherwise, place),)
        loop = self.terms.loop(op)
        if isinstance(op, scf.WhileOp):
            before, after = self.block(op.before_region.block), self.block(op.after_region.block)
            condition = self.terms.of(cast(scf.ConditionOp, op.before_region.block.last_op).condition)
            return (While(key, loop.var, condition, before, after, place, loop.carried),)
        attribute = op.attributes.get(STAGE_ATTRIBUTE)
        stage = attribute.value.data if isinstance(attribute, IntegerAttr) else 1
        body = self.block(op.body.block)
        return (Loop(key, loop.var, loop.lower, loop.upper, loop.step, body, stage, place, loop.carried),)

    def _other(self, op: Operation) -> Sequence[Node]:
        if any(tile_of(value.type) is not None for value in operands_of(op)):
            name = op.op_name.data if isinstance(op, UnregisteredOp) else op.name
            self._problem(op, f"'{name}' is not known to read or write the tiles it takes", kind="unsupported-op")
        for region in op.regions:
            for value in region.walk():
                if isinstance(value, SlotOp | ReleaseOp | AllocSlotsOp):
                    self._problem(op, f"slots inside '{op.name}' cannot be followed", kind="unsupported-op")
                    return ()
        return ()

    # --- which slot an operand names ---

    def _slot(self, value: SSAValue, user: Operation) -> _Held | None:
        """The slot behind a slot or a tile; None for an operand in no slot, or one that was complained about."""
        if tile_of(value.type) is None:
            return None
        known = self._held.get(value)
        if known is None and value not in self._held:
            known = self._held[value] = self._found(value, user)
        return known

    def _found(self, value: SSAValue, user: Operation) -> _Held | None:
        if isinstance(value, OpResult):
            match value.op:
                case SlotSelectOp() as select:
                    return self._selected(select)
                case IntoOp() | IntoManyOp() as into:
                    shape = self.shapes.of(into)
                    written = shape.kept[value.index]
                    held = self._slot(operands_of(into)[shape.touched[written].position], into)
                    return None if held is None else replace(held, lease=self.keys[into], written=written, held=None)
                case scf.IfOp() as branch:
                    arms = [cast(Operation, region.block.last_op) for region in branch.regions]
                    return self._joined(branch, value, [arm.operands[value.index] for arm in arms], "an 'if'")
                case scf.ForOp() as loop:
                    return self._slot(loop.body.block.args[1 + value.index], loop)
                case _:
                    pass
        elif isinstance(value, BlockArgument) and isinstance(loop := value.block.parent_op(), scf.ForOp):
            number = value.index - 1
            next = cast(Operation, loop.body.block.last_op).operands[number]
            self._held[value] = self._slot(loop.iter_args[number], loop)
            return self._joined(loop, value, [loop.iter_args[number], next], "a loop")
        self._problem(user, f"takes a {value.type} that no slot of this kernel holds", kind="unsupported-op")
        return None

    def _selected(self, select: SlotSelectOp) -> _Held | None:
        owner = select.slots.owner
        if isinstance(owner, AllocSlotsOp):
            held = None if select.held is None else self.keys[select]
            return _Held(self.sets[owner], select.index, None, place_of(select), held=held)
        message = "selects from a slot set that is not an alloc_slots of this kernel"
        self._problem(select, message, help="slot sets are made at the top of the kernel", kind="slot-set")
        return None

    def _joined(self, op: Operation, value: SSAValue, sources: list[SSAValue], what: str) -> _Held | None:
        """One slot for a tile that comes out of a branch or loop: it must be in the same slot whichever way it came.

        Which op wrote it is then not known, so it names whatever the slot holds.
        """
        held = [self._slot(source, op) for source in sources]
        first, second = held
        if first is None or second is None:
            return None
        if first.slots == second.slots and self._same_index(first.index, second.index, op):
            return replace(first, lease=None, written=None)
        self._problem(
            op,
            f"%{value.name_hint or 'a value'} comes out of {what} in slots of '{first.slots.name}' and "
            f"'{second.slots.name}' that are not one slot",
            *(Note(place_of(source.owner), "from here") for source in sources if isinstance(source.owner, Operation)),
            help="choose the index first and select one slot with it",
            kind="slot-join",
        )
        return None

    def _same_index(self, first: SSAValue, second: SSAValue, op: Operation) -> bool:
        """Whether both are one number, known outside of `op`."""
        outside = not isinstance(first.owner, Operation) or not op.is_ancestor(first.owner)
        return outside and (first is second or self.terms.of(first) == self.terms.of(second))

    def _problem(self, op: Operation, message: str, *notes: Note, help: str | None = None, kind: str) -> None:
        self.problems.append(Diagnostic(message, place_of(op), notes, help, kind))
