"""Which loops change which numbers, and the forms of loop counters."""

from collections.abc import Mapping
from dataclasses import dataclass

from pto_buf.slots.bounds import Interval, bounds
from pto_buf.slots.forms import Atoms
from pto_buf.slots.linear import Linear
from pto_buf.slots.names import blocks_of
from pto_buf.slots.program import Block, Loop, While
from pto_buf.slots.terms import TRIP_LIMIT, Const, Opaque, Var


@dataclass(frozen=True)
class Nesting:
    """`chains` holds for each loop the keys of the loops around it and its own; `owners` the loop of each variable
    that belongs to one, trips (by their name) included."""

    chains: Mapping[int, tuple[int, ...]]
    owners: Mapping[Var | str, int]

    def loops_of(self, what: Var | Opaque | str) -> tuple[int, ...]:
        """The loops in whose trips the number is another one, outermost first."""
        owner = what.loop if isinstance(what, Opaque) else self.owners.get(what)
        return () if owner is None else self.chains.get(owner, ())


def bind_counters(atoms: Atoms, block: Block) -> Nesting:
    """Say what the counters of all loops of a program are, the outer ones first."""
    chains: dict[int, tuple[int, ...]] = {}
    owners: dict[Var | str, int] = {}

    def enter(block: Block, around: tuple[int, ...]) -> None:
        for node in block:
            inner = around
            if isinstance(node, Loop | While):
                inner = chains[node.key] = (*around, node.key)
                owners.update(dict.fromkeys((node.var, _trip_name(node)), node.key))
                owners.update({entry.var: node.key for entry in node.carried})
                bind_counter(atoms, node)
            for part in blocks_of(node):
                enter(part, inner)

    enter(block, ())
    return Nesting(chains, owners)


def is_counted(loop: Loop) -> bool:
    """Whether the loop's step is a known number, so that the counter is linear in the number of trips."""
    return isinstance(loop.step, Const) and loop.step.value > 0


def trips_of(loop: Loop) -> Interval:
    """The least and the largest number of trips of a counted loop."""
    lower, upper, step = bounds(loop.lower), bounds(loop.upper), bounds(loop.step).low
    least, most = (max(0, -(-span // step)) for span in (upper.low - lower.high, upper.high - lower.low))
    return Interval(least, most)


def trip_leaf(atoms: Atoms, loop: Loop) -> int:
    """The atom of the number of finished trips of a counted loop."""
    most = trips_of(loop).high
    return atoms.leaf(_trip_name(loop), Interval(0, most), Interval(0, max(0, most - 1)))


def bind_counter(atoms: Atoms, loop: Loop | While) -> None:
    """Say what the counter of one loop is; those of the loops around it are bound."""
    if isinstance(loop, While):
        atoms.leaf(loop.var, Interval(0, TRIP_LIMIT))
    elif is_counted(loop):
        trips = Linear(((trip_leaf(atoms, loop), bounds(loop.step).low),), 0)
        atoms.bind(loop.var, atoms.form(loop.lower) + trips)


def _trip_name(loop: Loop | While) -> str:
    return f"trip of loop {loop.key}"
