"""Every path through a program at once: structured control flow explored until states repeat.

A state is what is known of the numbers (facts) and what a client holds about slots. Loops with any trip count are
followed trip by trip; facts beyond the horizon are given up, so states repeat and every trip count is covered.
Branches that the facts do not decide go both ways, and the facts remember which way.

States with the same facts are joined as far as the client allows, and of what arrives at the head of a loop only what
is new there goes on: so each thing that a client can hold is followed once, not each combination of them.
"""

from collections import deque
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, Protocol, Self, TypeVar

from pto_buf.errors import Place
from pto_buf.slots.facts import Facts, Span
from pto_buf.slots.linear import Linear
from pto_buf.slots.program import Block, Branch, Loop, Node, Op, Release, While
from pto_buf.slots.scopes import LoopForms, Scopes

MOST_STEPS = 15_000
"""Steps of one state through one node that are made before the exploration gives up; a state counts as often as there
are alternatives in what is held. Each node is good for some more, so that a long program is no problem in itself."""

_STEPS_PER_NODE = 10


class TooManyStatesError(Exception):
    """The states did not repeat in time. `place` is the outermost loop that was being explored."""

    def __init__(self, place: Place | None):
        super().__init__("too many states")
        self.place = place


class Holding(Hashable, Protocol):
    """What a client holds: alternatives of which each stands for paths of its own."""

    @property
    def shared(self) -> Hashable:
        """What two must agree in to be joined."""
        ...

    @property
    def weight(self) -> int:
        """How many alternatives are followed side by side."""
        ...

    def joined(self, other: Self) -> Self:
        """The alternatives of either."""
        ...

    def beyond(self, known: Self) -> Self | None:
        """The alternatives that are not in `known`; None if there is none."""
        ...


H = TypeVar("H", bound=Holding)


class State(NamedTuple, Generic[H]):
    facts: Facts
    held: H

    @property
    def key(self) -> Hashable:
        """Equal for states that are joined."""
        return self.facts.key, self.held.shared


class Client(Protocol[H]):
    """What happens to the held part of a state."""

    def at(self, node: Op | Release, state: State[H]) -> Iterable[State[H]]:
        """The states behind an op or release."""
        ...

    def next_trip(self, loop: int, held: H) -> H:
        """Across the back edge of a loop."""
        ...

    def behind(self, node: Node, held: H) -> H:
        """Behind a node that is done: loops are left, values not named any more are gone."""
        ...


