"""What rings cost: how many operations of small runs they hold back for longer than anything needs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pto_buf.fences.rings.rehearsal import Fences, Player
from pto_buf.fences.rings.rings import Do, Placed, RingEvent, Use
from pto_buf.fences.tree import OfOp, Site, Span, Tree, by_op
from pto_buf.fences.trials.runs import always, most_slots, numbers
from pto_buf.hw import Pipe
from pto_buf.slots.program import Node, Op, SlotSet


@dataclass(frozen=True)
class Loss:
    """Of `ops` operations on a pool, `held` wait for others on which nothing of theirs depends."""

    held: int
    ops: int

    def __str__(self) -> str:
        if not self.ops:
            return "what that costs is not known, since no trial run comes by it"
        return f"{self.held} of {self.ops} operations on it, in trial runs, wait for one that they do not depend on"


@dataclass(frozen=True)
class Lost:
    """Overlap that was given up: which pool's, why, and what it costs."""

    slots: SlotSet
    pool: str
    reason: str
    cost: str

    def __str__(self) -> str:
        return f"{self.pool}: {self.reason}; {self.cost}"


_Clock = dict[Pipe, int]
"""For each pipe, how many of its operations on the pool are known to be over."""


def loss(tree: Tree, home: Span, sites: Sequence[Site], rings: Sequence[tuple[Placed, Sequence[Use]]]) -> Loss:
    """What the rings of one pool cost, over some small runs. Each comes with its uses, idle tokens too.

    What an operation waits for only because a fence stands behind the loop or branch that holds what it depends on does
    not count. `home`: the items around all accesses.
    """
    fences = Fences([(placed, use) for placed, uses in rings for use in uses])
    regions = frozenset(node.key for node in tree.blocks[home.block].nodes if not isinstance(node, Op))
    of_op, held, ops = by_op(sites), 0, 0
    for unknown in _numbers(tree, sites):
        watch = _Watch(tree, of_op, unknown, fences, regions)
        watch.go()
        held, ops = held + watch.held_back, ops + watch.ops
        if not watch.chose:
            break
    return Loss(held, ops)


def _numbers(tree: Tree, sites: Sequence[Site]) -> Iterator[Iterator[int]]:
    yield always(tree.unit * (2 * most_slots(sites) + 1))
    *_, last = numbers(tree, sites)
    yield last


class _Watch(Player):
    """Two clocks for each pipe: of what the tokens tell it, and of what its operations need."""

    def __init__(self, tree: Tree, of_op: OfOp, unknown: Iterator[int], fences: Fences, regions: frozenset[int]):
        super().__init__(tree, of_op, unknown, fences)
        self.regions = regions
        self.region: int | None = None
        self.regions_of: dict[Pipe, list[int | None]] = {pipe: [] for pipe in Pipe}
        """For each operation of a pipe, the loop or branch of the home block that it is in."""
        self.told: dict[Pipe, _Clock] = {pipe: {} for pipe in Pipe}
        self.needed: dict[Pipe, _Clock] = {pipe: {} for pipe in Pipe}
        self.tokens: dict[tuple[int, RingEvent, int], _Clock] = {}
        self.past: dict[tuple[int, int], dict[tuple[Pipe, bool], _Clock]] = {}
        self.ops = self.held_back = 0

    def before(self, node: Node) -> None:
        super().before(node)
        if node.key in self.regions:
            self.region = node.key

    def behind(self, node: Node) -> None:
        if node.key in self.regions:
            self.region = None
        super().behind(node)

    def use(self, number: int, placed: Placed, use: Use) -> None:
        token = (number, use.event, self.lane_of(use, placed.lanes))
        if use.do is Do.SET:
            self.tokens[token] = dict(self.told[use.event.src])
        else:
            _learn(self.told[use.event.dst], self.tokens.pop(token, {}))

    def op(self, op: Op, accesses: Sequence[tuple[Site, int]]) -> None:
        if not accesses:
            return
        self.ops += 1
        pipes = accesses[0][0].op.pipes
        for pipe in pipes:
            for site, lane in accesses:
                for (_, writes), clock in self._met(site, lane):
                    if writes or site.access.role.writes:
                        _learn(self.needed[pipe], clock)
        self.held_back += any(self._held_back(pipe) for pipe in pipes)
        for pipe in pipes:
            self.regions_of[pipe].append(self.region)
            for clock in (self.told[pipe], self.needed[pipe]):
                clock[pipe] = clock.get(pipe, 0) + 1
            for site, lane in accesses:
                past = self.past.setdefault((site.access.slots.key, lane), {})
                past[pipe, site.access.role.writes] = dict(self.needed[pipe])

    def _held_back(self, pipe: Pipe) -> bool:
        """Whether the next operation of a pipe waits for one of another that it need not wait for."""
        for other, known in self.told[pipe].items():
            needed = self.needed[pipe].get(other, 0)
            if other is pipe or known <= needed:
                continue
            region = self.regions_of[other][needed - 1] if needed else None
            if (
                region is None
                or region == self.region
                or any(one != region for one in self.regions_of[other][needed:known])
            ):
                return True
        return False

    def _met(self, site: Site, lane: int) -> Iterator[tuple[tuple[Pipe, bool], _Clock]]:
        """The accesses so far of its slot, and of all other sets of the pool: they share its bytes."""
        for (key, slot), accesses in self.past.items():
            if key != site.access.slots.key or slot == lane:
                yield from accesses.items()


def _learn(mine: _Clock, told: Mapping[Pipe, int]) -> None:
    for pipe, number in told.items():
        mine[pipe] = max(mine.get(pipe, 0), number)
