"""Elements of tables, such as arrays that a kernel only reads: one element is one number, for every core. Pure.

A run looks them up by table and index. A proof has a variable for each element that the kernel names: one that is fixed
for the whole run, or else one that the last loop whose numbers are in the index sets wherever it sets these. So loops
that run alike on several cores carry their elements alike as well. An index is made of other elements too, and of what
branches choose, by their conditions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pto_buf.check.guards import arms_of
from pto_buf.check.program import (
    Assign,
    Branch,
    Code,
    Element,
    Enter,
    Fresh,
    Instruction,
    Jump,
    Kind,
    Leave,
    Program,
    VarInfo,
)
from pto_buf.check.rewrite import Rewriter
from pto_buf.check.terms import Fn, Node, Sum, Term, Var, apply, const, substitute, variables

_LARGEST = 200
"""Operators and variables of an index, all that it is made of spelt out."""

_Key = tuple[int, tuple[Term, ...]]
"""A table and an index."""


def with_elements(program: Program) -> tuple[Program, Mapping[int, Term]]:
    """The program with variables for elements instead of loads, as far as loops set what their indices are made of.

    And what variables that branches choose are, by key, over such as are fixed or set by loops.
    """
    namer = _Namer(program)
    codes = [namer.code(code) for code in program.codes]
    if not namer.named:
        return program, namer.meaning
    instead = namer.instead
    rewriter = Rewriter(lambda term: substitute(term, instead))
    named = replace(program, variables=tuple(namer.variables), codes=tuple(rewriter.code(code) for code in codes))
    return named, namer.meaning


@dataclass
class _Home:
    """A loop: the instructions that assign what it carries, and the elements that it sets there, in this order.

    `level`: of the loops whose numbers can be in an index somewhere, in order, the how manieth it is. A `while` loop is
    two of them, since it carries numbers to its condition, and on to its trip.
    """

    level: int
    places: tuple[int, ...]
    elements: dict[_Key, Var] = field(default_factory=dict[_Key, Var])


@dataclass(frozen=True)
class _Choice:
    """A branch that is no loop's: its condition, its arms, and the loops before it."""

    condition: Term
    arms: tuple[range, range]
    loops: int


