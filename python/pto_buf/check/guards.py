"""Which conditions hold where an instruction is done. Pure."""

from collections.abc import Sequence

from pto_buf.check.program import Branch, Instruction, Jump, Meet, defined
from pto_buf.check.terms import Term, negate, variables


def guards_of(code: Sequence[Instruction]) -> list[tuple[Term, ...]]:
    """For each instruction, the conditions around it that hold there: in what they guard, nothing changes them.

    Where cores wait for each other, another core may.
    """
    around: list[tuple[Term, ...]] = [()] * len(code)
    for at, one in enumerate(code):
        if not isinstance(one, Branch):
            continue
        for condition, arm in zip((one.condition, negate(one.condition)), arms_of(code, at), strict=True):
            inside = [code[within] for within in arm]
            changed = {var for each in inside for var in defined(each)}
            if changed.isdisjoint(variables(condition)) and not any(isinstance(each, Meet) for each in inside):
                for within in arm:
                    around[within] = (*around[within], condition)
    return around


def branches_around(code: Sequence[Instruction]) -> list[tuple[int, ...]]:
    """For each instruction, the branches under which it stands, the innermost last."""
    around: list[tuple[int, ...]] = [()] * len(code)
    stack: list[tuple[int, int]] = []
    for at, one in enumerate(code):
        while stack and stack[-1][0] <= at:
            stack.pop()
        around[at] = tuple(branch for _, branch in stack)
        if isinstance(one, Branch):
            stack.append((arms_of(code, at)[1].stop, at))
    return around


def arms_of(code: Sequence[Instruction], at: int) -> tuple[range, range]:
    """The instructions that stand under the branch at `at`: where its condition holds, and where it does not."""
    one = code[at]
    assert isinstance(one, Branch)
    last = code[one.otherwise - 1]
    end = last.target if isinstance(last, Jump) and last.target >= one.otherwise else one.otherwise
    return range(at + 1, one.otherwise), range(one.otherwise, end)