@dataclass
class Explorer(Generic[H]):
    scopes: Scopes
    client: Client[H]
    around: list[Loop | While] = field(default_factory=list[Loop | While])
    """The loops around what is being explored, outermost first."""
    _known: dict[Hashable, tuple[State[H], ...]] = field(default_factory=dict[Hashable, tuple[State[H], ...]])
    _steps: int = 0

    def __post_init__(self) -> None:
        self._most_steps = MOST_STEPS + _STEPS_PER_NODE * len(self.scopes.dying)

    def run(self, block: Block, states: Sequence[State[H]]) -> Sequence[State[H]]:
        """The states behind a block, joined, in a deterministic order."""
        for node in block:
            found: dict[Hashable, State[H]] = {}
            dying = self.scopes.dying[node.key]
            self._steps += sum(state.held.weight for state in states)
            if self._steps > self._most_steps:
                raise TooManyStatesError(self.around[0].place if self.around else node.place)
            for state in states:
                for after in self._through(node, state):
                    _join(found, State(after.facts.without(dying), self.client.behind(node, after.held)))
            states = tuple(found.values())
        return states

    def _through(self, node: Node, state: State[H]) -> Iterable[State[H]]:
        match node:
            case Op() | Release():
                return self.client.at(node, state)
            case Branch(key=key, then=then, otherwise=otherwise):
                answers = self.scopes.decider.truth(state.facts, self.scopes.conditions[key])
                ways = [(then if truth else otherwise, State(facts, state.held)) for truth, facts in answers]
                return [after for arm, entered in ways for after in self.run(arm, [entered])]
            case Loop() | While():
                return self._loop(node, state)

    # --- loops ---

    def _loop(self, loop: Loop | While, state: State[H]) -> Iterable[State[H]]:
        forms = self.scopes.loops[loop.key]
        for facts in self._assigned(state.facts, forms.fixed):
            for init in self._assigned(facts, [(atom, init) for atom, init, _ in forms.carried]):
                yield from self._entered(loop, forms, State(init, state.held))

    def _entered(self, loop: Loop | While, forms: LoopForms, state: State[H]) -> Iterable[State[H]]:
        """As `_explored`, but what the loop does not look at is set aside, and each entry is explored once."""
        facts = state.facts.without(self._made_of(state.facts, forms.trip))
        if forms.trip not in forms.scoped:
            facts = facts.with_span(((forms.trip, 1),), Span(0, 0))
        inside, outside = _divided(facts, forms.relevant)
        inside = self.scopes.decider.reasoner.normalised(inside)
        key = (loop.key, inside.key, state.held)
        if key not in self._known:
            self.around.append(loop)
            self._known[key] = tuple(self._explored(loop, forms, State(inside, state.held)))
            self.around.pop()
        for after in self._known[key]:
            yield State(
                Facts({**outside.spans, **after.facts.spans}, {**outside.residues, **after.facts.residues}), after.held
            )

    def _explored(self, loop: Loop | While, forms: LoopForms, entry: State[H]) -> Iterable[State[H]]:
        exits: dict[Hashable, State[H]] = {}
        heads: dict[Hashable, H] = {}
        waiting: dict[Hashable, State[H]] = {}
        pending: deque[Hashable] = deque()

        def reach(states: Iterable[State[H]]) -> None:
            for state in states:
                key = state.key
                known = heads.get(key)
                new = state.held if known is None else state.held.beyond(known)
                if new is not None:
                    heads[key] = new if known is None else known.joined(new)
                    if key not in waiting:
                        pending.append(key)
                    _join(waiting, State(state.facts, new))

        reach([entry])
        while pending:
            inner, left = self._trip(loop, forms, waiting.pop(pending.popleft()))
            reach(head for state in inner for head in self._stepped(loop, forms, state))
            for state in left:
                _join(exits, state)
        return exits.values()

    def _trip(
        self, loop: Loop | While, forms: LoopForms, head: State[H]
    ) -> tuple[Sequence[State[H]], Iterable[State[H]]]:
        """States at the end of one trip, and those that leave the loop instead."""
        if isinstance(loop, While):
            return self._trip_of_while(loop, forms, head)
        if forms.rest is None:
            return self.run(loop.body, [head]), [self._scope_left(forms, head)]
        inner: list[State[H]] = []
        left: list[State[H]] = []
        for enters, facts in self._test(head.facts, forms.rest):
            if enters:
                inner += self.run(loop.body, [State(facts, head.held)])
            else:
                gone = self.scopes.decider.reasoner.eliminated(facts, forms.trip)
                if gone is not None:
                    left.append(self._scope_left(forms, State(gone, head.held)))
        return inner, left

    def _trip_of_while(
        self, loop: While, forms: LoopForms, head: State[H]
    ) -> tuple[Sequence[State[H]], Iterable[State[H]]]:
        inner: list[State[H]] = []
        left: list[State[H]] = []
        for state in self.run(loop.before, [head]):
            for goes_on, facts in self.scopes.decider.truth(state.facts, self.scopes.conditions[loop.key]):
                if goes_on:
                    inner.append(State(facts, state.held))
                else:
                    left.append(self._scope_left(forms, State(facts, state.held)))
        return self.run(loop.after, inner), left

    def _test(self, facts: Facts, rest: Linear) -> Iterable[tuple[bool, Facts]]:
        """Whether another trip starts: the counter is below the bound."""
        return self.scopes.decider.not_positive(facts, rest.shifted(1))

    def _stepped(self, loop: Loop | While, forms: LoopForms, state: State[H]) -> Iterable[State[H]]:
        reasoner = self.scopes.decider.reasoner
        held = self.client.next_trip(loop.key, state.held)
        for facts in self._assigned(state.facts, [(atom, next) for atom, _, next in forms.carried]):
            fresh = facts.without(forms.scoped)
            yield State(reasoner.normalised(reasoner.stepped(fresh, forms.trip, 1)), held)

    def _scope_left(self, forms: LoopForms, state: State[H]) -> State[H]:
        fresh = state.facts.without([*forms.scoped, *(atom for atom, _ in forms.fixed)])
        return state._replace(facts=self.scopes.decider.reasoner.normalised(fresh))

    def _made_of(self, facts: Facts, leaf: int) -> list[int]:
        leaves = self.scopes.atoms.leaves
        atoms = {atom for form in facts.spans for atom, _ in form} | set(facts.residues)
        return [atom for atom in sorted(atoms) if leaf in leaves[atom]]

    # --- carried values ---

    def _assigned(self, facts: Facts, assignments: Sequence[tuple[int, Linear]]) -> Iterable[Facts]:
        """The facts after all assignments at once, each of a form over the old values."""
        ways: list[tuple[Facts, tuple[tuple[Span, int | None], ...]]] = [(facts, ())]
        for atom, form in assignments:
            ways = [
                (found, (*before, value)) for way, before in ways for value, found in self._new_value(way, atom, form)
            ]
        for way, values in ways:
            found = way
            for (atom, form), (span, residue) in zip(assignments, values, strict=True):
                if form.parts == ((atom, 1),):
                    found = self.scopes.decider.reasoner.stepped(found, atom, form.const)
                    continue
                found = found.without(self._made_of(found, atom)).with_span(((atom, 1),), span)
                modulus = self.scopes.decider.reasoner.moduli.get(atom, 1)
                if residue is not None and span.point is None:
                    found = found.with_residue(atom, modulus, residue)
            yield found

    def _new_value(self, facts: Facts, atom: int, form: Linear) -> Iterable[tuple[tuple[Span, int | None], Facts]]:
        decider = self.scopes.decider
        values = decider.values(facts, form)
        if values is not None:
            for value, found in values:
                yield (Span(value, value), None), found
            return
        modulus = decider.reasoner.moduli.get(atom, 1)
        residues = decider.residues(facts, form, modulus) if modulus > 1 else None
        for residue, found in residues if residues is not None else [(None, facts)]:
            yield (decider.reasoner.span(found, form), residue), found


def _join(states: dict[Hashable, State[H]], state: State[H]) -> None:
    """Adds a state to those that are there."""
    key = state.key
    known = states.get(key)
    states[key] = state if known is None else State(known.facts, known.held.joined(state.held))


def _divided(facts: Facts, relevant: frozenset[int]) -> tuple[Facts, Facts]:
    """The facts about relevant atoms alone, and the others."""
    spans = {form: span for form, span in facts.spans.items() if all(atom in relevant for atom, _ in form)}
    residues = {atom: residue for atom, residue in facts.residues.items() if atom in relevant}
    rest = {form: span for form, span in facts.spans.items() if form not in spans}
    return Facts(spans, residues), Facts(rest, {a: r for a, r in facts.residues.items() if a not in relevant})
