"""What the exploration of a program asks before it starts: the form of every counter, which atoms each part of the
program looks at, where each is looked at for the last time, and which residues and thresholds matter."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from pto_buf.slots.bounds import Interval, bounds
from pto_buf.slots.deciding import Decider, demands
from pto_buf.slots.facts import Reasoner
from pto_buf.slots.fold import INDEX_MAX
from pto_buf.slots.forms import Atoms, IsZero, Leaf, Linear, NotPositive
from pto_buf.slots.program import Block, Branch, Loop, Node, Op, Release, While
from pto_buf.slots.terms import Const, Opaque, Term

_SMALL = 32
"""Thresholds up to this are met exactly; a loop of more trips is followed until its states repeat."""


@dataclass(frozen=True)
class LoopForms:
    """A loop in forms. `trip` is the atom of the number of finished trips.

    `rest` is the counter minus the upper bound: a trip starts while it is negative. It is None for a `while`, and for
    a `for` whose step is not a known number; the counter is then an unknown of each trip.
    """

    trip: int
    rest: Linear | None
    carried: tuple[tuple[int, Linear, Linear], ...]
    """The atom, the first value and the next value of what the loop carries."""
    relevant: frozenset[int]
    """Atoms that the loop looks at."""
    scoped: tuple[int, ...]
    """Atoms that are worked out anew in each trip."""


@dataclass
class Scopes:
    """Everything that `explore` looks up for one program or one slice of it."""

    atoms: Atoms
    decider: Decider
    loops: dict[int, LoopForms] = field(default_factory=dict[int, LoopForms])
    dying: dict[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])
    """By the key of a node: atoms that nothing looks at behind it."""

    def form(self, term: Term) -> Linear:
        return self.atoms.form(term)


def bind_counters(atoms: Atoms, block: Block) -> None:
    """Say what the counters of all loops are, the outer ones first."""
    for node in block:
        match node:
            case Loop(body=body):
                _bind(atoms, node)
                bind_counters(atoms, body)
            case Branch(then=then, otherwise=otherwise):
                bind_counters(atoms, then)
                bind_counters(atoms, otherwise)
            case While(var=var, before=before, after=after):
                atoms.leaf(var, Interval(0, INDEX_MAX))
                bind_counters(atoms, before)
                bind_counters(atoms, after)
            case Op() | Release():
                pass


def _bind(atoms: Atoms, loop: Loop) -> None:
    lower, upper, step = bounds(loop.lower), bounds(loop.upper), loop.step
    if not _counts(loop) or not isinstance(step, Const):
        atoms.leaf(loop.var, Interval(loop.var.low, loop.var.high))
        return
    most = max(0, -((lower.low - upper.high) // step.value))
    trip = atoms.leaf(_trip_name(loop), Interval(0, most), Interval(0, max(0, most - 1)))
    atoms.bind(loop.var, atoms.form(loop.lower) + Linear(((trip, step.value),), 0))


def _counts(loop: Loop) -> bool:
    """Whether the loop's step is a known number, so that the counter is linear in the number of trips."""
    return isinstance(loop.step, Const) and loop.step.value > 0


def _trip_name(loop: Loop) -> str:
    return f"trip of loop {loop.key}"


def scopes_of(atoms: Atoms, block: Block) -> Scopes:
    """The look-up tables of a program whose counters are bound."""
    survey = _Survey(atoms)
    survey.look(block)
    survey.find_last_looks(block, set())
    moduli = demands(atoms, survey.asked)
    reasoner = Reasoner(atoms, survey.horizon(), moduli)
    return Scopes(atoms, Decider(reasoner), survey.loops, survey.dying)


