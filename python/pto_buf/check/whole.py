"""The cores of a block as one code: what each does, one behind the other, with variables of its own. Pure."""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pto_buf.check.program import (
    Assign,
    Branch,
    Code,
    Enter,
    Fresh,
    Instruction,
    Jump,
    Leave,
    Loop,
    Next,
    Program,
    defined,
)
from pto_buf.check.reading.elements import with_elements
from pto_buf.check.rewrite import Rewriter
from pto_buf.check.runs.run import VECTOR_CORES
from pto_buf.check.terms import Term, Var, const, substitute
from pto_buf.hw import Core


@dataclass(frozen=True)
class Whole:
    """Core number k starts at `starts[k]` and is of kind `kinds[k]`; the code is that of all of them in a row.

    `meaning`: what variables that branches choose are, by key, over others. `in_step`: so many loops that run alike on
    several cores have been joined, see `joint`.
    """

    program: Program
    code: Code
    starts: tuple[int, ...]
    kinds: tuple[Core | None, ...]
    meaning: Mapping[int, Term] = field(default_factory=dict[int, Term])
    in_step: int = 0

    def core_of(self, at: int) -> int:
        """The core that does instruction number `at`."""
        return bisect_right(self.starts, at) - 1


def one_core(program: Program, number: int = 0) -> Whole:
    """One of the codes by itself."""
    code = program.codes[number]
    return _named(replace(program, codes=(code,)), (0,), (code.core,))


def whole_block(program: Program) -> Whole:
    """The cube core and the vector cores of a mixed kernel: two of these if the program asks which one it is."""
    return _Merger(program).merge()


def _named(program: Program, starts: tuple[int, ...], kinds: tuple[Core | None, ...]) -> Whole:
    program, meaning = with_elements(program)
    return Whole(program, program.codes[0], starts, kinds, meaning)


class _Merger:
    def __init__(self, program: Program):
        self._program = program
        self._variables = list(program.variables)
        self._loops = 0
        self._instructions: list[Instruction] = []

    def merge(self) -> Whole:
        program = self._program
        vectors = VECTOR_CORES if program.counts_vector_cores else 1
        starts: list[int] = []
        kinds: list[Core | None] = []
        for code in program.codes:
            for number in range(vectors if code.core is Core.VECTOR else 1):
                starts.append(len(self._instructions))
                kinds.append(code.core)
                self._add(code, number, vectors)
        code = Code(None, tuple(self._instructions))
        merged = replace(program, variables=tuple(self._variables), codes=(code,))
        return _named(merged, tuple(starts), tuple(kinds))

    def _add(self, code: Code, number: int, vectors: int) -> None:
        program = self._program
        own = {var.key: var for one in code.instructions for var in defined(one)}
        names = {key: self._copy(var, number) if number else var for key, var in own.items()}
        by: dict[int, Term] = dict(names)
        for var, value in ((program.subblock, number), (program.subblocks, vectors)):
            if var is not None and code.core is Core.VECTOR:
                by[var.key] = const(value)
        rewritten = Rewriter(lambda term: substitute(term, by)).code(code)
        shift, loops = len(self._instructions), self._loops
        for one in rewritten.instructions:
            self._instructions.append(_moved(one, shift, loops, names))
        self._loops += 1 + max((one.loop.key for one in code.instructions if isinstance(one, Enter)), default=-1)

    def _copy(self, var: Var, number: int) -> Var:
        copy = Var(len(self._variables), f"{var.name} of vector core {number}")
        self._variables.append(replace(self._program.variables[var.key], var=copy))
        return copy


def _moved(one: Instruction, shift: int, loops: int, names: Mapping[int, Var]) -> Instruction:
    """The instruction `shift` further down, its variables renamed."""

    def renamed(loop: Loop) -> Loop:
        counter = None if loop.counter is None else names[loop.counter.key]
        return replace(loop, key=loop.key + loops, counter=counter)

    match one:
        case Assign():
            return Assign(tuple((names[var.key], term) for var, term in one.pairs))
        case Fresh():
            return replace(one, var=names[one.var.key])
        case Branch():
            loop = None if one.loop is None else renamed(one.loop)
            return replace(one, otherwise=one.otherwise + shift, loop=loop)
        case Jump():
            return Jump(one.target + shift)
        case Enter() | Next() | Leave():
            return replace(one, loop=renamed(one.loop))
        case _:
            return one
