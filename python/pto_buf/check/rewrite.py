"""Replaces every term of a program. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

from pto_buf.check.program import (
    Assign,
    Await,
    Branch,
    Code,
    Element,
    Enter,
    Fresh,
    Instruction,
    Kind,
    Leave,
    Local,
    Lock,
    Loop,
    Next,
    Program,
    Run,
    SetFlag,
    Signal,
    Touch,
    WaitFlag,
    Within,
)
from pto_buf.check.terms import Term, const, substitute

Rewrite: TypeAlias = Callable[[Term], Term]


class Rewriter:
    """`term` is applied to every term, `end` to a loop's upper bound."""

    def __init__(self, term: Rewrite, end: Callable[[Loop], Term] | None = None):
        self._term = term
        self._end = end
        self._loops: dict[int, Loop] = {}

    def code(self, code: Code) -> Code:
        return replace(code, instructions=tuple(self._instruction(one) for one in code.instructions))

    def _instruction(self, one: Instruction) -> Instruction:
        term = self._term
        match one:
            case Branch():
                loop = None if one.loop is None else self._loop(one.loop)
                return replace(one, condition=term(one.condition), loop=loop)
            case SetFlag() | WaitFlag() | Lock() | Signal() | Await() | Within():
                lane = term(one.lane)
                return one if lane is one.lane else replace(one, lane=lane)
            case Assign():
                return Assign(tuple((var, term(value)) for var, value in one.pairs))
            case Run():
                touches = tuple(self._touch(touch) for touch in one.touches)
                same = all(new is old for new, old in zip(touches, one.touches, strict=True))
                return one if same else replace(one, touches=touches)
            case Fresh(element=Element() as element):
                return replace(one, element=replace(element, at=tuple(map(term, element.at))))
            case Enter() | Next() | Leave():
                return replace(one, loop=self._loop(one.loop))
            case _:
                return one

    def _loop(self, loop: Loop) -> Loop:
        if loop.lower is None or loop.upper is None or loop.step is None:
            return loop
        if loop.key not in self._loops:
            upper = self._term(loop.upper) if self._end is None else self._end(loop)
            self._loops[loop.key] = replace(loop, lower=self._term(loop.lower), upper=upper, step=self._term(loop.step))
        return self._loops[loop.key]

    def _touch(self, touch: Touch) -> Touch:
        where = touch.where
        if isinstance(where, Local):
            address = self._term(where.address)
            return touch if address is where.address else replace(touch, where=replace(where, address=address))
        old = where.base, where.shape, where.strides, where.offsets, where.extents
        base, shape, strides, offsets, extents = self._term(old[0]), *(self._all(terms) for terms in old[1:])
        if (base, shape, strides, offsets, extents) == old:
            return touch
        moved = replace(where, base=base, shape=shape, strides=strides, offsets=offsets, extents=extents)
        return replace(touch, where=moved)

    def _all(self, terms: tuple[Term, ...]) -> tuple[Term, ...]:
        return tuple(self._term(term) for term in terms)


def with_values(program: Program, values: Mapping[int, int]) -> Program:
    """The program with some of its arguments, by key, given."""
    if not values:
        return program
    by: dict[int, Term] = {key: const(value) for key, value in values.items()}
    rewriter = Rewriter(lambda term: substitute(term, by))
    infos = tuple(replace(info, kind=Kind.CARRIED) if info.var.key in by else info for info in program.variables)
    return replace(program, variables=infos, codes=tuple(rewriter.code(code) for code in program.codes))
