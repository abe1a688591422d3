"""What the exploration of a program asks before it starts: the form of every index and condition, which atoms each
part of the program looks at and where for the last time, and which residues and thresholds matter."""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from pto_buf.slots.bounds import Interval
from pto_buf.slots.deciding import MOST_VALUES, Decider, demands
from pto_buf.slots.facts import Form, Reasoner, normal
from pto_buf.slots.forms import Atoms
from pto_buf.slots.linear import Choice, IsZero, Leaf, Linear, NotPositive, Rest
from pto_buf.slots.names import blocks_of
from pto_buf.slots.nesting import Nesting, is_counted, trip_leaf
from pto_buf.slots.program import Access, Block, Branch, Loop, Node, Op, Release, While
from pto_buf.slots.spans import Horizon
from pto_buf.slots.terms import TRIP_LIMIT, Term

_SMALL = 32
"""All numbers up to thresholds of this size are told apart; of larger ones those around the threshold. So a loop of
more trips is followed until its states repeat, and then around its end."""


@dataclass(frozen=True)
class LoopForms:
    """A loop in forms. `trip` is the atom of the number of finished trips."""

    trip: int
    rest: Linear | None
    """The counter minus the upper bound: a trip starts while it is negative. None for a `while`, and for a `for` whose
    step is not a known number; its counter is then an unknown of each trip."""
    carried: tuple[tuple[int, Linear, Linear], ...]
    """The atom, the first value and the next value of what the loop carries."""
    fixed: tuple[tuple[int, Linear], ...]
    """Stand-ins, worked out once at the entry, for indices and conditions that no trip changes."""
    relevant: frozenset[int]
    """Atoms that the loop looks at."""
    scoped: tuple[int, ...]
    """Atoms that are worked out anew in each trip."""


@dataclass
class Scopes:
    """Everything that exploration looks up for the slice of a program that concerns one slot set."""

    atoms: Atoms
    decider: Decider
    loops: Mapping[int, LoopForms]
    indices: Mapping[tuple[int, int], Linear]
    """By the key of an op and the number of its access; for a release the number is 0."""
    conditions: Mapping[int, Linear]
    """By the key of a branch or a `while`."""
    dying: Mapping[int, tuple[int, ...]]
    """By the key of a node: atoms that nothing looks at behind it."""


def scopes_of(atoms: Atoms, nesting: Nesting, block: Block, slots: int) -> Scopes:
    """The look-up tables of a slice, which concerns the slot set of this key. The counters are bound."""
    survey = _Survey(atoms, nesting, slots)
    survey.look(block, ())
    survey.find_last_looks(block, set())
    reasoner = Reasoner(atoms, survey.horizons(), Horizon(survey.slots_met), demands(atoms, survey.asked))
    return Scopes(atoms, Decider(reasoner), survey.loops, survey.indices, survey.conditions, survey.dying)


@dataclass
class _Thresholds:
    """The numbers that one form is compared with."""

    near: int = 0
    far: dict[int, int] = field(default_factory=dict[int, int])
    """By the large ones, how far around them numbers are told apart."""

    def see(self, number: int, margin: int) -> None:
        """The form is compared with this number, or with one between it and the next."""
        if abs(number) < _SMALL:
            self.near = max(self.near, margin + abs(number) + 1)
        else:
            self.near = max(self.near, margin)
            self.far[number] = max(self.far.get(number, 0), margin + 1)

    def horizon(self) -> Horizon:
        windows = ((number - around, number + around) for number, around in sorted(self.far.items()))
        return Horizon(self.near, tuple(windows))