@dataclass
class _Survey:
    atoms: Atoms
    loops: dict[int, LoopForms] = field(default_factory=dict[int, LoopForms])
    dying: dict[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])
    looked_at: dict[int, frozenset[int]] = field(default_factory=dict[int, frozenset[int]])
    """By the key of a node: the atoms that it and everything in it looks at."""
    asked: dict[Linear, None] = field(default_factory=dict[Linear, None])
    tests: list[Linear] = field(default_factory=list[Linear])
    most_slots: int = 1

    def horizon(self) -> int:
        """Beyond every small number that is compared with, and beyond the trips in which slots fill up."""
        met = [2, *(abs(form.const) for form in self.tests)]
        for atom in dict.fromkeys(atom for form in [*self.asked, *self.tests] for atom in self.atoms.below(form)):
            kind = self.atoms.kinds[atom]
            if isinstance(kind, NotPositive | IsZero):
                met.append(abs(kind.form.const))
        return max(number for number in met if number <= _SMALL) + self.most_slots + 1

    # --- what is looked at ---

    def look(self, block: Block) -> frozenset[int]:
        """All atoms that the block looks at; fills `loops`, `asked` and `tests`."""
        found: set[int] = set()
        for node in block:
            inside = self._look(node)
            self.looked_at[node.key] = inside
            found |= inside
        return frozenset(found)

    def _look(self, node: Node) -> frozenset[int]:
        match node:
            case Op(accesses=accesses):
                self.most_slots = max([self.most_slots, *(access.slots.count for access in accesses)])
                return self._ask(access.term for access in accesses)
            case Release(term=term):
                return self._ask([term])
            case Branch(condition=condition, then=then, otherwise=otherwise):
                return self._ask([condition]) | self.look(then) | self.look(otherwise)
            case Loop() | While():
                return self._look_into(node)

    def _ask(self, terms: Iterable[Term]) -> frozenset[int]:
        forms = [self.atoms.form(term) for term in terms]
        self.asked.update(dict.fromkeys(forms))
        return self._below(forms)

    def _below(self, forms: Iterable[Linear]) -> frozenset[int]:
        return frozenset(atom for form in forms for atom in self.atoms.below(form))

    def _look_into(self, loop: Loop | While) -> frozenset[int]:
        trip, rest = self._counted(loop)
        inside = self._below([] if rest is None else [rest]) | {trip}
        carried: list[tuple[int, Linear, Linear]] = []
        for entry in loop.carried:
            atom = self.atoms.leaf(entry.var, Interval(entry.var.low, entry.var.high))
            carried.append((atom, self.atoms.form(entry.init), self.atoms.form(entry.next)))
            inside |= self._ask([entry.init, entry.next]) | {atom}
        if rest is not None:
            self.tests.append(rest)
        before = set(self.loops)
        for block in (loop.body,) if isinstance(loop, Loop) else (loop.before, loop.after):
            inside |= self.look(block)
        inner = {key: forms for key, forms in self.loops.items() if key not in before}
        scoped = self._scoped(inside, {loop.key, *inner}, inner.values())
        if rest is None and isinstance(loop, Loop):
            scoped = tuple(dict.fromkeys([trip, *scoped]))
        self.loops[loop.key] = LoopForms(trip, rest, tuple(carried), inside, scoped)
        return inside

    def _counted(self, loop: Loop | While) -> tuple[int, Linear | None]:
        if isinstance(loop, While):
            return self.atoms.leaf(loop.var, Interval(0, INDEX_MAX)), None
        counter = self.atoms.form(loop.var)
        if not _counts(loop):
            return counter.parts[0][0], None
        return self.atoms.leaf(_trip_name(loop), Interval(0, 0)), counter - self.atoms.form(loop.upper)

    def _scoped(self, inside: Iterable[int], loops: set[int], inner: Iterable[LoopForms]) -> tuple[int, ...]:
        fresh = {
            atom
            for atom in inside
            if isinstance(kind := self.atoms.kinds[atom], Leaf)
            and isinstance(kind.what, Opaque)
            and kind.what.loop in loops
        }
        fresh.update(atom for forms in inner for atom in (forms.trip, *(entry[0] for entry in forms.carried)))
        return tuple(atom for atom in sorted(inside) if not fresh.isdisjoint(self.atoms.leaves[atom]))

    # --- where it is looked at for the last time ---

    def find_last_looks(self, block: Block, live: set[int]) -> None:
        """Fills `dying`, given what is looked at behind the block; `live` grows by what the block looks at."""
        for node in reversed(block):
            inside = self.looked_at[node.key]
            self.dying[node.key] = tuple(sorted(inside - live))
            match node:
                case Branch(then=then, otherwise=otherwise):
                    for arm in (then, otherwise):
                        self.find_last_looks(arm, set(live))
                case Loop() | While():
                    # What one trip looks at the next looks at again.
                    again = live | inside
                    for inner in (node.body,) if isinstance(node, Loop) else (node.before, node.after):
                        self.find_last_looks(inner, set(again))
                case Op() | Release():
                    pass
            live |= inside
