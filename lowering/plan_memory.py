"""`ptobuf-plan-memory`: gives every slot set the byte address of its first slot."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from pto_buf.dialect.tile_op import target_of
from pto_buf.errors import Diagnostic, DiagnosticError
from pto_buf.hw import Pipe
from pto_buf.kept import Keeps, kept
from pto_buf.memory.banks import SourcePair
from pto_buf.memory.lives import lives
from pto_buf.memory.plan import Plan, plan
from pto_buf.memory.tenant import Tenant
from pto_buf.slots.build import Built, build
from pto_buf.slots.program import Block, Branch, Loop, Op, Program, While
from pto_buf.walking import functions


@dataclass(frozen=True)
class PlanMemoryPass(ModulePass, Keeps):
    """Sets `addr` on every `alloc_slots`; one that is there already is pinned, and checked.

    `check_only` tells whether the sets fit, as they are declared, and leaves the program as it is.
    """

    name = "ptobuf-plan-memory"

    check_only: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        wrong: list[Diagnostic] = []
        for func in functions(op):
            try:
                built = kept(func, build)
                found = plan(tenants(built), target_of(func), source_pairs(built.program))
            except DiagnosticError as err:
                wrong += err.diagnostics
                continue
            if not self.check_only:
                for key, alloc in built.sets.items():
                    alloc.properties["addr"] = IntegerAttr(found.addresses[key], 64)
        if wrong:
            raise DiagnosticError(*wrong)


def tenants(built: Built) -> list[Tenant]:
    """What the plan has to place for a function, in program order."""
    alive = lives(built.program)
    pipes: dict[int, set[Pipe]] = {}
    for op in _ops(built.program.body):
        for access in op.accesses:
            pipes.setdefault(access.slots.key, set()).update(op.pipes)
    found: list[Tenant] = []
    for one in built.program.sets:
        alloc, life = built.sets[one.key], alive[one.key]
        share = tuple(name.data for name in alloc.share) if alloc.share is not None else ()
        addr = alloc.addr.value.data if alloc.addr is not None else None
        # A tile of the compiler's is nowhere in the source but in the op that makes it.
        place = one.place if not one.owned or life.first is None else life.first
        used_by = frozenset(pipe.value for pipe in pipes.get(one.key, ()))
        found.append(Tenant(one.key, one.name, one.count, one.tile, life, one.owned, addr, share, place, used_by))
    return found


def plan_of(func: FuncOp) -> tuple[list[Tenant], Plan]:
    """The sets of a function and where they lie; addresses that are there are kept. Raises DiagnosticError."""
    built = build(func)
    placed = tenants(built)
    return placed, plan(placed, target_of(func), source_pairs(built.program))


def source_pairs(program: Program) -> list[SourcePair]:
    """Every two different slots that one vector op reads."""
    return [
        SourcePair(left.slots.key, right.slots.key, op.place)
        for op in _ops(program.body)
        if op.pipes == (Pipe.V,)
        for left, right in combinations([access for access in op.accesses if access.role.reads], 2)
        if (left.slots, left.term) != (right.slots, right.term)
    ]


def _ops(body: Block) -> Iterator[Op]:
    for node in body:
        match node:
            case Op():
                yield node
            case Branch():
                yield from _ops(node.then)
                yield from _ops(node.otherwise)
            case Loop():
                yield from _ops(node.body)
            case While():
                yield from _ops(node.before)
                yield from _ops(node.after)
            case _:
                pass
