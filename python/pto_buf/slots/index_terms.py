"""From SSA values to index terms: through arith ops, casts, loop counters, carried values and results of branches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue

from pto_buf.dialect.tile_op import constant_of
from pto_buf.same_values import SameValues, same_values
from pto_buf.slots.bounds import BOOL, Interval, bounds
from pto_buf.slots.carried import closed_forms
from pto_buf.slots.fold import BITS
from pto_buf.slots.program import Carried
from pto_buf.slots.simplify import ONE, ZERO, apply, select
from pto_buf.slots.terms import COMPARISONS, COUNT_LIMIT, TRIP_LIMIT, Const, Fn, Opaque, Term, Var, leaves

_FUNCTIONS: Mapping[type[Operation], Fn] = {
    arith.AddiOp: Fn.ADD,
    arith.SubiOp: Fn.SUB,
    arith.MuliOp: Fn.MUL,
    arith.DivSIOp: Fn.DIVS,
    arith.FloorDivSIOp: Fn.FLOORDIVS,
    arith.CeilDivSIOp: Fn.CEILDIVS,
    arith.DivUIOp: Fn.DIVU,
    arith.CeilDivUIOp: Fn.CEILDIVU,
    arith.RemSIOp: Fn.REMS,
    arith.RemUIOp: Fn.REMU,
    arith.AndIOp: Fn.AND,
    arith.OrIOp: Fn.OR,
    arith.XOrIOp: Fn.XOR,
    arith.ShLIOp: Fn.SHL,
    arith.ShRSIOp: Fn.SHRS,
    arith.ShRUIOp: Fn.SHRU,
    arith.MinSIOp: Fn.MINS,
    arith.MaxSIOp: Fn.MAXS,
    arith.MinUIOp: Fn.MINU,
    arith.MaxUIOp: Fn.MAXU,
}

_PREDICATES = (Fn.EQ, Fn.NE, Fn.SLT, Fn.SLE, Fn.SGT, Fn.SGE, Fn.ULT, Fn.ULE, Fn.UGT, Fn.UGE)
"""By the number that `arith.cmpi` carries."""

_UNSIGNED = frozenset(
    {Fn.DIVU, Fn.CEILDIVU, Fn.REMU, Fn.MINU, Fn.MAXU, Fn.ULT, Fn.ULE, Fn.UGT, Fn.UGE, Fn.SHRU},
)

_COMBINING = frozenset(
    {*_FUNCTIONS, arith.CmpiOp, arith.SelectOp, arith.IndexCastOp, arith.ExtSIOp, arith.ExtUIOp, arith.TruncIOp},
)
"""Ops whose results' terms are made of those of all their operands."""

FIXED_OPS = frozenset(
    {"pto.get_block_idx", "pto.get_block_num", "pto.get_subblock_idx", "pto.get_subblock_num"},
)
"""Ops whose result is one small natural number for the whole run, wherever they stand."""

_LARGEST_TERM = 400
"""Leaves and operators of a term; what is larger counts as unknown, so that no analysis drowns in one value."""


@dataclass(frozen=True)
class LoopTerms:
    """The terms of a loop: its counter (for a `while`, the number of finished trips) and what it carries."""

    var: Var
    lower: Term
    upper: Term
    step: Term
    carried: tuple[Carried, ...]


