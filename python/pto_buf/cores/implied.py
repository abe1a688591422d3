"""Signals that others imply: a way leads from the op behind which it is sent to the op that waits for it without it.

A step of such a way goes from an op of a block to one that is sure to start when the first is over, in the same trip or
in the next one: ops of one core that share a slot of which one writes, ops on one pipe, and the other signals. Trips
count on from one run of the loop to the next one, so that a way also holds where an outer loop is in its next trip.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pto_buf.cores.blocks import Blocks
from pto_buf.cores.need import Need
from pto_buf.hw import Core
from pto_buf.slots.program import Access, Block, Op

Steps = Mapping[int, Sequence[tuple[int, int]]]
"""By the position of an op in its block: positions that can be gone to, and how many trips later that is."""


class Ways:
    """The ways between the ops of each block."""

    def __init__(self, blocks: Blocks, cores: Mapping[int, Core], *, waits_alone: bool):
        self._blocks = blocks
        self._cores = cores
        self._waits_alone = waits_alone
        self._grounds: dict[int, _Ground] = {}

    def without_implied(self, needs: Sequence[Need]) -> list[Need]:
        """The needs that are not implied by those that stay. What takes hold later goes first."""
        kept, gone = list(needs), list[Need]()
        for need in sorted(needs, key=lambda one: (-one.lag, one.block, one.after, one.before)):
            others = [one for one in kept if one != need]
            if self._implied(need, others):
                kept = others
                gone.append(need)
        for need in reversed(gone):  # what implied it may have gone itself, and what remains may do less
            if not self._implied(need, kept):
                kept.append(need)
        return [need for need in needs if need in kept]

    def _implied(self, need: Need, others: Sequence[Need]) -> bool:
        nested = len(self._blocks.loops[need.block]) > 1
        return self.lead(others, need.block, need.after, need.before, min(need.lag, 1) if nested else need.lag)

    def lead(self, signals: Sequence[Need], block: int, start: int, end: int, trips: int) -> bool:
        """Whether one leads from an op of a block to another one of it, at most so many trips later."""
        if block not in self._grounds:
            self._grounds[block] = _Ground(self._blocks.nodes[block], self._cores, self._waits_alone)
        nested = len(self._blocks.loops[block]) > 1  # then larger lags start anew with each run of the inner loop
        inside = [one for one in signals if one.block == block and (one.lag < 2 or not nested)]
        return self._grounds[block].lead(inside, start, end, trips)


@dataclass
class _Ground:
    """The ops that stand directly in one block, and the steps between those of one core."""

    block: Block
    cores: Mapping[int, Core]
    waits_alone: bool

    def __post_init__(self) -> None:
        self.ops = {position: node for position, node in enumerate(self.block) if isinstance(node, Op) and node.pipes}
        self.steps: dict[int, list[tuple[int, int]]] = {position: [] for position in self.ops}
        for start, end, trips in (*self._on_slots(), *self._on_pipes()):
            self.steps[start].append((end, trips))

    def _on_slots(self) -> Iterator[tuple[int, int, int]]:
        by_set: dict[int, list[tuple[int, Access]]] = {}
        for position, op in self.ops.items():
            for access in op.accesses:
                before = by_set.setdefault(access.slots.key, [])
                for earlier, other in before:
                    if earlier != position and _conflict(other, access):
                        yield earlier, position, 0
                before.append((position, access))

    def _on_pipes(self) -> Iterator[tuple[int, int, int]]:
        lines: dict[tuple[Core, str], list[int]] = {}
        for position, op in self.ops.items():
            if len(op.pipes) == 1:
                lines.setdefault((self.cores[op.key], op.pipes[0]), []).append(position)
        for line in lines.values():
            for start, end in pairwise(line):
                yield start, end, 0
            yield line[-1], line[0], 1

    def lead(self, signals: Sequence[Need], start: int, goal: int, most: int) -> bool:
        """Whether a way leads from one op to the other within `most` trips."""
        if start not in self.ops or goal not in self.ops:
            return False
        more: dict[int, list[tuple[int, int]]] = {}
        for signal in signals:
            for here, end, trips in self._over(signal):
                more.setdefault(here, []).append((end, trips))
        best = {start: 0}
        layer = [start]
        for trips in range(most + 1):
            later: list[int] = []
            while layer:
                here = layer.pop()
                if best[here] < trips:
                    continue
                for end, step in (*self.steps[here], *more.get(here, ())):
                    if trips + step <= most and best.get(end, most + 1) > trips + step:
                        best[end] = trips + step
                        (later if step else layer).append(end)
            layer = later
        return goal in best

    def _over(self, signal: Need) -> Iterator[tuple[int, int, int]]:
        """The steps that a signal allows: from what its pipe did before it to what waits for it."""
        if signal.after not in self.ops or self.ops[signal.after].pipes != (signal.pipe,):
            return
        target = Core.VECTOR if signal.source is Core.CUBE else Core.CUBE
        for position, op in self.ops.items():
            if self.cores[op.key] is not target:
                continue
            if not self.waits_alone:
                yield signal.after, position, signal.lag + (position < signal.before)
            elif position == signal.before and op.pipes == (signal.waiting,):
                yield signal.after, position, signal.lag


def _conflict(one: Access, other: Access) -> bool:
    """Whether both are sure to touch the same bytes of the same slot in one trip, one of them as a writer."""
    return (
        one.term == other.term
        and (one.role.writes or other.role.writes)
        and not one.is_partial
        and not other.is_partial
    )
