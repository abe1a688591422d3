"""Which loops change which numbers, and the forms of loop counters."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import lcm

from pto_buf.slots.bounds import Interval, bounds
from pto_buf.slots.forms import Atoms
from pto_buf.slots.linear import Linear, constant
from pto_buf.slots.names import blocks_of
from pto_buf.slots.program import Block, Loop, While
from pto_buf.slots.terms import DIVISIONS, TRIP_LIMIT, Apply, Const, Fn, Opaque, Select, Term, Var


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
    """Say what the counters of all loops of a program are, the outer ones first, and what they divide."""
    _bind_divided(atoms, block)
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


_Sum = tuple[tuple[Var, int], ...]
"""Variables with coefficients, none 0."""

_LARGEST_DIVISOR = 16


def _bind_divided(atoms: Atoms, block: Block) -> None:
    """Say of what the bounds of loops divide: it is a multiple of the quotient, and a rest.

    So `n` and `n // 2`, the number of pairs of trips, are compared as what they are.
    """
    divisors: dict[_Sum, int] = {}
    taken: set[Var] = set()
    pending = list(block)
    while pending:
        node = pending.pop()
        if isinstance(node, Loop | While):
            taken.update((node.var, *(entry.var for entry in node.carried)))
        if isinstance(node, Loop):
            for divided, divisor in _divided(node.upper):
                divisors[divided] = lcm(divisors.get(divided, 1), divisor)
        pending += [inner for part in blocks_of(node) for inner in part]
    for divided, divisor in divisors.items():
        last = next((var for var, coefficient in divided if coefficient == 1), None)
        if last is not None and taken.isdisjoint(var for var, _ in divided) and 1 < divisor <= _LARGEST_DIVISOR:
            taken.update(var for var, _ in divided)
            others = sum((atoms.form(var).times(factor) for var, factor in divided if var is not last), constant(0))
            atoms.divide(last, others, divisor)


def _divided(term: Term) -> Iterator[tuple[_Sum, int]]:
    """What is divided in a term by a number, and by which."""
    match term:
        case Apply(fn, left, Const(value)) if fn in DIVISIONS and value > 0:
            yield from ((inner, divisor * value) for inner, divisor in _divided(left))
            yield from ((tuple(found.items()), value) for found in _sums(left) if found)
        case Apply(_, left, right):
            yield from _divided(left)
            yield from _divided(right)
        case Select(condition, if_true, if_false):
            for part in (condition, if_true, if_false):
                yield from _divided(part)
        case Const() | Var() | Opaque():
            pass


def _sums(term: Term) -> Iterator[dict[Var, int]]:
    """The term without constants, for each choice in it; nothing for what is no sum."""
    match term:
        case Const():
            yield {}
        case Var():
            yield {term: 1}
        case Apply(Fn.ADD | Fn.SUB as fn, left, right):
            sign = 1 if fn is Fn.ADD else -1
            for one, other in product(_sums(left), _sums(right)):
                total = {var: one.get(var, 0) + sign * other.get(var, 0) for var in (*one, *other)}
                yield {var: coefficient for var, coefficient in total.items() if coefficient}
        case Apply(Fn.MINS | Fn.MAXS, left, right) | Select(_, left, right):
            yield from _sums(left)
            yield from _sums(right)
        case Apply() | Opaque():
            pass


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