@dataclass
class _Survey:
    atoms: Atoms
    nesting: Nesting
    slots: int
    loops: dict[int, LoopForms] = field(default_factory=dict[int, LoopForms])
    indices: dict[tuple[int, int], Linear] = field(default_factory=dict[tuple[int, int], Linear])
    conditions: dict[int, Linear] = field(default_factory=dict[int, Linear])
    dying: dict[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])
    looked_at: dict[int, frozenset[int]] = field(default_factory=dict[int, frozenset[int]])
    """By the key of a node: the atoms that it and everything in it looks at."""
    fixed: dict[int, dict[Linear, int]] = field(default_factory=dict[int, dict[Linear, int]])
    """By the key of a loop: the stand-ins for forms that it does not change."""
    asked: dict[Linear, None] = field(default_factory=dict[Linear, None])
    chosen: dict[Linear, None] = field(default_factory=dict[Linear, None])
    """The forms among `asked` that choose slots."""
    most_slots: int = 1

    # --- thresholds ---

    @property
    def slots_met(self) -> int:
        return self.most_slots + 1

    def horizons(self) -> Mapping[Form, Horizon]:
        """For each form that is compared with numbers, the largest of those that are small, and where the others lie.

        Where the counter of a loop chooses slots, the first trips are told apart until every slot has been met.
        """
        trips = {forms.trip for forms in self.loops.values()}
        choosing = {atom for form in self.chosen for atom in self.atoms.below(form)}
        found = {((trip, 1),): _Thresholds(self.slots_met if trip in choosing else 1) for trip in trips}
        for form in self.chosen:
            self._see(found, form, self.slots_met, ())
        for form in self._compared():
            self._see(found, form, 0, trips)
        for forms in self.loops.values():
            if forms.rest is not None:
                self._see(found, forms.rest, self.slots_met if forms.trip in choosing else 0, trips)
                if forms.trip in choosing:
                    choosing.update(self.atoms.below(forms.rest))
        for atom in sorted(choosing - trips):  # a comparison with a small number must not narrow what is told apart
            if ((atom, 1),) in found:
                found[((atom, 1),)].see(0, self.slots_met)
        return {form: thresholds.horizon() for form, thresholds in found.items()}

    def _compared(self) -> Iterator[Linear]:
        rests = [forms.rest for forms in self.loops.values() if forms.rest is not None]
        for atom in dict.fromkeys(atom for form in [*self.asked, *rests] for atom in self.atoms.below(form)):
            kind = self.atoms.kinds[atom]
            if isinstance(kind, NotPositive | IsZero):
                yield kind.form

    def _see(self, found: dict[Form, "_Thresholds"], form: Linear, margin: int, trips: Container[int]) -> None:
        """Notes the number that a form is compared with, and what is left of it before and behind its loops, and once
        it is known what is chosen and what a division leaves."""
        pending = [form]
        while pending:
            current = pending.pop()
            if not current.parts:
                continue
            parts, factor = normal(current)
            found.setdefault(parts, _Thresholds()).see(-current.const // factor, margin)
            for atom, coefficient in current.parts:
                rest = current.without(atom)
                match self.atoms.kinds[atom]:
                    case Choice(_, if_true, if_false):
                        pending += [rest.plus(way, coefficient) for way in (if_true, if_false)]
                    case Rest():
                        pending.append(rest.shifted(coefficient * self.atoms.ranges[atom].high))
                    case _ if atom in trips:
                        pending.append(rest)
                    case _:
                        pass

    # --- what is looked at ---

    def look(self, block: Block, around: tuple[int, ...]) -> frozenset[int]:
        """All atoms that the block, in these loops, looks at; fills everything but `dying`."""
        found: set[int] = set()
        for node in block:
            inside = self._look(node, around)
            self.looked_at[node.key] = inside
            found |= inside
        return frozenset(found)

    def _look(self, node: Node, around: tuple[int, ...]) -> frozenset[int]:
        match node:
            case Op(takes_up=Access(term=term)):
                return self._below([self._index(node.key, 0, term, around)])
            case Op(accesses=accesses):
                own = [number for number, access in enumerate(accesses) if access.slots.key == self.slots]
                self.most_slots = accesses[own[0]].slots.count
                return self._below([self._index(node.key, number, accesses[number].term, around) for number in own])
            case Release(term=term):
                return self._below([self._index(node.key, 0, term, around)])
            case Branch(condition=condition, then=then, otherwise=otherwise):
                form = self.conditions[node.key] = self._placed(self._ask(condition), around)
                return self._below([form]) | self.look(then, around) | self.look(otherwise, around)
            case Loop() | While():
                return self._look_into(node, (*around, node.key))

    def _ask(self, term: Term) -> Linear:
        form = self.atoms.form(term)
        self.asked[form] = None
        return form

    def _index(self, key: int, number: int, term: Term, around: tuple[int, ...]) -> Linear:
        form = self._ask(term)
        self.chosen[form] = None
        self.indices[key, number] = self._placed(form, around)
        return self.indices[key, number]

    def _below(self, forms: Iterable[Linear]) -> frozenset[int]:
        return frozenset(atom for form in forms for atom in self.atoms.below(form))

    def _placed(self, form: Linear, around: tuple[int, ...]) -> Linear:
        """The form, or what stands for it in the outermost loop that does not change it."""
        if not form.parts:
            return form
        held = self.atoms.range(form)
        depth = max(
            (self._depth(leaf, around) for atom, _ in form.parts for leaf in self.atoms.leaves[atom]), default=0
        )
        if depth == len(around) or held.high - held.low >= MOST_VALUES:
            return form
        loop = around[depth]
        known = self.fixed.setdefault(loop, {})
        if form not in known:
            known[form] = self.atoms.leaf(f"entry value {len(known)} of loop {loop}", held)
        return Linear(((known[form], 1),), 0)

    def _depth(self, leaf: int, around: tuple[int, ...]) -> int:
        """How many of these loops, the outermost first, change the leaf."""
        chain = self._chain(leaf)
        return next((depth for depth, loop in enumerate(around) if loop not in chain), len(around))

    def _chain(self, leaf: int) -> tuple[int, ...]:
        """The loops in whose trips the leaf is another number."""
        kind = self.atoms.kinds[leaf]
        assert isinstance(kind, Leaf)
        return self.nesting.loops_of(kind.what)

    def _look_into(self, loop: Loop | While, around: tuple[int, ...]) -> frozenset[int]:
        trip, rest = self._counted(loop)
        inside = self._below([] if rest is None else [rest]) | {trip}
        if isinstance(loop, While):
            self.conditions[loop.key] = self._placed(self._ask(loop.condition), around)
            inside |= self._below([self.conditions[loop.key]])
        carried: list[tuple[int, Linear, Linear]] = []
        entering: list[Linear] = []
        for entry in loop.carried:
            atom = self.atoms.leaf(entry.var, Interval(entry.var.low, entry.var.high))
            carried.append((atom, self._ask(entry.init), self._ask(entry.next)))
            entering.append(carried[-1][1])
            inside |= self._below([carried[-1][2]]) | {atom}
        for block in blocks_of(loop):
            inside |= self.look(block, around)
        fixed = tuple((atom, form) for form, atom in self.fixed.get(loop.key, {}).items())
        entering += [form for _, form in fixed]
        own = {trip, *(atom for atom, _, _ in carried)} if rest is not None or isinstance(loop, While) else set[int]()
        scoped = tuple(
            atom
            for atom in sorted(inside)
            if any(loop.key in self._chain(leaf) and leaf not in own for leaf in self.atoms.leaves[atom])
        )
        self.loops[loop.key] = LoopForms(trip, rest, tuple(carried), fixed, inside, scoped)
        return (inside - {atom for atom, _ in fixed}) | self._below(entering)

    def _counted(self, loop: Loop | While) -> tuple[int, Linear | None]:
        if isinstance(loop, While):
            return self.atoms.leaf(loop.var, Interval(0, TRIP_LIMIT)), None
        counter = self.atoms.form(loop.var)
        if not is_counted(loop):
            ((atom, _),) = counter.parts
            return atom, None
        return trip_leaf(self.atoms, loop), counter - self.atoms.form(loop.upper)

    # --- where it is looked at for the last time ---

    def find_last_looks(self, block: Block, live: set[int]) -> None:
        """Fills `dying`, given what is looked at behind the block; `live` grows by what the block looks at."""
        for node in reversed(block):
            inside = self.looked_at[node.key]
            self.dying[node.key] = tuple(sorted(inside - live))
            match node:
                case Branch():
                    again = live
                case Loop() | While():  # what one trip looks at the next looks at again
                    again = live | inside | self.loops[node.key].relevant
                case Op() | Release():
                    again = set[int]()
            for inner in blocks_of(node):
                self.find_last_looks(inner, set(again))
            live |= inside
