"""Numbers loaded from global arrays that a kernel only reads: one element is one number, for every core. Pure.

A run looks them up by array and index. A proof has a variable for each element that the kernel names: one that is fixed
for the whole run, or else one that the innermost loop whose numbers are in the index sets ahead of each trip. So loops
that run alike on several cores carry their elements alike as well.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pto_buf.check.program import (
    Assign,
    Code,
    Element,
    Enter,
    Fresh,
    Instruction,
    Kind,
    Leave,
    Program,
    Run,
    VarInfo,
    Window,
)
from pto_buf.check.rewrite import Rewriter
from pto_buf.check.terms import Fn, Node, Term, Var, const, substitute, variables

_Pairs = tuple[tuple[Var, Term], ...]


# --- of a program -------------------------------------------------------------------------------------------------


def settle_loads(program: Program) -> Program:
    """The program in which a load names its element only where that is one number.

    It is not in an array that the kernel stores to; nor in a `while` loop, which may wait for somebody else's store.
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
    found: list[Instruction] = []
    waits = 0
    for one in code.instructions:
        if isinstance(one, Enter | Leave) and one.loop.counter is None:
            waits += 1 if isinstance(one, Enter) else -1
        if isinstance(one, Fresh) and one.element is not None and (waits or one.element.argument in stored):
            one = replace(one, element=None)
        found.append(one)
    return replace(code, instructions=tuple(found))


# --- of a proof ---------------------------------------------------------------------------------------------------


def with_elements(program: Program) -> Program:
    """The program with variables for elements instead of loads, as far as their indices are numbers of `for` loops."""
    namer = _Namer(program)
    codes = [namer.code(code) for code in program.codes]
    if not namer.named:
        return program
    instead = namer.instead
    rewriter = Rewriter(lambda term: substitute(term, instead))
    return replace(program, variables=tuple(namer.variables), codes=tuple(rewriter.code(code) for code in codes))


@dataclass
class _Home:
    """A loop: the instruction that enters it, the numbers that it carries, and the elements that it sets."""

    enter: int
    carries: frozenset[int]
    elements: dict[tuple[int, Term], Var] = field(default_factory=dict[tuple[int, Term], Var])


class _Namer:
    """`instead`: by key, for a variable that would hold the same element as another one, that one."""

    def __init__(self, program: Program):
        self.variables: list[VarInfo] = list(program.variables)
        self.instead: dict[int, Term] = {}
        self.named = False
        self._subblock = program.subblock
        self._fixed: dict[tuple[int, Term], Var] = {}

    def code(self, code: Code) -> Code:
        found = list(code.instructions)
        around: list[_Home] = []
        for at, one in enumerate(code.instructions):
            match one:
                case Enter():
                    around.append(_Home(at, _carried(found, at) if one.loop.counter is not None else frozenset()))
                case Leave():
                    self._set(found, around.pop(), at)
                case Fresh(element=Element() as element) if self._name(one, element, around):
                    found[at] = Assign(())
                case _:
                    pass
        return replace(code, instructions=tuple(found))

    def _name(self, load: Fresh, element: Element, around: Sequence[_Home]) -> bool:
        """Whether the variable holds the element from now on without the load."""
        index = substitute(element.at, self.instead)
        depth = self._depth(index, around)
        if depth is None:
            return False
        named, kind = (around[depth - 1].elements, Kind.CARRIED) if depth else (self._fixed, Kind.FIXED)
        var = named.setdefault((element.argument, index), load.var)
        if var is not load.var:
            self.instead[load.var.key] = var
        info = self.variables[load.var.key]
        self.variables[load.var.key] = replace(info, kind=kind, element=replace(element, at=index))
        self.named = True
        return True

    def _depth(self, index: Term, around: Sequence[_Home]) -> int | None:
        """The loop that sets an element with this index, 0 if it is fixed; None if no loop can.

        One that is in the index itself has to be set by a loop further out.
        """
        depth = nested = 0
        for var in variables(index):
            if self._is_fixed(var):
                continue
            for level, home in enumerate(around, 1):
                if var.key in home.carries:
                    depth = max(depth, level)
                    break
                if var in home.elements.values():
                    nested = max(nested, level)
                    break
            else:
                return None
        return depth if depth > nested or not nested else None

    def _is_fixed(self, var: Var) -> bool:
        """Whether it is the same number all along, and for each core."""
        return var != self._subblock and self.variables[var.key].kind in (Kind.ARGUMENT, Kind.FIXED)

    @staticmethod
    def _set(code: list[Instruction], home: _Home, leave: int) -> None:
        """Sets the elements of a loop where it sets what it carries: ahead of the first trip, and of each other one."""
        for at in (home.enter - 1, leave - 3) if home.elements else ():
            one = code[at]
            assert isinstance(one, Assign)
            values: Mapping[int, Term] = {var.key: term for var, term in one.pairs}
            pairs = tuple(
                (var, Node(Fn.ELEMENT, (const(argument), substitute(index, values))))
                for (argument, index), var in home.elements.items()
            )
            code[at] = Assign((*one.pairs, *pairs))


def _carried(code: Sequence[Instruction], enter: int) -> frozenset[int]:
    """The numbers that a `for` loop sets ahead of each trip."""
    one = code[enter - 1]
    assert isinstance(one, Assign)
    return frozenset(var.key for var, _ in one.pairs)
