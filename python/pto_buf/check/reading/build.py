"""From a function of the `pto` dialect to the checker's program."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import IndexType, UnitAttr
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue

from pto_buf.called import with_calls_written_out
from pto_buf.check.program import (
    Assign,
    Branch,
    Code,
    Element,
    End,
    Enter,
    Fresh,
    Instruction,
    Jump,
    Kind,
    Leave,
    Local,
    Loop,
    Next,
    Program,
    Run,
    Site,
    Touch,
    VarInfo,
)
from pto_buf.check.reading.arrays import Arrays
from pto_buf.check.reading.hidden import settle_hidden
from pto_buf.check.reading.loads import settle_loads
from pto_buf.check.reading.memory import Memory
from pto_buf.check.reading.numbers import term_of, width_of
from pto_buf.check.reading.operations import Operations, is_scalar
from pto_buf.check.reading.sync_ops import sync_instructions
from pto_buf.check.reading.uses import Uses
from pto_buf.check.terms import Term, Var, add, const, less
from pto_buf.dialect.attributes import KernelKindAttr
from pto_buf.dialect.kernel import BlockQueryOp, SectionOp
from pto_buf.dialect.table.row import TableError
from pto_buf.dialect.tile_op import TileOp, target_of
from pto_buf.dialect.tiles import AllocTileOp, AssignOp
from pto_buf.dialect.types import tile_of
from pto_buf.errors import DiagnosticError
from pto_buf.hw import Core, Space
from pto_buf.same_values import SameValues, same_values
from pto_buf.sections import core_of, sections_of
from pto_buf.source import place_of

_SCALAR_DIALECTS = ("arith.", "math.")
_NOTHING = frozenset({"pto.set_ffts", "pto.cmo.cacheinvalid", "pto.print", "pto.trap"})
"""Ops that touch no tile and order nothing."""


def build(function: func.FuncOp) -> Program:
    """The function as the checker sees it. Raises DiagnosticError for an op that the checker does not know."""
    return settle_loads(settle_hidden(_Builder(with_calls_written_out(function)).program()))


class _Builder:
    """Walks the function once. `_terms` holds integers, and for a tile that control flow chooses, its address.

    `_fixed` holds unknowns that do not change in a run, by the first value of those that are the same.
    """

    def __init__(self, function: func.FuncOp):
        self._function = function
        self._target = target_of(function)
        self._uses = Uses(self._target)
        self._variables: list[VarInfo] = []
        self._terms: dict[SSAValue, Term] = {}
        self._block_values: dict[str, Var] = {}
        self._fixed: dict[SSAValue, Var] = {}
        self._code: list[Instruction] = []
        self._section: Core | None = None
        self._sites = 0
        self._loops = 0
        self._visits: dict[type[Operation], Callable[[Any], None]] = {}
        self._memory = Memory(self._terms)
        self._operations = Operations(self._terms)
        self._arrays = Arrays(self._terms, self._element)

    # --- the whole ---

    def program(self) -> Program:
        function = self._function
        if len(function.body.blocks) != 1:
            raise DiagnosticError.at(
                place_of(function), "control flow by branches between blocks is not followed", kind="unsupported-op"
            )
        arguments: list[tuple[int, Var]] = []
        block = function.body.block
        for number, argument in enumerate(block.args):
            if width_of(argument.type) is not None:
                var = self._variable(argument.name_hint or f"arg{number}", Kind.ARGUMENT, argument.type)
                self._terms[argument] = var
                arguments.append((number, var))
            else:
                self._operations.argument(argument)
                self._memory.argument(argument, number, self._extent)
        codes = tuple(self._codes(block))
        return Program(
            function.sym_name.data,
            place_of(function),
            isinstance(function.attributes.get("pto.entry"), UnitAttr),
            tuple(arguments),
            tuple(self._variables),
            codes,
            self._block_values.get("subblock_idx"),
            self._block_values.get("subblock_num"),
        )

    def _codes(self, block: Block) -> Iterator[Code]:
        """One for each kind of core that has a section; what stands outside of sections is done by each."""
        cores = tuple(dict.fromkeys(core_of(op) for op in sections_of(self._function)))
        kind = self._function.attributes.get("pto.kernel_kind")
        if not cores:
            self._walk(block)
            yield Code(kind.data if isinstance(kind, KernelKindAttr) else None, tuple(self._code))
            return
        for core in cores:
            self._section, self._code = core, []
            self._walk(block)
            yield Code(core, tuple(self._code))

    def _site(self, op: Operation) -> Site:
        self._sites += 1
        return Site(self._sites - 1, op.name.removeprefix("pto."), place_of(op))

    def _variable(self, name: str, kind: Kind, type: Attribute, op: Operation | None = None) -> Var:
        var = Var(len(self._variables), name)
        self._variables.append(VarInfo(var, kind, width_of(type) == 1, None if op is None else place_of(op)))
        return var

    def _extent(self, name: str) -> Var:
        return self._variable(name, Kind.ARGUMENT, IndexType())

    def _element(self, op: Operation, name: str) -> Var:
        return self._variable(name, Kind.CARRIED, IndexType(), op)

    # --- ops ---

    def _walk(self, block: Block) -> None:
        for op in block.ops:
            kind = type(op)
            visit = self._visits.get(kind)
            if visit is None:
                visit = self._visits[kind] = self._visit(op)
            visit(op)

    def _visit(self, op: Operation) -> Callable[[Any], None]:
        """What takes in the ops of this class. Looked up once for each class, since programs consist of few."""
        match op:
            case TileOp():
                return self._tile_op
            case scf.ForOp():
                return self._for
            case scf.IfOp():
                return self._if
            case scf.WhileOp():
                return self._while
            case scf.YieldOp() | scf.ConditionOp():
                return _ignore  # whoever owns the block reads it
            case func.ReturnOp():
                return self._return
            case AllocTileOp():
                return self._alloc
            case AssignOp():
                return self._move_tile
            case SectionOp():
                return self._enter_section
            case _ if op.name.startswith(_SCALAR_DIALECTS):
                return self._arithmetic
            case _:
                return self._plain

    def _return(self, op: func.ReturnOp) -> None:
        self._code.append(End(self._site(op)))

    def _enter_section(self, op: SectionOp) -> None:
        if self._section is None or core_of(op) is self._section:
            self._walk(op.body.block)

    def _plain(self, op: Operation) -> None:
        """An op without regions."""
        if self._memory.define(op) or op.name in _NOTHING:
            return
        if isinstance(op, BlockQueryOp):
            self._query(op)
            return
        site = self._site(op)
        ordering = sync_instructions(op, site, self._terms, self._target)
        done = ordering or self._arrays.visit(op, site) or self._memory.scalar(op, site)
        if done is None:
            self._arithmetic(op)
            return
        self._code += done
        for result in op.results:
            if is_scalar(result.type) and result not in self._terms:
                self._terms[result] = self._unknown(op, result, self._memory.loaded(op))

    def _query(self, op: BlockQueryOp) -> None:
        """Numbers that the launch gives; they are the same wherever they are asked for."""
        name = op.name.removeprefix("pto.get_")
        if name not in self._block_values:
            self._block_values[name] = self._variable(name, Kind.ARGUMENT, op.value.type)
        self._terms[op.value] = self._block_values[name]

    def _arithmetic(self, op: Operation) -> None:
        if not op.name.startswith(_SCALAR_DIALECTS) or op.regions:
            raise DiagnosticError.at(
                place_of(op), f"'{op.name}' is not known to check-sync, so nothing can be proven", kind="unsupported-op"
            )
        if len(op.results) == 1 and (tile_of(op.results[0].type) is not None) and op.name == "arith.select":
            self._memory.choose(op)
            return
        for result in op.results:
            if width_of(result.type) is None:
                self._operations.define(result)
                continue
            value = term_of(op, [self._terms.get(operand) for operand in op.operands])
            self._terms[result] = self._worked_out(op, result) if value is None else value

    def _worked_out(self, op: Operation, result: OpResult) -> Term:
        """What nothing is known of: made here, unless the same value was made before or does not change in a run."""
        first = self._same.of(result)
        if result not in self._same.fixed:
            new = first is result
            return self._unknown(op, result, self._operations.define(result)) if new else self._terms[first]
        if first not in self._fixed:
            self._fixed[first] = self._variable(result.name_hint or op.name, Kind.FIXED, result.type, op)
        return self._fixed[first]

    @cached_property
    def _same(self) -> SameValues:
        return same_values(self._function)

    def _unknown(self, op: Operation, result: SSAValue, element: Element | None = None) -> Var:
        var = self._variable(result.name_hint or op.name, Kind.UNKNOWN, result.type, op)
        if element is not None:
            element = replace(element, boolean=self._variables[var.key].boolean)
        self._code.append(Fresh(self._site(op), var, element))
        return var

    def _tile_op(self, op: TileOp) -> None:
        try:
            use = self._uses.of(op)
        except TableError as err:
            raise DiagnosticError.at(place_of(op), err.message, kind=err.kind) from None
        touches = tuple(self._memory.touch(op, use, effect) for effect in use.effects)
        if use.hidden is not None:
            where = Local(Space.VEC, const(0), (use.hidden,))
            touches = (*touches, Touch(where, reads=True, writes=True, hidden=True))
        self._code.append(Run(self._site(op), use.pipes, touches, use.raises))
        for result in op.results:
            if width_of(result.type) is not None:
                self._terms[result] = self._unknown(op, result)

    def _alloc(self, op: AllocTileOp) -> None:
        """A tile that moves later has its address in a variable."""
        address = self._memory.tile(op)
        if any(isinstance(use.operation, AssignOp) for use in op.tile.uses):
            var = self._variable(op.tile.name_hint or "tile", Kind.CARRIED, op.tile.type, op)
            self._code.append(Assign(((var, address),)))
            address = var
        self._memory.lies_at(op.tile, address)

    def _move_tile(self, op: AssignOp) -> None:
        place = self._memory.place(op.source, op)
        if not op.tile.uses or not isinstance(place.address, Var) or not place.whole:
            why = "its result is not used" if not op.tile.uses else "what it moves is no tile of this function"
            raise DiagnosticError.at(
                place_of(op),
                f"'tassign': {why}, so the assembler may drop it or move something else",
                help=AssignOp.HELP,
                kind="unsupported-op",
            )
        self._code.append(Assign(((place.address, self._terms[op.addr]),)))
        self._memory.lies_at(op.tile, place.address)

    # --- control flow ---

    def _for(self, op: scf.ForOp) -> None:
        block = op.body.block
        lower, upper, step = (self._terms[value] for value in (op.lb, op.ub, op.step))
        counter = self._variable(block.args[0].name_hint or "i", Kind.COUNTER, block.args[0].type, op)
        self._terms[block.args[0]] = counter
        carried = self._carry(op, op.iter_args, block.args[1:], op.results)
        site = self._site(op)
        loop = Loop(self._new_loop(), site, counter, lower, upper, step)
        self._code.append(Assign(((counter, lower), *carried)))
        self._code.append(Enter(loop))
        head = self._open_branch(site, less(counter, upper), loop)
        self._walk(block)
        yielded = self._assigned(op, op.results, _terminator(block).operands)
        self._code.append(Assign(((counter, add(counter, step)), *yielded)))
        self._code += [Next(loop), Jump(head)]
        self._close_branch(head)
        self._code.append(Leave(loop))

    def _while(self, op: scf.WhileOp) -> None:
        before, after = op.before_region.block, op.after_region.block
        entered = self._carry(op, op.arguments, before.args, ())
        forwarded = self._carry(op, (), after.args, op.results)
        assert not forwarded
        site = self._site(op)
        loop = Loop(self._new_loop(), site)
        self._code.append(Assign(tuple(entered)))
        self._code.append(Enter(loop))
        start = len(self._code)
        self._walk(before)
        condition = _terminator(before)
        passed = self._assigned(op, after.args, condition.operands[1:])
        # The condition is decided by the values before they are passed on, which are never assigned here.
        self._code.append(Assign(tuple(passed)))
        head = self._open_branch(site, self._terms[condition.operands[0]], loop)
        self._walk(after)
        yielded = self._assigned(op, before.args, _terminator(after).operands)
        self._code.append(Assign(tuple(yielded)))
        self._code += [Next(loop), Jump(start)]
        self._close_branch(head)
        self._code.append(Leave(loop))

    def _if(self, op: scf.IfOp) -> None:
        self._carry(op, (), op.results, ())
        head = self._open_branch(self._site(op), self._terms[op.cond], None)
        self._arm(op, op.true_region, op.results)
        if not op.false_region.blocks and not op.results:
            self._close_branch(head)
            return
        over = len(self._code)
        self._code.append(Jump(-1))
        self._close_branch(head)
        self._arm(op, op.false_region, op.results)
        self._code[over] = Jump(len(self._code))

    def _arm(self, op: Operation, region: Region, results: Sequence[SSAValue]) -> None:
        if not region.blocks:
            return
        self._walk(region.block)
        yielded = self._assigned(op, results, _terminator(region.block).operands)
        if yielded:
            self._code.append(Assign(tuple(yielded)))

    def _new_loop(self) -> int:
        self._loops += 1
        return self._loops - 1

    def _open_branch(self, site: Site, condition: Term, loop: Loop | None) -> int:
        self._code.append(Branch(site, condition, -1, loop))
        return len(self._code) - 1

    def _close_branch(self, head: int) -> None:
        branch = self._code[head]
        assert isinstance(branch, Branch)
        self._code[head] = replace(branch, otherwise=len(self._code))

    def _carry(
        self, op: Operation, inits: Iterable[SSAValue], names: Sequence[SSAValue], results: Sequence[SSAValue]
    ) -> list[tuple[Var, Term]]:
        """Makes a variable for each integer (or chosen tile) in `names`, which `results` share; says how it starts."""
        for number, value in enumerate(names):
            if width_of(value.type) is not None or tile_of(value.type) is not None:
                hint = value.name_hint or f"value{number}"
                self._terms[value] = self._variable(hint, Kind.CARRIED, value.type, op)
                if number < len(results):
                    self._terms[results[number]] = self._terms[value]
        return self._assigned(op, names, tuple(inits)) if inits else []

    def _assigned(self, op: Operation, names: Sequence[SSAValue], values: Sequence[SSAValue]) -> list[tuple[Var, Term]]:
        pairs: list[tuple[Var, Term]] = []
        for name, value in zip(names, values, strict=True):
            var = self._terms.get(name)
            if var is None:
                continue
            assert isinstance(var, Var)
            term = self._memory.address(value, op) if tile_of(value.type) is not None else self._terms[value]
            if term != var:
                pairs.append((var, term))
        return pairs


def _ignore(op: Operation) -> None:
    pass


def _terminator(block: Block) -> Operation:
    last = block.last_op
    assert last is not None
    return last
