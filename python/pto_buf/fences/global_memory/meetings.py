"""For which numbers operations come to touch the same bytes of global memory.

Windows may lie so far apart that they overlap in long runs only. So, of operations near each other in the text, small
numbers are looked for with which some trips of theirs overlap, by linear arithmetic on arguments and counters.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise, product
from math import prod

from pto_buf.fences.global_memory.executions import Execution, Relation
from pto_buf.fences.global_memory.solving import least
from pto_buf.fences.tree import Step, Tree
from pto_buf.fences.trials.runs import Given
from pto_buf.fences.windows import Box, Boxes, Pair, Windows
from pto_buf.hw import Pipe
from pto_buf.slots.bounds import Interval
from pto_buf.slots.linear import FloorDiv, Leaf, Linear, Mod, constant
from pto_buf.slots.program import Loop, Op, While
from pto_buf.slots.terms import COUNT_LIMIT, Var


@dataclass(frozen=True)
class Meeting:
    """Two operations on an array, and numbers with which they overlap: in different trips of the loop `carrier`, or in
    one trip of each loop around both where that is -1."""

    array: int
    earlier: Op
    later: Op
    carrier: int
    given: Given
    trips: int
    """About how many trips it takes until they overlap."""

    def pairs(self, in_order: Set[Pipe]) -> Iterator[Pair]:
        """What has to be ordered where the loops around both do not keep the two in turns anyway."""
        for own, pipe in product(self.earlier.pipes, self.later.pipes):
            if self.carrier == -1 and not (own is pipe and pipe in in_order):
                yield Pair(self.earlier.key, self.later.key, -1, own is not pipe)


def meetings(tree: Tree, windows: Windows) -> Iterator[Meeting]:
    """Of operations near each other, of which at least one stands in a loop."""
    search = _Search(tree, windows)
    for array, ops in search.operations().items():
        for place, later in enumerate(ops):
            for earlier in ops[max(0, place - _NEAR) : place + _NEAR + 1]:
                yield from search.meetings(array, earlier, later)


_NEAR = 8
"""How many operations, before one and behind it, are compared with it."""


class _Search:
    def __init__(self, tree: Tree, windows: Windows):
        self._tree = tree
        self._windows = windows
        self._ops = {
            node.key: node
            for block in tree.blocks
            for node in block.nodes
            if isinstance(node, Op) and node.key in windows
        }
        self._paths = {
            node.key: (*block.path, Step(block.key, item))
            for block in tree.blocks
            for item, node in enumerate(block.nodes)
            if node.key in windows
        }
        loops = [node for block in tree.blocks for node in block.nodes if isinstance(node, Loop | While)]
        self._whiles = {loop.key for loop in loops if isinstance(loop, While)}
        self._owners = {var.key: loop.key for loop in loops for var in (loop.var, *(one.var for one in loop.carried))}
        self._boxes = Boxes()

    def operations(self) -> Mapping[int, Sequence[int]]:
        """By array the operations on it in the order of the text; of those of one block that lie at constant distances
        from each other only the first and the last one. Arrays without operations in loops are left out."""
        repeated = {
            window.array.number
            for op, path in self._paths.items()
            if self._tree.loops_around(path)
            for window in self._windows[op]
        }
        found: dict[int, dict[Hashable, list[int]]] = {}
        for op, path in self._paths.items():
            if not any(window.array.number in repeated for window in self._windows[op]):
                continue
            one = self._execution(op, Relation(frozenset(), -1, constant(0)), later=False)
            for window in self._windows[op]:
                starts = tuple(start.parts for start, _ in one.box(window).sides)
                alike = found.setdefault(window.array.number, {}).setdefault((path[-1].block, starts), [])
                alike[1:] = [op]
        return {array: sorted({op for one in alike.values() for op in one}) for array, alike in found.items()}

    def meetings(self, array: int, earlier: int, later: int) -> Iterator[Meeting]:
        paths = self._paths[earlier], self._paths[later]
        around = self._tree.loops_around(tuple(step for step, also in zip(*paths, strict=False) if step == also))
        if any(self._tree.loops_around(path) for path in paths):
            for carrier in around if earlier >= later else (*around, -1):
                for given, trips in self._numbers(array, earlier, later, around, carrier):
                    yield Meeting(array, self._ops[earlier], self._ops[later], carrier, given, trips)

    def _numbers(
        self, array: int, earlier: int, later: int, around: Sequence[int], carrier: int
    ) -> Iterator[tuple[Given, int]]:
        same = around if carrier == -1 else around[: around.index(carrier)]
        lag = self._boxes.leaf("trips from one to the other", Interval(1, COUNT_LIMIT))
        relation = Relation(frozenset(same), carrier, lag)
        one = self._execution(earlier, relation, later=False)
        other = self._execution(later, relation, later=True)
        for window, also in product(self._windows[earlier], self._windows[later]):
            if window.array.number == also.array.number == array and (window.writes or also.writes):
                values = self._overlapping(one, other, one.box(window), other.box(also))
                if values is not None:
                    trips = (prod(self._begun(done, values) for _, done in each.trips) for each in (one, other))
                    yield self._given((one, other), values), max(trips)

    def _execution(self, op: int, relation: Relation, *, later: bool) -> Execution:
        execution = Execution(self._boxes, self._owners, relation, later=later)
        for step, inside in pairwise(self._paths[op]):
            node = self._tree.node(step)
            execution.enter(node, self._tree.inner[node.key].index(inside.block))
        return execution

    def _overlapping(self, one: Execution, other: Execution, box: Box, also: Box) -> Mapping[int, int] | None:
        """Values of atoms with which both executions are, and their boxes overlap."""
        wanted = [*one.facts, *other.facts]
        for first, second in self._boxes.compared(box, also):
            wanted += (first[1] - second[0]).shifted(-1), (second[1] - first[0]).shifted(-1)
        return least(self._boxes.atoms, wanted)

    def _begun(self, done: Linear, values: Mapping[int, int]) -> int:
        """The trips that have begun where so many are done."""
        return 1 + done.const + sum(times * values.get(atom, 0) for atom, times in done.parts)

    def _given(self, executions: Sequence[Execution], values: Mapping[int, int]) -> Given:
        atoms = self._boxes.atoms
        unknowns = {atom: key for execution in executions for atom, key in execution.unknowns.items()}
        numbers: dict[int, int] = {}
        for atom, value in values.items():
            if isinstance(atoms.kinds[atom], FloorDiv | Mod):
                continue  # what it is made of is known
            for leaf in sorted(atoms.leaves[atom]):  # at a guess as large as what is made of it
                kind = atoms.kinds[leaf]
                what = kind.what if isinstance(kind, Leaf) else None
                key = what.key if isinstance(what, Var) else unknowns.get(leaf)
                if key is not None:
                    numbers[key] = max(value, numbers.get(key, value))
        trips: dict[int, int] = {}
        for loop, done in (entry for execution in executions for entry in execution.trips):
            if loop in self._whiles:
                begun = self._begun(done, values)
                trips[loop] = max(begun, trips.get(loop, begun))
        return Given(tuple(sorted(numbers.items())), tuple(sorted(trips.items())))
