"""Trying a ring out: the program is run for small numbers, in issue order, with nothing but its tokens.

Where every lane's tokens alternate and each access meets the token of its phase, the ring orders all accesses, however
the pipes run: its phases follow one another through sets and waits. So a shape that fails here is not used; that one
which passes is right for all numbers is proven on the output, by the checker.
"""

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pto_buf.fences.phases import Closing
from pto_buf.fences.rings import Do, Ring, RingEvent, Use, is_behind, pass_order
from pto_buf.fences.tree import Site, Tree
from pto_buf.hw import Pipe
from pto_buf.slots.flow import SiteKey
from pto_buf.slots.fold import fold
from pto_buf.slots.program import Branch, Loop, Op, While
from pto_buf.slots.terms import Apply, Const, Opaque, Select, Term

_STEPS = 100_000
"""Items that one rehearsal runs at most; a longer program is tried only so far."""


class _Wrong(Exception):
    """A token is missing, is put down twice or is left over, or an access meets no token of its phase."""


class _Undefined(Exception):
    """The numbers lead to a slot that does not exist or was never written: no run of an accepted program does."""


class _Tired(Exception):
    """The rehearsal has run long enough."""


def holds(
    tree: Tree, sites: Sequence[Site], phase: Mapping[SiteKey, int], ring: Ring, uses: Sequence[Use], lanes: int
) -> bool:
    """Whether the ring keeps its promise in every run that is tried. `uses` must hold its idle tokens too.

    Slot k uses lane k modulo `lanes`.
    """
    before, behind = _by_item(uses)
    mine: dict[int, list[Site]] = {}
    for site in sites:
        mine.setdefault(site.op.key, []).append(site)
    for numbers in _numbers(max(site.access.slots.count for site in sites)):
        stage = _Stage(tree, mine, phase, ring, before, behind, lanes, numbers)
        try:
            stage.play(0)
            stage.end()
        except _Wrong:
            return False
        except (_Undefined, _Tired):
            pass
    return True


def _numbers(lanes: int) -> Iterator[Iterator[int]]:
    """What unknown values are, in each run: all alike and small, then mixed."""
    for value in dict.fromkeys((0, 1, 2, 3, lanes, lanes + 1, 2 * lanes + 1)):
        yield _always(value)
    for seed in range(8):
        yield _drawn(random.Random(seed), 2 * lanes + 2)


def _always(value: int) -> Iterator[int]:
    while True:
        yield value


def _drawn(source: random.Random, below: int) -> Iterator[int]:
    while True:
        yield source.randrange(below)


_Before = Mapping[tuple[int, int], Sequence[Use]]
_Behind = Mapping[tuple[int, int], Mapping[Closing | None, Sequence[Use]]]


def _by_item(uses: Sequence[Use]) -> tuple[_Before, _Behind]:
    """What stands before each item (primes, passes, waits) and behind it (sets, passes, then each closing)."""
    before: dict[tuple[int, int], list[Use]] = {}
    behind: dict[tuple[int, int], dict[Closing | None, list[Use]]] = {}
    for use in uses:
        at = (use.block, use.item)
        if use.do is Do.DRAIN:
            continue
        if is_behind(use):
            behind.setdefault(at, {}).setdefault(use.closing, []).append(use)
        else:
            before.setdefault(at, []).append(use)
    for group in before.values():
        group.sort(key=lambda use: (use.do is not Do.PRIME, use.way is None, pass_order(use)))
    for closings in behind.values():
        for group in closings.values():
            group.sort(key=lambda use: (use.way is not None, pass_order(use)))
    return before, {
        at: {c: closings[c] for c in sorted(closings, key=lambda c: c is not None)} for at, closings in behind.items()
    }


