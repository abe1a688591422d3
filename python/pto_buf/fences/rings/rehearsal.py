"""Trying a ring out: the program is run for small numbers, in issue order, with nothing but its tokens.

Where every lane's tokens alternate and each access meets the token of its phase, the ring orders all accesses, however
the pipes run: its phases follow one another through sets and waits. So a shape that fails here is not used; that one
which passes is right for all numbers is proven on the output, by the checker.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from pto_buf.fences.phases import Closing
from pto_buf.fences.rings.rings import Do, Placed, RingEvent, Use, pass_order
from pto_buf.fences.tree import OfOp, Site, Tree, by_op
from pto_buf.fences.trials.runs import Run, numbers
from pto_buf.hw import Pipe
from pto_buf.slots.program import Loop, Node

_Numbered = tuple[int, Placed, Use]
"""A use of a ring, with the ring's number."""


class _WrongError(Exception):
    """A token is missing, is put down twice or is left over, or an access meets no token of its phase."""


def holds(tree: Tree, sites: Sequence[Site], placed: Placed, uses: Sequence[Use]) -> bool:
    """Whether the ring keeps its promise in every run that is tried. `uses` must hold its idle tokens too.

    `sites` are all accesses of the pool: what the ring does not order may write what it reads.
    """
    fences = Fences([(placed, use) for use in uses])
    of_op = by_op(sites)
    for unknown in numbers(tree, sites):
        rehearsal = _Rehearsal(tree, of_op, unknown, fences, placed)
        try:
            if rehearsal.go() and rehearsal.tokens != rehearsal.primed:
                return False
        except _WrongError:
            return False
        if not rehearsal.chose:
            break
    return True


class Fences:
    """What stands before each node (passes, waits) and behind it (sets, passes, each closing, then sets for these)."""

    def __init__(self, uses: Sequence[tuple[Placed, Use]]):
        self.before: dict[int, list[_Numbered]] = {}
        self.behind: dict[int, list[_Numbered]] = {}
        self.closings: dict[int, dict[tuple[int, Closing], list[_Numbered]]] = {}
        self.closed: dict[int, list[_Numbered]] = {}
        self.primes: list[Use] = []
        rings: dict[int, int] = {}
        for placed, use in uses:
            number = rings.setdefault(id(placed), len(rings))
            if use.do is Do.PRIME:
                self.primes.append(use)
            elif use.closing is not None:
                of_loop = self.closings.setdefault(use.anchor, {})
                of_loop.setdefault((number, use.closing), []).append((number, placed, use))
            elif use.early is not None and use.do is Do.SET:
                self.closed.setdefault(use.anchor, []).append((number, placed, use))
            elif use.do is not Do.DRAIN:
                (self.behind if use.behind else self.before).setdefault(use.anchor, []).append((number, placed, use))
        for group in self.before.values():
            group.sort(key=lambda entry: (entry[2].way is None, pass_order(entry[2])))
        for group in self.behind.values():
            group.sort(key=lambda entry: (entry[2].way is not None, pass_order(entry[2])))
        for closings in self.closings.values():
            for group in closings.values():
                group.sort(key=lambda entry: pass_order(entry[2]))


class Player(Run):
    """A run that comes by the sets and waits of rings."""

    def __init__(self, tree: Tree, of_op: OfOp, unknown: Iterator[int], fences: Fences):
        super().__init__(tree, of_op, unknown)
        self.fences = fences

    def use(self, number: int, placed: Placed, use: Use) -> None:
        """Called for each set and wait but primes and drains."""

    def lane_of(self, use: Use, lanes: int) -> int:
        """The lane that a use is on now."""
        return use.lane if isinstance(use.lane, int) else self.value(use.lane.access.term) % lanes

    def before(self, node: Node) -> None:
        for entry in self.fences.before.get(node.key, ()):
            early = entry[2].early
            if early is None or early.trips.has(self.value(early.trips.counter)):
                self.use(*entry)

    def behind(self, node: Node) -> None:
        for entry in self.fences.behind.get(node.key, ()):
            self.use(*entry)
        for (_, closing), group in self.fences.closings.get(node.key, {}).items():
            self._close(node, closing, group)
        for entry in self.fences.closed.get(node.key, ()):
            self.use(*entry)

    def _close(self, node: Node, closing: Closing, uses: Sequence[_Numbered]) -> None:
        if not isinstance(node, Loop):
            for entry in uses:
                self.use(*entry)
            return
        for counter in self.trips_behind(node, closing):
            self.trip(node, counter)
            for entry in uses:
                self.use(*entry)
            self.carry(node)


class _Rehearsal(Player):
    def __init__(self, tree: Tree, of_op: OfOp, unknown: Iterator[int], fences: Fences, placed: Placed):
        super().__init__(tree, of_op, unknown, fences)
        self.placed = placed
        self.phase = placed.phase
        self.primed = {(use.event, use.lane) for use in fences.primes if isinstance(use.lane, int)}
        self.tokens: set[tuple[RingEvent, int]] = set(self.primed)
        self.held: Counter[tuple[int, Pipe, int]] = Counter()
        self.incoming: Counter[tuple[int, Pipe]] = Counter()
        for event in placed.ring.events:
            self.incoming[(event.phase + 1) % len(placed.ring.signature), event.dst] += 1

    def use(self, number: int, placed: Placed, use: Use) -> None:
        lane = self.lane_of(use, placed.lanes)
        token = (use.event, lane)
        if use.do is Do.SET:
            if token in self.tokens:
                raise _WrongError
            self.tokens.add(token)
            self.held[use.event.phase, use.event.src, lane] = 0
        else:
            if token not in self.tokens:
                raise _WrongError
            self.tokens.remove(token)
            self.held[(use.event.phase + 1) % len(placed.ring.signature), use.event.dst, lane] += 1

    def access(self, site: Site, lane: int) -> None:
        phase = self.phase.get(site.key)
        if phase is None:
            return
        for pipe in site.op.pipes:
            key = (phase, pipe)
            if self.held[(*key, lane % self.placed.lanes)] != self.incoming[key]:
                raise _WrongError
