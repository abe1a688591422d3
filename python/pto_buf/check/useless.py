"""Fences without which a kernel is as right as with them. Pure."""

from collections.abc import Iterator
from dataclasses import replace

from pto_buf.check.findings import Status
from pto_buf.check.model import Model
from pto_buf.check.program import Assign, Barrier, Code, Program, SetFlag, Site, WaitFlag
from pto_buf.check.proof.prove import prove
from pto_buf.check.values import ValueSets
from pto_buf.hw import EVENT_IDS, Pipe


def useless_fences(program: Program, model: Model) -> Iterator[tuple[Site, ...]]:
    """For a program that is proven: each barrier, and each set of flags with its waits, that it is proven without.

    One at a time: of two that stand in for each other, both are named. The last barrier is not.
    """
    for number, code in enumerate(program.codes):
        for group in (*_barriers(code), *_flags(program, code)):
            codes = (*program.codes[:number], _without(code, group), *program.codes[number + 1 :])
            if prove(replace(program, codes=codes), model).status is Status.PROVEN:
                yield tuple(_site(code, at) for at in group)


def _barriers(code: Code) -> Iterator[tuple[int, ...]]:
    for at, one in enumerate(code.instructions):
        if isinstance(one, Barrier) and one.pipe is not Pipe.ALL:
            yield (at,)


def _flags(program: Program, code: Code) -> list[tuple[int, ...]]:
    """Sets and waits that belong together: of one pair of pipes, with ids that overlap."""
    values = ValueSets(program, code, {})
    groups: list[tuple[Pipe, Pipe, frozenset[int], list[int]]] = []
    for at, one in enumerate(code.instructions):
        if not isinstance(one, SetFlag | WaitFlag):
            continue
        known = values.of(one.lane)
        ids, members = frozenset(range(EVENT_IDS)) if known is None else known, [at]
        for group in list(groups):
            if group[:2] == (one.src, one.dst) and group[2] & ids:
                groups.remove(group)
                ids, members = ids | group[2], [*group[3], *members]
        groups.append((one.src, one.dst, ids, members))
    return [tuple(sorted(members)) for _, _, _, members in groups]


def _without(code: Code, group: tuple[int, ...]) -> Code:
    gone = dict.fromkeys(group)
    kept = tuple(Assign(()) if at in gone else one for at, one in enumerate(code.instructions))
    return replace(code, instructions=kept)


def _site(code: Code, at: int) -> Site:
    one = code.instructions[at]
    assert isinstance(one, SetFlag | WaitFlag | Barrier)
    return one.site