class IndexTerms:
    """The terms of the values of one function. `keys` numbers its ops in program order.

    `arguments` bounds the index arguments; by default they are taken to count something.
    """

    def __init__(self, keys: Mapping[Operation, int], arguments: Interval | None = None):
        self._keys = keys
        self._arguments = arguments or Interval(0, COUNT_LIMIT)
        self._terms: dict[SSAValue, Term] = {}
        self._sizes: dict[SSAValue, int] = {}
        self._loops: dict[Operation, LoopTerms] = {}
        self._unknowns: dict[SSAValue, Opaque] = {}
        """By the first of the values that are the same."""
        self._fixed: dict[str, Var] = {}
        self._owners: dict[int, Operation] = {}
        """By the key of a variable or unknown: the innermost loop in whose trips it is another number."""
        self._numbers = 0
        self._made_since: list[SSAValue] = []

    def of(self, value: SSAValue) -> Term:
        """The term of an integer value; an `Opaque` where its origin says nothing."""
        known = self._terms.get(value)
        if known is not None:
            return known
        stack = [value]
        while stack:
            current = stack[-1]
            if current in self._terms:
                stack.pop()
                continue
            missing = [needed for needed in _operands(current) if needed not in self._terms]
            if missing:
                stack.extend(missing)
                continue
            self._make(current)
        return self._terms[value]

    def loop(self, op: scf.ForOp | scf.WhileOp) -> LoopTerms:
        """The counter, bounds and carried values of a loop."""
        if op not in self._loops:
            self._loops[op] = self._for(op) if isinstance(op, scf.ForOp) else self._while(op)
        return self._loops[op]

    def forget(self, block: Block) -> None:
        """Drop what is known of the values in a block whose arguments are about to become other values."""
        for argument in block.args:
            self._terms.pop(argument, None)
        for op in block.ops:
            self._loops.pop(op, None)
            for result in op.results:
                self._terms.pop(result, None)
                self._unknowns.pop(result, None)
            for region in op.regions:
                for inner in region.blocks:
                    self.forget(inner)

    @cached_property
    def _same(self) -> SameValues:
        function = next(iter(self._keys))
        while (parent := function.parent_op()) is not None and not isinstance(function, FuncOp):
            function = parent
        return same_values(function) if isinstance(function, FuncOp) else SameValues()

    # --- values ---

    def _make(self, value: SSAValue) -> None:
        size = 1 + sum(self._sizes.get(operand, 1) for operand in _operands(value))
        term = self._made(value)
        if size > _LARGEST_TERM and not isinstance(term, Const | Var | Opaque):
            term = self._unknown(value)
        self._name(value, term, size)

    def _name(self, value: SSAValue, term: Term, size: int = 1) -> None:
        self._terms[value] = term
        self._sizes[value] = 1 if isinstance(term, Const | Var | Opaque) else size
        self._made_since.append(value)

    def _made(self, value: SSAValue) -> Term:
        if isinstance(value, BlockArgument):
            return self._block_argument(value)
        if not isinstance(value, OpResult):
            return self._unknown(value)
        op = value.op
        constant = constant_of(value)
        if constant is not None:
            return Const(constant & 1 if _width(value.type) == 1 else constant)
        if op.name in FIXED_OPS:
            return self._fixed.setdefault(op.name, Var(self._number(), op.name.removeprefix("pto.")))
        match op:
            case arith.SelectOp() if _width(value.type) is not None:
                return select(*(self._terms[operand] for operand in op.operands))
            case arith.IndexCastOp() | arith.ExtSIOp() | arith.ExtUIOp() | arith.TruncIOp():
                return self._cast(op, value)
            case scf.IfOp() if len(_operands(value)) == 3:
                return select(*(self._terms[operand] for operand in _operands(value)))
            case scf.WhileOp() if _operands(value):
                return self._terms[_operands(value)[0]]
            case scf.ForOp():
                self.loop(op)
                return self._terms.get(value) or self._unknown(value)
            case arith.CmpiOp():
                return self._applied(_PREDICATES[op.predicate.value.data], op, value)
            case _ if type(op) in _FUNCTIONS and _width(value.type) is not None:
                return self._applied(_FUNCTIONS[type(op)], op, value)
            case _:
                return self._unknown(value)

    def _block_argument(self, value: BlockArgument) -> Term:
        owner = value.block.parent_op()
        if isinstance(owner, scf.WhileOp) and value.block is owner.after_region.block and _operands(value):
            return self._terms[_operands(value)[0]]
        if isinstance(owner, scf.ForOp | scf.WhileOp):
            self.loop(owner)
            return self._terms.get(value) or self._unknown(value)
        held = self._arguments if isinstance(value.type, IndexType) else _range(value.type)
        return Var(self._number(), value.name_hint or f"arg{value.index}", held.low, held.high)

    def _applied(self, fn: Fn, op: Operation, value: OpResult) -> Term:
        """`fn` on 64 bits, if on the width of its operands it does the same."""
        left, right = (self._terms[operand] for operand in op.operands)
        width = _width(op.operands[0].type)
        if width == 1:  # truth values are kept as 0 and 1, which the signed reading of one bit is not
            plain = fn in (Fn.AND, Fn.OR, Fn.XOR, Fn.EQ, Fn.NE)
            return apply(fn, left, right) if plain else self._unknown(value)
        found = apply(fn, left, right)
        if width == BITS:
            return found
        natural = bounds(left).low >= 0 and bounds(right).low >= 0
        fits = fn in COMPARISONS or bounds(found).within(_range(op.operands[0].type))
        return found if fits and (natural or fn not in _UNSIGNED) else self._unknown(value)

    def _cast(self, op: Operation, value: OpResult) -> Term:
        source = op.operands[0]
        term = self._terms[source]
        before, after = _width(source.type), _width(value.type)
        if before is None or after is None:
            return self._unknown(value)
        if before == 1:
            return term if isinstance(op, arith.ExtUIOp) or after == 1 else apply(Fn.SUB, ZERO, term)
        if isinstance(op, arith.ExtUIOp) and bounds(term).low < 0:
            return self._unknown(value)
        return term if after >= before or bounds(term).within(_range(value.type)) else self._unknown(value)

    def _unknown(self, value: SSAValue) -> Opaque:
        first = self._same.of(value)
        if first not in self._unknowns:
            self._unknowns[first] = self._made_up(first)
        return self._unknowns[first]

    def _made_up(self, value: SSAValue) -> Opaque:
        around = None if value in self._same.fixed else _around(value)
        held = _range(value.type)
        loop = None if around is None else self._keys[around]
        name = value.name_hint or ("an unknown condition" if held == BOOL else "an unknown number")
        return Opaque(self._number(around), name, loop, held.low, held.high)

    def _number(self, owner: Operation | None = None) -> int:
        self._numbers += 1
        if owner is not None:
            self._owners[self._numbers] = owner
        return self._numbers

    def _is_fixed(self, term: Term, loop: Operation) -> bool:
        """Whether the term is one number in all trips of the loop."""
        owners = (self._owners.get(leaf.key) for leaf in leaves(term))
        return not any(owner is not None and loop.is_ancestor(owner) for owner in owners)

    # --- loops ---

    def _for(self, op: scf.ForOp) -> LoopTerms:
        lower, upper, step = self.of(op.lb), self.of(op.ub), self.of(op.step)
        counter, *arguments = op.body.block.args
        least, most = bounds(lower).low, bounds(upper).high - 1
        var = Var(self._number(op), counter.name_hint or "i", least, max(least, most))
        self._name(counter, var)
        trip = apply(Fn.DIVS, apply(Fn.SUB, var, lower), step)
        trips = apply(Fn.CEILDIVS, apply(Fn.SUB, upper, lower), step)
        if bounds(trips).low < 0:
            trips = apply(Fn.MAXS, trips, ZERO)
        carried = self._carry(op, arguments, op.iter_args, op.body.block.last_op, (trip, trips))
        return LoopTerms(var, lower, upper, step, carried)

    def _while(self, op: scf.WhileOp) -> LoopTerms:
        var = Var(self._number(op), _counter_name(op), 0, TRIP_LIMIT)
        before, after = op.before_region.block, op.after_region.block
        return LoopTerms(var, ZERO, ZERO, ONE, self._carry(op, before.args, op.arguments, after.last_op, (var, var)))

    def _carry(
        self,
        op: scf.ForOp | scf.WhileOp,
        arguments: Sequence[SSAValue],
        inits: Sequence[SSAValue],
        yielding: Operation | None,
        trip_and_trips: tuple[Term, Term],
    ) -> tuple[Carried, ...]:
        """Names the carried integers, by a closed form where there is one; yields those that have none.

        What follows from a carried value is worked out twice: with a variable for it, to find the form, and with it.
        """
        nexts = () if yielding is None else yielding.operands
        rows = [
            (index, argument, self.of(init), next)
            for index, (argument, init, next) in enumerate(zip(arguments, inits, nexts, strict=False))
            if _width(argument.type) is not None
        ]
        if not rows:
            return ()
        variables: list[Var] = []
        for _, argument, _, _ in rows:
            held = _range(argument.type)
            variables.append(Var(self._number(op), argument.name_hint or "carried", held.low, held.high))
        outer, self._made_since = self._made_since, []
        loops = dict(self._loops)
        for (_, argument, _, _), variable in zip(rows, variables, strict=True):
            self._name(argument, variable)
        started, stepped = [row[2] for row in rows], [self.of(row[3]) for row in rows]
        is_fixed = partial(self._is_fixed, loop=op)
        forms = closed_forms(variables, started, stepped, trip_and_trips[0], is_fixed)
        if any(form is not None for form in forms):
            for value in self._made_since:
                if op.is_ancestor(value.owner):  # what stands outside keeps its term, which others may hold already
                    self._terms.pop(value, None)
            self._loops = loops
        self._made_since = [*outer, *self._made_since]
        last = closed_forms(variables, started, stepped, trip_and_trips[1], is_fixed)
        for (index, argument, _, _), variable, form, final in zip(rows, variables, forms, last, strict=True):
            self._name(argument, variable if form is None else form)
            if isinstance(op, scf.ForOp):
                self._name(op.res[index], variable if final is None or form is None else final)
        return tuple(
            Carried(variable, init, self.of(next))
            for (_, _, init, next), variable, form in zip(rows, variables, forms, strict=True)
            if form is None
        )


