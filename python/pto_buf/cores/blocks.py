"""Where the ops of a program stand: their blocks, the loops around these, and where the ways to two ops part."""

from collections.abc import Iterator
from dataclasses import dataclass

from pto_buf.cores.distance import Nest
from pto_buf.slots.names import blocks_of
from pto_buf.slots.program import Block, Loop, Node, Op, While

Home = tuple[tuple[int, int], ...]
"""The way to a node: in each block, by its number, the position to go into; last the node's own."""


@dataclass(frozen=True)
class Fork:
    """Where the ways to two nodes part: at two positions of `block`, or in two blocks of one node (then it is None).

    `loops` are those around both, outermost first.
    """

    block: int | None
    one: int
    other: int
    loops: tuple[Nest, ...]
    parts_of_while: bool = False


class Blocks:
    """The blocks of a program, numbered from outside inwards in program order."""

    def __init__(self, body: Block):
        self.nodes: list[Block] = []
        self.loops: list[tuple[Nest, ...]] = []
        """The loops around each block, outermost first."""
        self._around: list[tuple[int, ...]] = []
        """For each block those around it in the same trip of every loop, itself included."""
        self._loop_homes: list[tuple[int, int] | None] = []
        """For each block, where the innermost loop around it stands."""
        self._homes: list[tuple[Op, Home]] = []
        self._enter(body, (), (), (), None)

    def ops(self) -> Iterator[tuple[Op, Home]]:
        """The tile ops in program order, with the way to each."""
        yield from self._homes

    def in_one_trip(self, block: int) -> tuple[int, ...]:
        """The blocks that are run whenever this one is, in the same trip of all loops around it."""
        return self._around[block]

    def loop_home(self, block: int) -> tuple[int, int] | None:
        """The block and the position of the innermost loop around a block."""
        return self._loop_homes[block]

    def _enter(
        self,
        block: Block,
        loops: tuple[Nest, ...],
        around: tuple[int, ...],
        home: Home,
        loop_home: tuple[int, int] | None,
    ) -> None:
        number = len(self.nodes)
        self._loop_homes.append(loop_home)
        self.nodes.append(block)
        self.loops.append(loops)
        self._around.append((*around, number))
        for position, node in enumerate(block):
            own = (*home, (number, position))
            if isinstance(node, Op):
                self._homes.append((node, own))
            is_loop = isinstance(node, Loop | While)
            for part in blocks_of(node):
                inner = (*loops, node) if isinstance(node, Loop | While) else loops
                above = () if is_loop else (*around, number)
                self._enter(part, inner, above, own, (number, position) if is_loop else loop_home)

    def _node(self, step: tuple[int, int]) -> Node:
        block, position = step
        return self.nodes[block][position]

    def fork(self, one: Home, other: Home) -> Fork:
        """Where the ways to two different ops part."""
        loops: list[Nest] = []
        above: Node | None = None
        for step, same in zip(one, other, strict=False):
            if step == same:
                above = self._node(step)
                if isinstance(above, Loop | While):
                    loops.append(above)
                continue
            block = step[0] if step[0] == same[0] else None
            return Fork(block, step[1], same[1], tuple(loops), block is None and isinstance(above, While))
        raise AssertionError("the ways of two ops part")

    def inside(self, loop: Nest, one: Home, other: Home) -> tuple[int, int, int] | None:
        """The block of a loop that holds both, with their positions; None if they are in two blocks of it."""
        for number, step in enumerate(one):
            if self._node(step) is loop:
                (block, position), (same, further) = one[number + 1], other[number + 1]
                return (block, position, further) if block == same else None
        raise AssertionError("the loop is around both")
