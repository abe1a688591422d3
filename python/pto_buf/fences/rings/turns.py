"""Rings whose leases take turns on the same events, as if their sets were slots that share a lane.

Where each lease of two rings is over in one execution of its block, and they stand one behind the other there, no lease
of one is ever live together with one of the other. Each then waits for the one before, and hands its tokens on to the
next. That holds leases back which have nothing to do with each other, so it is done only for want of ids.
"""

from collections import deque
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from pto_buf.fences.rings.groups import Member, RingGroup
from pto_buf.fences.tree import last_key
from pto_buf.hw import EVENT_IDS, Pipe


@dataclass(frozen=True)
class Turn:
    """From which node to which each lease of a ring lasts, in one execution of a block of a loop."""

    member: Member
    block: int
    """The key of its first node in the whole program."""
    begin: int
    end: int

    @staticmethod
    def of(member: Member) -> "Turn | None":
        """None where leases stand in several blocks, last longer, or are no loop's."""
        tree, shapes = member.fences.tree, member.placed.shapes
        spans = [piece.span for shape in shapes for piece in shape.pieces]
        lasting = any(shape.carried or shape.closing is not None or not shape.around for shape in shapes)
        if lasting or any(span.block != spans[0].block for span in spans):
            return None
        block = tree.blocks[spans[0].block]
        begin = min(block.nodes[span.first].key for span in spans)
        end = max(last_key(block.nodes[span.last]) for span in spans)
        return Turn(member, block.first, begin, end)


def in_turns(
    groups: Sequence[RingGroup], src: Pipe, dst: Pipe
) -> tuple[tuple[RingGroup, ...], Sequence[RingGroup]] | None:
    """The groups with fewer of them between these pipes, since rings take turns, and those that were made for it.

    As many groups stay as there are ids for, or one fewer than there were. None if none can.
    """
    alike: dict[Hashable, list[tuple[int, list[Turn]]]] = {}
    for number, group in enumerate(groups):
        turns = [turn for member in group.members if (turn := Turn.of(member)) is not None]
        blocks = {turn.block for turn in turns}
        if group.joins(src, dst) and group.comes_round and len(turns) == len(group.members) and len(blocks) == 1:
            alike.setdefault((group.kind, *blocks), []).append((number, turns))
    for entries in alike.values():
        if len(entries) < 2:
            continue
        fit = max(1, EVENT_IDS // groups[entries[0][0]].lanes)
        rings = sorted((turn for _, turns in entries for turn in turns), key=lambda turn: turn.begin)
        made = list(_spread(rings, min(fit, len(entries) - 1)))
        if len(made) < len(entries):
            numbers = {number for number, _ in entries}
            kept = [group for number, group in enumerate(groups) if number not in numbers]
            return tuple(sorted((*kept, *made), key=lambda group: group.first)), made
    return None


def _spread(rings: Sequence[Turn], most: int) -> Iterator[RingGroup]:
    """At most that many groups, if no more leases are live at once. Rings that take turns stand evenly far apart."""
    rounds = -(-len(rings) // most)
    apart = -(-len(rings) // rounds)
    shared = len(rings) - (most - apart)
    groups: deque[list[Turn]] = deque()
    for number, ring in enumerate(rings):
        if number < apart or number >= shared or groups[0][-1].end >= ring.begin:
            groups.append([ring])
        else:
            groups[0].append(ring)
            groups.rotate(-1)
    for group in groups:
        yield RingGroup(tuple(turn.member for turn in group))