def _around(value: SSAValue) -> Operation | None:
    """The innermost loop around the place where the value is made."""
    around = value.owner.parent_op()
    while around is not None and not isinstance(around, scf.ForOp | scf.WhileOp):
        around = around.parent_op()
    return around


def _counter_name(op: scf.WhileOp) -> str:
    """What people call the number of finished trips: what counts from 0 in steps of 1, if the loop carries such."""
    last = op.after_region.block.last_op
    following = () if last is None else last.operands
    rows = zip(op.before_region.block.args, op.arguments, op.after_region.block.args, following, strict=False)
    for argument, init, inside, next in rows:
        if constant_of(init) == 0 and _is_one_more(next, inside) and argument.name_hint is not None:
            return argument.name_hint
    return "trip"


def _is_one_more(value: SSAValue, than: SSAValue) -> bool:
    op = value.owner
    return isinstance(op, arith.AddiOp) and op.lhs is than and constant_of(op.rhs) == 1


def _operands(value: SSAValue) -> tuple[SSAValue, ...]:
    """The values that a value's term is made of, as far as they are worked out before it."""
    if isinstance(value, BlockArgument):
        owner = value.block.parent_op()
        if isinstance(owner, scf.WhileOp) and value.block is owner.after_region.block:
            return _passed(owner, value.index)
        return ()
    if not isinstance(value, OpResult):
        return ()
    op = value.op
    kind = type(op)  # all these classes are final, and a number is most often a constant
    if kind in _COMBINING:
        return tuple(op.operands)
    if kind not in (scf.IfOp, scf.WhileOp):
        return ()
    if isinstance(op, scf.IfOp):
        yielded = [region.block.last_op for region in (op.true_region, op.false_region) if region.blocks]
        if _width(value.type) is None or len(yielded) != 2:
            return ()
        return (op.cond, *(last.operands[value.index] for last in yielded if last is not None))
    return _passed(op, value.index) if isinstance(op, scf.WhileOp) else ()


def _passed(op: scf.WhileOp, index: int) -> tuple[SSAValue, ...]:
    """What the condition of a `while` hands to its body, and in the end behind it, in this place."""
    condition = op.before_region.block.last_op
    if condition is None or _width(op.res[index].type) is None:
        return ()
    return (condition.operands[1 + index],)


def _width(type: Attribute) -> int | None:
    """Bits of an integer type; None for any other."""
    if isinstance(type, IndexType):
        return BITS
    return type.bitwidth if isinstance(type, IntegerType) and type.bitwidth <= BITS else None


def _range(type: Attribute) -> Interval:
    """The numbers that a term of this type may be."""
    width = _width(type) or BITS
    return BOOL if width == 1 else Interval(-(1 << (width - 1)), (1 << (width - 1)) - 1)