@dataclass
class _Stage:
    tree: Tree
    sites: Mapping[int, Sequence[Site]]
    phase: Mapping[SiteKey, int]
    ring: Ring
    before: _Before
    behind: _Behind
    lanes: int
    numbers: Iterator[int]
    values: dict[int, int] = field(default_factory=dict[int, int])
    unknown: dict[int, int] = field(default_factory=dict[int, int])
    tokens: set[tuple[RingEvent, int]] = field(default_factory=set[tuple[RingEvent, int]])
    primed: set[tuple[RingEvent, int]] = field(default_factory=set[tuple[RingEvent, int]])
    held: Counter[tuple[int, Pipe, int]] = field(default_factory=Counter[tuple[int, Pipe, int]])
    written: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])
    steps: int = 0

    def __post_init__(self) -> None:
        self.incoming: Counter[tuple[int, Pipe]] = Counter()
        for event in self.ring.events:
            self.incoming[(event.phase + 1) % len(self.ring.signature), event.dst] += 1

    def play(self, block: int) -> None:
        for item, node in enumerate(self.tree.blocks[block].nodes):
            self.steps += 1
            if self.steps > _STEPS:
                raise _Tired
            for use in self.before.get((block, item), ()):
                self.use(use)
            match node:
                case Op():
                    for site in self.sites.get(node.key, ()):
                        self.access(site)
                case Loop():
                    self.loop(node)
                case Branch():
                    self.play(self.tree.inner[node.key][0 if self.value(node.condition) else 1])
                case While():
                    for trip in range(next(self.numbers) % 4 + 1):
                        self.values[node.var.key] = trip
                        self.unknown.clear()
                        for part in self.tree.inner[node.key]:
                            self.play(part)
                case _:
                    pass
            for closing, group in self.behind.get((block, item), {}).items():
                if closing is None:
                    for use in group:
                        self.use(use)
                elif isinstance(node, Loop):
                    self.close(node, closing, group)

    def loop(self, node: Loop) -> None:
        lower, upper, step = (self.value(term) for term in (node.lower, node.upper, node.step))
        for carried in node.carried:
            self.values[carried.var.key] = self.value(carried.init)
        for value in range(lower, upper, max(step, 1)):
            self.values[node.var.key] = value
            self.unknown.clear()
            self.play(self.tree.inner[node.key][0])
            following = [self.value(carried.next) for carried in node.carried]
            for carried, number in zip(node.carried, following, strict=True):
                self.values[carried.var.key] = number

    def close(self, node: Loop, closing: Closing, uses: Sequence[Use]) -> None:
        lower, upper, step = (self.value(term) for term in (node.lower, node.upper, node.step))
        left = lower + len(range(lower, upper, max(step, 1))) * step
        end = (lower if closing.to_lag else left) + closing.lag * step
        for value in range(left, end, max(step, 1)):
            self.values[node.var.key] = value
            for use in uses:
                self.use(use)

    def use(self, use: Use) -> None:
        lane = use.lane if isinstance(use.lane, int) else self.value(use.lane.access.term) % self.lanes
        token = (use.event, lane)
        if use.do in (Do.SET, Do.PRIME):
            if token in self.tokens:
                raise _Wrong
            self.tokens.add(token)
            if use.do is Do.PRIME:
                self.primed.add(token)
            else:
                self.held[use.event.phase, use.event.src, lane] = 0
        else:
            if token not in self.tokens:
                raise _Wrong
            self.tokens.remove(token)
            self.held[(use.event.phase + 1) % len(self.ring.signature), use.event.dst, lane] += 1

    def access(self, site: Site) -> None:
        lane = self.value(site.access.term)
        slot = (site.access.slots.key, lane)
        if not 0 <= lane < site.access.slots.count or (slot not in self.written and not site.access.role.writes):
            raise _Undefined
        if site.access.role.writes:
            self.written.add(slot)
        for pipe in site.op.pipes:
            key = (self.phase[site.key], pipe)
            if self.held[(*key, lane % self.lanes)] != self.incoming[key]:
                raise _Wrong

    def end(self) -> None:
        """At the end each lane is free: just the tokens that were primed are there, for the drains."""
        if self.tokens != self.primed:
            raise _Wrong

    def value(self, term: Term) -> int:
        match term:
            case Const():
                return term.value
            case Apply():
                result = fold(term.fn, self.value(term.left), self.value(term.right))
                return 0 if result is None else result
            case Select():
                return self.value(term.if_true if self.value(term.condition) else term.if_false)
            case Opaque():
                if term.key not in self.unknown:
                    self.unknown[term.key] = next(self.numbers)
                return self.unknown[term.key]
            case _:
                if term.key not in self.values:
                    self.values[term.key] = next(self.numbers)
                return self.values[term.key]
