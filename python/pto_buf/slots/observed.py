"""Runs a slot program for given numbers and watches which lease each access belongs to: the referee of the flow."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from pto_buf.fences.tree import Site, build_tree
from pto_buf.slots.flow import Flow, Origin, SiteKey
from pto_buf.slots.fold import fold
from pto_buf.slots.program import Block, Branch, Loop, Op, Program, While
from pto_buf.slots.terms import Apply, Const, Select, Term

Trips = tuple[tuple[int, int], ...]
"""(loop key, trip number), outermost first."""


@dataclass(frozen=True)
class Event:
    """One executed access."""

    site: SiteKey
    pool: int
    lane: int
    opens: bool
    trips: Trips


class Run:
    """One run: unknown values are drawn from `seed`, the same key keeps its value where it is in scope."""

    def __init__(self, program: Program, seed: int, steps: int = 20000):
        self.program = program
        self.random = random.Random(seed)
        self.values: dict[int, int] = {}
        self.steps = steps

    def accesses(self) -> Iterator[tuple[Op, int, int, Trips]]:
        """Op, position of the access, lane and trips, in program order."""
        yield from self._block(self.program.body, ())

    def _block(self, nodes: Block, trips: Trips) -> Iterator[tuple[Op, int, int, Trips]]:
        for node in nodes:
            match node:
                case Op():
                    for index, access in enumerate(node.accesses):
                        yield node, index, self.value(access.term), trips
                case Loop():
                    lower, upper, step = (self.value(term) for term in (node.lower, node.upper, node.step))
                    for carried in node.carried:
                        self.values[carried.var.key] = self.value(carried.init)
                    for trip, value in enumerate(range(lower, upper, step)):
                        self.steps -= 1
                        if self.steps < 0:
                            return
                        self.values[node.var.key] = value
                        yield from self._block(node.body, (*trips, (node.key, trip)))
                        following = [self.value(carried.next) for carried in node.carried]
                        for carried, number in zip(node.carried, following, strict=True):
                            self.values[carried.var.key] = number
                case Branch():
                    arm = node.then if self.value(node.condition) else node.otherwise
                    yield from self._block(arm, trips)
                case While():
                    for trip in range(self.random.randrange(4) + 1):
                        self.values[node.var.key] = trip
                        yield from self._block(node.before, (*trips, (node.key, trip)))
                        yield from self._block(node.after, (*trips, (node.key, trip)))
                case _:
                    pass

    def value(self, term: Term) -> int:
        match term:
            case Const():
                return term.value
            case Apply():
                result = fold(term.fn, self.value(term.left), self.value(term.right))
                assert result is not None
                return result
            case Select():
                return self.value(term.if_true if self.value(term.condition) else term.if_false)
            case _:
                if term.key not in self.values:
                    self.values[term.key] = self.random.choice([0, 1, 2, 3, 4, 5, 7])
                return self.values[term.key]


def observed_flow(program: Program, runs: int = 40) -> Flow:
    """The flow as far as these runs show it: exact for programs without unknown numbers."""
    tree = build_tree(program)
    sites: dict[SiteKey, Site] = {site.key: site for site in tree.sites}
    origins: dict[SiteKey, dict[Origin, None]] = {}
    ends: dict[SiteKey, dict[Origin, None]] = {}
    for seed in range(runs):
        held: dict[tuple[int, int], tuple[SiteKey, Trips]] = {}
        read: set[tuple[int, int]] = set()
        for op, index, lane, trips in Run(program, seed).accesses():
            key = SiteKey(op.key, index)
            access = sites[key].access
            slot = (access.slots.key, lane)
            reads_too = any(
                other.role.reads and other.slots.key == access.slots.key and other.term == access.term
                for other in op.accesses
            )
            whole = access.start == 0 and access.end is None
            if access.role.writes and not access.role.reads and not reads_too and (whole or slot in read):
                if slot in held:
                    ends.setdefault(key, {})[_way(*held[slot], trips)] = None
                held[slot] = (key, trips)
                read.discard(slot)
            if slot not in held:
                held[slot] = (key, trips)
            if not access.role.writes or reads_too or access.role.reads:
                read.add(slot)
            origins.setdefault(key, {})[_way(*held[slot], trips)] = None
    return Flow(
        {key: tuple(origins[key]) for key in sorted(origins)}, {key: tuple(ends[key]) for key in sorted(ends)}, {}
    )


def _way(opener: SiteKey, then: Trips, now: Trips) -> Origin:
    for (loop, before), (other, after) in zip(then, now, strict=False):
        if loop != other:
            break
        if before != after:
            return Origin(opener, loop)
    return Origin(opener, None)
