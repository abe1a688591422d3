"""Reading the memory map off a planned kernel."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.dialects.func import FuncOp
from xdsl.dialects.scf import ForOp, IfOp

from pto_buf.dialect.tile_op import target_of
from pto_buf.hw import Target
from pto_buf.lowering.plan_memory import plan_of, source_pairs, tenants
from pto_buf.memory.banks import SourcePair
from pto_buf.memory.plan import Plan, plan
from pto_buf.memory.tenant import Tenant
from pto_buf.report.allocation import size_text
from pto_buf.report.collect import residents
from pto_buf.report.expressions import branch_head, loop_head
from pto_buf.report.memory_map import MemoryMap, Step, Tenancy, Touch
from pto_buf.slots.build import Built, build
from pto_buf.slots.program import Access, Block, Branch, Loop, Op, Release, While
from pto_buf.slots.terms import Const


def memory_map_of(function: FuncOp) -> MemoryMap:
    """The map of a kernel whose sets all have addresses.

    Raises DiagnosticError if slots cannot be followed or addresses are wrong.
    """
    target = target_of(function)
    built = build(function)
    placed = tenants(built)
    found = plan(placed, target, source_pairs(built.program))
    walk = _Walk(built)
    walk.block(built.program.body, 0)
    here = residents(function, target)
    shares: dict[int, list[str]] = {}
    names = {tenant.key: tenant.name for tenant in placed}
    for earlier, later in found.shared:
        shares.setdefault(earlier, []).append(names[later])
        shares.setdefault(later, []).append(names[earlier])
    tenancies = tuple(
        Tenancy(
            resident,
            walk.step_at(tenant.life.start),
            walk.step_at(tenant.life.end),
            tuple(walk.touches.get(tenant.key, ())),
            tuple(shares.get(tenant.key, ())),
        )
        for tenant, resident in zip(placed, here, strict=True)
    )
    return MemoryMap(function.sym_name.data, target, tuple(walk.steps), tenancies, _notes(placed, found, target))


def plan_notes(function: FuncOp) -> tuple[str, ...]:
    """What the places of a kernel's sets cost, a sentence each; nothing where they cost nothing."""
    placed, found = plan_of(function)
    return _notes(placed, found, target_of(function))


def _notes(placed: list[Tenant], found: Plan, target: Target) -> tuple[str, ...]:
    names = {tenant.key: tenant.name for tenant in placed}
    notes = [
        f"{names[later]} takes over bytes of {names[earlier]}: the one waits for the other"
        for earlier, later in found.shared
    ]
    if found.padding:
        notes.append(f"{size_text(found.padding)} of UB are left free to keep the sources of vector ops apart")
    notes += [_slow(pair, names, target) for pair in found.slow]
    return tuple(dict.fromkeys(notes))


def _slow(pair: SourcePair, names: dict[int, str], target: Target) -> str:
    where = f" at line {pair.place.line}" if pair.place is not None and pair.place.line else ""
    return (
        f"the vector op{where} runs at half speed: on {target.name} its sources {names[pair.left]} and "
        f"{names[pair.right]} should lie 256 bytes apart, modulo 512"
    )


@dataclass
class _Walk:
    built: Built
    steps: list[Step] = field(default_factory=list[Step])
    keys: list[int] = field(default_factory=list[int])
    touches: dict[int, list[Touch]] = field(default_factory=dict[int, list[Touch]])

    def step_at(self, key: int) -> int:
        """The last step that is not behind the op with this key."""
        low, high = 0, len(self.keys)
        while low < high:
            middle = (low + high) // 2
            if self.keys[middle] <= key:
                low = middle + 1
            else:
                high = middle
        return max(0, low - 1)

    def block(self, nodes: Block, depth: int) -> None:
        for node in nodes:
            op = self.built.ops[node.key]
            place = "" if node.place is None else str(node.place)
            match node:
                case Op():
                    self._step(node.key, node.name.upper(), depth, place)
                    for access in node.accesses:
                        self._touch(access)
                case Release():
                    pass
                case Loop():
                    assert isinstance(op, ForOp)
                    self._step(node.key, loop_head(op), depth, place)
                    self.block(node.body, depth + 1)
                case While():
                    self._step(node.key, "while:", depth, place)
                    self.block(node.before, depth + 1)
                    self.block(node.after, depth + 1)
                case Branch():
                    assert isinstance(op, IfOp)
                    self._step(node.key, branch_head(op), depth, place)
                    self.block(node.then, depth + 1)
                    if node.otherwise:
                        self._step(self._behind(node.then, node.key), "else:", depth, place)
                        self.block(node.otherwise, depth + 1)

    def _step(self, key: int, words: str, depth: int, place: str) -> None:
        self.keys.append(key)
        self.steps.append(Step(words, depth, place))

    def _touch(self, access: Access) -> None:
        slots = access.slots
        slot = access.term.value if isinstance(access.term, Const) else 0 if slots.count == 1 else None
        touch = Touch(len(self.steps) - 1, slot, access.role.reads, access.role.writes)
        self.touches.setdefault(slots.key, []).append(touch)

    def _behind(self, nodes: Block, key: int) -> int:
        """The key of the last op of a block, which is not yet that of the op behind it."""
        return max([key, *_keys(nodes)])


def _keys(nodes: Block) -> Iterator[int]:
    for node in nodes:
        yield node.key
        match node:
            case Loop():
                yield from _keys(node.body)
            case While():
                yield from _keys(node.before)
                yield from _keys(node.after)
            case Branch():
                yield from _keys(node.then)
                yield from _keys(node.otherwise)
            case _:
                pass
