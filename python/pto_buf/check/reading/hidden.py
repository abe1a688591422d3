"""Bytes that the library works in without being told to. Pure."""

from collections.abc import Iterator
from dataclasses import replace

from pto_buf.check.program import Code, Local, Program, Run, Touch
from pto_buf.check.values import ValueSets
from pto_buf.hw import Space


def settle_hidden(program: Program) -> Program:
    """The program without what ops touch there, if none of its tiles lies there.

    The ops themselves keep out of each other's way: that is the library's business.
    """
    hidden = [touch.where for code in program.codes for touch in _hidden(code)]
    if not hidden:
        return program
    ranges = [run for where in hidden if isinstance(where, Local) for run in where.runs]
    if any(_reaches(program, code, ranges) for code in program.codes):
        return program
    return replace(program, codes=tuple(_without(code) for code in program.codes))


def _hidden(code: Code) -> Iterator[Touch]:
    return (touch for one in code.instructions if isinstance(one, Run) for touch in one.touches if touch.hidden)


def _reaches(program: Program, code: Code, ranges: list[tuple[int, int]]) -> bool:
    """Whether a tile may lie there."""
    values = ValueSets(program, code, {})
    for one in code.instructions:
        for touch in one.touches if isinstance(one, Run) else ():
            where = touch.where
            if touch.hidden or not isinstance(where, Local) or where.space is not Space.VEC:
                continue
            addresses = values.of(where.address)
            if addresses is None or any(
                address + start < high and low < address + end
                for address in addresses
                for start, end in where.runs
                for low, high in ranges
            ):
                return True
    return False


def _without(code: Code) -> Code:
    found = tuple(
        replace(one, touches=tuple(touch for touch in one.touches if not touch.hidden)) if isinstance(one, Run) else one
        for one in code.instructions
    )
    return replace(code, instructions=found)
