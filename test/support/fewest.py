"""How few set/wait pairs keep the order that the data of a run ask for: those that no others imply."""

from collections.abc import Iterator, Mapping, Sequence

from pto_buf.check.runs.steps import Did, Set, Step, Wait
from pto_buf.hw import Pipe
from support.closure import Closures

_Ops = Mapping[Pipe, Sequence[int]]
_Known = Mapping[tuple[Pipe, Pipe], Mapping[int, int]]
"""For two pipes and each op of the second: the last op of the first that is over before it starts, or -1."""


def fewest_pairs(run: Closures) -> int:
    """A pair serves all ops of its source up to one of them, and all of its destination from one of them on."""
    ops = _ops(run.steps)
    known = _known(run, ops)
    return sum(
        1 for ends in known for first, second in _corners(known, ends, ops) if not _implied(known, ends, first, second)
    )


def working_pairs(steps: Sequence[Step]) -> int:
    """The executed pairs with work on either side: without primes, and drains behind the last op."""
    last = {pipe: numbers[-1] for pipe, numbers in _ops(steps).items()}
    worked: set[Pipe] = set()
    tokens: dict[tuple[Pipe, Pipe, int], list[bool]] = {}
    count = 0
    for number, step in enumerate(steps):
        match step:
            case Did():
                worked.update(step.pipes)
            case Set():
                tokens.setdefault((step.src, step.dst, step.lane), []).append(step.src in worked)
            case Wait():
                works = tokens[step.src, step.dst, step.lane].pop(0)
                count += works and last.get(step.dst, -1) > number
            case _:
                pass
    return count


def _ops(steps: Sequence[Step]) -> _Ops:
    found: dict[Pipe, list[int]] = {}
    for number, step in enumerate(steps):
        for pipe in step.pipes if isinstance(step, Did) else ():
            found.setdefault(pipe, []).append(number)
    return found


def _known(run: Closures, ops: _Ops) -> _Known:
    pipes = {number: step.pipes for number, step in enumerate(run.steps) if isinstance(step, Did)}
    latest: dict[tuple[Pipe, Pipe, int], int] = {}
    for pair in run.needed:
        for src in pipes[pair.first]:
            for dst in pipes[pair.second]:
                key = src, dst, pair.second
                latest[key] = max(latest.get(key, -1), pair.first)
    known: dict[tuple[Pipe, Pipe], dict[int, int]] = {}
    for src in ops:
        for dst in ops:
            reached, of = -1, known.setdefault((src, dst), {})
            for number in ops[dst]:
                reached = of[number] = max(reached, latest.get((src, dst, number), -1))
    return known


def _corners(known: _Known, ends: tuple[Pipe, Pipe], ops: _Ops) -> Iterator[tuple[int, int]]:
    """Each op of the second pipe that needs more of the first one than the op before it."""
    reached = -1
    for number in ops[ends[1]] if ends[0] is not ends[1] else ():
        if known[ends][number] > reached:
            reached = known[ends][number]
            yield reached, number


def _implied(known: _Known, ends: tuple[Pipe, Pipe], first: int, second: int) -> bool:
    """Whether a third pipe tells it."""
    src, dst = ends
    thirds = [third for third, to in known if to is dst and third not in ends]
    told = [(third, known[third, dst][second]) for third in thirds]
    return any(at >= 0 and known[src, third][at] >= first for third, at in told)