class _Namer:
    """`instead`: by key, for a variable that would hold the same element as another one, that one."""

    def __init__(self, program: Program):
        self.variables: list[VarInfo] = list(program.variables)
        self.instead: dict[int, Term] = {}
        self.named = False
        self._fixed: dict[_Key, Var] = {}
        self.meaning: dict[int, Term] = {}
        """What a variable is over those that are fixed or set by loops, wherever it is in scope."""
        self._home_of: dict[int, _Home] = {}
        self._homes: list[_Home] = []
        """The loops around and before."""
        self._size_of: dict[int, int] = {}
        """Of the elements that variables are."""

    def code(self, code: Code) -> Code:
        found = list(code.instructions)
        assigned = _times_assigned(found)
        homes: list[_Home] = []
        entered: list[int] = []
        choices: list[_Choice] = []
        self._homes = []
        for at, one in enumerate(code.instructions):
            while choices and choices[-1].arms[1].stop == at:
                self._choose(code.instructions, choices.pop(), assigned)
            if choices and choices[-1].arms[1].start == at:
                del self._homes[choices[-1].loops :]
            match one:
                case Enter():
                    entered.append(len(self._homes))
                    homes.append(self._enter(found, at - 1))
                case Branch(loop=None):
                    condition = substitute(one.condition, self.meaning)
                    choices.append(_Choice(condition, arms_of(code.instructions, at), len(self._homes)))
                case Branch() if one.loop is not None and one.loop.counter is None:
                    del self._homes[entered[-1] + 1 :]
                    homes.append(self._enter(found, at - 1))
                case Leave():
                    own = 1 if one.loop.counter is not None else 2
                    del self._homes[entered.pop() + own :]
                case Fresh(element=Element() as element) if self._name(one.var, element):
                    found[at] = Assign(())
                case _:
                    pass
        for home in homes:
            self._set(found, home)
        return replace(code, instructions=tuple(found))

    # --- loops and branches ---

    def _enter(self, code: Sequence[Instruction], first: int) -> _Home:
        """A loop that first assigns what it carries there, from here on."""
        home = _Home(len(self._homes), _places(code, first))
        self._homes.append(home)
        for var, _ in _pairs(code, first):
            self._home_of[var.key] = home
        return home

    def _choose(self, code: Sequence[Instruction], choice: _Choice, assigned: dict[int, int]) -> None:
        """Behind a branch: what its arms assign last is what the condition chooses."""
        del self._homes[choice.loops :]
        arms = choice.arms
        if not isinstance(code[arms[0].stop - 1], Jump):
            return
        last, other = code[arms[0].stop - 2], code[arms[1].stop - 1]
        if not isinstance(last, Assign) or not isinstance(other, Assign):
            return
        no = dict(other.pairs)
        for var, term in last.pairs:
            if var in no and assigned[var.key] == 2:
                ways = [substitute(way, self.meaning) for way in (term, no[var])]
                meaning = apply(Fn.SELECT, choice.condition, *ways)
                if self._level(meaning) is not None and self._size(meaning) <= _LARGEST:
                    self.meaning[var.key] = meaning

    # --- elements ---

    def _name(self, own: Var, element: Element) -> bool:
        """Whether the variable holds the element from now on without a load."""
        index = tuple(substitute(term, self.meaning) for term in element.at)
        levels = [self._level(term) for term in index]
        size = 1 + sum(map(self._size, index))
        if None in levels or size > _LARGEST:
            return False
        level = max((level for level in levels if level is not None), default=0)
        home = self._homes[level - 1] if level else None
        named, kind = (self._fixed, Kind.FIXED) if home is None else (home.elements, Kind.CARRIED)
        var = named.setdefault((element.table, index), own)
        if var is own:
            self._size_of[var.key] = size
            if home is not None:
                self._home_of[var.key] = home
        else:
            self.instead[own.key] = self.meaning[own.key] = var
        self.variables[own.key] = replace(self.variables[own.key], kind=kind, element=replace(element, at=index))
        self.named = True
        return True

    def _level(self, term: Term) -> int | None:
        """The last loop, from 1, that sets something in the term; 0 if it is fixed; None if something else sets it."""
        level = 0
        for var in variables(term):
            if self.variables[var.key].kind in (Kind.ARGUMENT, Kind.FIXED):
                continue
            home = self._home_of.get(var.key)
            if home is None or home.level >= len(self._homes) or self._homes[home.level] is not home:
                return None
            level = max(level, home.level + 1)
        return level

    def _size(self, term: Term) -> int:
        if isinstance(term, Var):
            return self._size_of.get(term.key, 1)
        parts = [atom for atom, _ in term.parts] if isinstance(term, Sum) else term.args
        return 1 + sum(map(self._size, parts))

    def _width(self, var: Var) -> int:
        return 1 if self.variables[var.key].boolean else 64

    def _set(self, code: list[Instruction], home: _Home) -> None:
        for at in home.places if home.elements else ():
            pairs = _pairs(code, at)
            values = {var.key: substitute(term, self.meaning) for var, term in pairs}
            more: list[tuple[Var, Term]] = []
            for (table, index), var in home.elements.items():
                at_values = [substitute(term, values) for term in index]
                values[var.key] = Node(Fn.ELEMENT, (const(table), *at_values), self._width(var))
                more.append((var, values[var.key]))
            code[at] = Assign((*pairs, *more))


def _pairs(code: Sequence[Instruction], at: int) -> tuple[tuple[Var, Term], ...]:
    one = code[at]
    assert isinstance(one, Assign)
    return one.pairs


def _places(code: Sequence[Instruction], first: int) -> tuple[int, ...]:
    """Where a loop assigns what it first assigns there: what a `while` loop passes on, nowhere else."""
    if not isinstance(code[first + 1], Enter):
        return (first,)
    head = next(at for at in range(first, len(code)) if _decides(code[at], code[first + 1]))
    branch = code[head]
    assert isinstance(branch, Branch)
    return first, branch.otherwise - 3


def _decides(one: Instruction, enter: Instruction) -> bool:
    return isinstance(one, Branch) and isinstance(enter, Enter) and one.loop == enter.loop


def _times_assigned(code: Sequence[Instruction]) -> dict[int, int]:
    found: dict[int, int] = {}
    for one in code:
        for var, _ in one.pairs if isinstance(one, Assign) else ():
            found[var.key] = found.get(var.key, 0) + 1
    return found
