"""Which loads name the element that they load: those of arrays that stay as they are while the kernel runs. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pto_buf.check.guards import branches_around
from pto_buf.check.program import Assign, Branch, Code, Enter, Fresh, Instruction, Leave, Program, Run, Window, defined
from pto_buf.check.terms import Term, Var, constant_of, sub, substitute, variables


def settle_loads(program: Program) -> Program:
    """The program in which a load names its element only where that is one number.

    It is not in an array that the kernel stores to; nor in a `while` loop that waits for somebody else's store.
    """
    stored = frozenset(_stored(program))
    return replace(program, codes=tuple(_settled(code, stored) for code in program.codes))


def _stored(program: Program) -> Iterator[int]:
    """The arrays that some core stores to."""
    for code in program.codes:
        for one in code.instructions:
            for touch in one.touches if isinstance(one, Run) else ():
                if touch.writes and isinstance(touch.where, Window):
                    yield touch.where.argument


def _settled(code: Code, stored: frozenset[int]) -> Code:
    found = list(code.instructions)
    loads = {at: one for at, one in enumerate(found) if isinstance(one, Fresh) and one.loads}
    waiting = (
        {at for loop in _while_loops(found) if _waits(loop) for at in range(loop.enter, loop.leave)} if loads else ()
    )
    for at, one in loads.items():
        if at in waiting or (one.element is not None and one.element.table in stored):
            found[at] = replace(one, element=None)
    return replace(code, instructions=tuple(found))


# --- loops that wait ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _While:
    """`head` is the branch that decides the next trip; `around`: the branches that each instruction stands under."""

    code: Sequence[Instruction]
    around: Sequence[tuple[int, ...]]
    enter: int
    head: int
    leave: int

    def pairs(self, at: int) -> tuple[tuple[Var, Term], ...]:
        """What the instruction assigns."""
        one = self.code[at]
        assert isinstance(one, Assign)
        return one.pairs

    def condition(self, at: int) -> Term:
        """What the branch asks."""
        one = self.code[at]
        assert isinstance(one, Branch)
        return one.condition


def _while_loops(code: Sequence[Instruction]) -> Iterator[_While]:
    around = branches_around(code)
    stack: list[list[int]] = []
    for at, one in enumerate(code):
        if isinstance(one, Enter):
            stack.append([at])
        elif isinstance(one, Branch) and one.loop is not None:
            stack[-1].append(at)
        elif isinstance(one, Leave):
            enter, head = stack.pop()
            if one.loop.counter is None:
                yield _While(code, around, enter, head, at)


def _waits(loop: _While) -> bool:
    """Whether its end depends on a load that may be of the same element trip after trip."""
    made: dict[int, list[int]] = {}
    for at in range(loop.enter, loop.leave):
        for var in defined(loop.code[at]):
            made.setdefault(var.key, []).append(at)
    moved = _moved_on(loop)
    open = list(variables(loop.condition(loop.head)))
    seen: set[Var] = set()
    while open:
        var = open.pop()
        if var in seen:
            continue
        seen.add(var)
        for at in made.get(var.key, ()):
            one = loop.code[at]
            if isinstance(one, Fresh) and one.element is not None:
                parts = [part for term in one.element.at for part in variables(term)]
                if not one.loads:
                    open += parts
                elif moved.isdisjoint(part.key for part in parts):
                    return True
            for other, term in one.pairs if isinstance(one, Assign) else ():
                open += variables(term) if other == var else ()
            for branch in loop.around[at]:
                open += variables(loop.condition(branch)) if branch > loop.enter else ()
    return False


def _moved_on(loop: _While) -> frozenset[int]:
    """The numbers that each trip moves on by a constant."""
    passed = loop.pairs(loop.head - 1)
    by = {var.key: term for var, term in passed}
    steps = {var.key: constant_of(sub(substitute(term, by), var)) for var, term in loop.pairs(loop.leave - 3)}
    moved = {key for key, step in steps.items() if step}
    moved.update(var.key for var, term in passed if isinstance(term, Var) and term.key in moved)
    return frozenset(moved)
