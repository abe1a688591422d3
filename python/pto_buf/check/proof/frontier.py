"""The states of an exploration, numbered as they are found: which of them wait, and which speak for others. Pure.

What is inside a loop comes before what is behind it, so that all that gets to one place in one way or another waits
there together; of it those are united that are exactly one, and go on as that. A state of which another one, at the
same place, says no more than it does, of numbers and of what is known complete, need not go on: whatever goes wrong in
it goes wrong in the other one too.

A state that comes of a question asked at its own place says less than the one that asked: it goes on by itself.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush

from pto_buf.check.facts.facts import Facts
from pto_buf.check.facts.unions import covers, unite
from pto_buf.check.program import Branch, Instruction, Jump
from pto_buf.check.proof.alarms import Trail
from pto_buf.check.proof.knowledge import Knowledge

ENDED = -1
"""Where a core is that has ended."""

_COMPARISONS = 200
"""That take about as long as one more state."""


@dataclass(frozen=True, slots=True)
class State:
    """`ats` is where each core is, or ENDED; `turn` is the core that goes on."""

    ats: tuple[int, ...]
    turn: int
    facts: Facts
    knowledge: Knowledge
    trail: Trail

    @property
    def at(self) -> int:
        return self.ats[self.turn]

    @property
    def place(self) -> Hashable:
        """States are compared where they are at one place."""
        return self.ats, self.turn

    def moved(self, at: int, facts: Facts, knowledge: Knowledge, trail: Trail, turn: int | None = None) -> "State":
        """The core whose turn it is stands at `at` now; perhaps it is another's turn."""
        ats = (*self.ats[: self.turn], at, *self.ats[self.turn + 1 :])
        return State(ats, self.turn if turn is None else turn, facts, knowledge, trail)


@dataclass
class Frontier:
    """`unites`: whether states are united; if not, they go on in the order in which they were found."""

    code: Sequence[Instruction]
    unites: bool
    states: list[State] = field(default_factory=list[State])
    compared: int = 0
    """How often it was asked whether a state says no more than another."""
    _numbers: dict[Hashable, int] = field(default_factory=dict[Hashable, int])
    _same: dict[Hashable, dict[Hashable, dict[int, None]]] = field(
        default_factory=dict[Hashable, dict[Hashable, dict[int, None]]]
    )
    """By place and shape of knowledge, and by knowledge, the states that may speak for others."""
    _waiting: list[tuple[int, bool, int, Hashable]] = field(default_factory=list[tuple[int, bool, int, Hashable]])
    _together: dict[Hashable, list[int]] = field(default_factory=dict[Hashable, list[int]])
    _instead: dict[int, int] = field(default_factory=dict[int, int])
    """For states that speak no more, by number, the one that does."""

    def __post_init__(self) -> None:
        self._ranks = list(range(len(self.code)))
        for at, one in enumerate(self.code):
            target = one.target if isinstance(one, Jump) else one.otherwise if isinstance(one, Branch) else at
            self._ranks[target] = max(self._ranks[target], at)

    def __len__(self) -> int:
        return len(self.states) - len(self._instead)

    @property
    def effort(self) -> int:
        """How many states there are, and as much more as comparing them takes: each state is compared with others of
        its place, so that many of one place take far more time than they are."""
        return len(self) + self.compared // _COMPARISONS

    def speaker(self, number: int) -> int:
        """The number of the state that speaks for the one with this number."""
        while number in self._instead:
            number = self._instead[number]
        return number

    def speaking(self) -> list[int]:
        """The numbers of those that speak for themselves."""
        return [number for number in range(len(self.states)) if number not in self._instead]

    def add(self, state: State, answered: bool) -> int:
        """The number of the state that speaks for this one, perhaps a new one. `answered`: it comes of a question."""
        knowledge = state.knowledge.key()
        key = self._key(state, knowledge, answered)
        number = self._numbers.get(key)
        if number is None and self.unites and not answered:
            number = self._covering(state)
        if number is not None:
            return self.speaker(number)
        number = self._numbers[key] = len(self.states)
        self.states.append(state)
        rank = self._rank(state) if self.unites else 0
        if not self.unites or answered:
            heappush(self._waiting, (rank, False, number, None))
            return number
        self._alike(state).setdefault(knowledge, {})[number] = None
        together = self._together.setdefault(state.place, [])
        if not together:
            heappush(self._waiting, (rank, True, number, state.place))
        together.append(number)
        return number

    def take(self) -> list[int]:
        """The numbers of the states that go on next; nothing if none waits."""
        while self._waiting:
            _, several, number, place = heappop(self._waiting)
            found = self._united(self._together.pop(place)) if several else [number]
            if found:
                return found
        return []

    def _rank(self, state: State) -> int:
        return sum(len(self._ranks) if at == ENDED else self._ranks[at] for at in state.ats)

    @staticmethod
    def _key(state: State, knowledge: Hashable, answered: bool) -> Hashable:
        return state.place, state.facts.key(), knowledge, answered

    def _alike(self, state: State) -> dict[Hashable, dict[int, None]]:
        """The states that may speak for others, at the same place and with knowledge of the same shape."""
        return self._same.setdefault((state.place, state.knowledge.shape()), {})

    def _covering(self, state: State, but: int = -1) -> int | None:
        """The number of a state that says no more, other than `but`."""
        for numbers in self._alike(state).values():
            first = next(iter(numbers), None)
            if first is None or not self.states[first].knowledge.says_no_more(state.knowledge):
                continue
            for number in numbers:
                self.compared += 1
                if number != but and covers(self.states[number].facts, state.facts):
                    return number
        return None

    def _united(self, numbers: Sequence[int]) -> list[int]:
        """Of states that wait at one place, the numbers of those that go on for them."""
        groups: dict[Hashable, list[int]] = {}
        for number in numbers:
            groups.setdefault(self.states[number].knowledge.key(), []).append(number)
        left: list[int] = []
        for knowledge, group in groups.items():
            for union in unite([self.states[number].facts for number in group]):
                left.append(self._replace([group[member] for member in union.members], union.facts, knowledge))
        return sorted(number for number in left if not self._spoken_for(number))

    def _replace(self, members: Sequence[int], facts: Facts, knowledge: Hashable) -> int:
        """The number of the first of them, which speaks for all, with the facts given."""
        first = self.states[members[0]]
        if len(members) > 1:
            same = self._alike(first)[knowledge]
            for number in members:
                self._numbers.pop(self._key(self.states[number], knowledge, False))
                same.pop(number)
            self._instead.update(dict.fromkeys(members[1:], members[0]))
            union = self.states[members[0]] = replace(first, facts=facts)
            self._numbers[self._key(union, knowledge, False)] = members[0]
            same[members[0]] = None
        return members[0]

    def _spoken_for(self, number: int) -> bool:
        """Whether another state says no more, and speaks for this one from now on."""
        state = self.states[number]
        covering = self._covering(state, number)
        if covering is None:
            return False
        self._instead[number] = covering
        self._alike(state)[state.knowledge.key()].pop(number)
        return True
