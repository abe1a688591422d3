"""Operations of which nothing is known but what they are made of, as tables of their results."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import Attribute, BlockArgument, OpResult, SSAValue

from pto_buf.check.program import Element
from pto_buf.check.reading.numbers import width_of
from pto_buf.check.terms import Term

_ITSELF = 0
"""Instead of a table: the number itself. Those of operations are below."""


@dataclass(frozen=True)
class _Made:
    """What a table holds at some numbers, each of these once."""

    table: int
    at: tuple[Term, ...]


class Operations:
    """What is made in the same way of equal integers is the same, wherever that is. `terms` are the builder's."""

    def __init__(self, terms: Mapping[SSAValue, Term]):
        self._terms = terms
        self._tables: dict[Hashable, int] = {}
        self._made: dict[SSAValue, _Made] = {}

    def argument(self, value: BlockArgument) -> None:
        """An argument of the function that is no integer: the same all along."""
        self._made[value] = _Made(self._table(("argument", value.index)), ())

    def define(self, result: OpResult) -> Element | None:
        """Of pure arithmetic on integers, constants, and arguments of the function; None if it is of anything else."""
        parts: list[Hashable] = []
        at: dict[Term, int] = {}
        for operand in result.op.operands:
            made = self._operand(operand)
            if made is None:
                self._made.pop(result, None)
                return None
            parts.append((operand.type, made.table, tuple(at.setdefault(term, len(at)) for term in made.at)))
        op = result.op
        how = op.name, result.index, result.type, tuple(op.properties.items()), tuple(op.attributes.items())
        made = self._made[result] = _Made(self._table((*how, *parts)), tuple(at))
        return Element(made.table, op.name, made.at)

    def _operand(self, value: SSAValue) -> _Made | None:
        if value in self._terms:
            return _Made(_ITSELF, (self._terms[value],))
        return self._made.get(value)

    def _table(self, how: Hashable) -> int:
        return self._tables.setdefault(how, -1 - len(self._tables))


def is_scalar(type: Attribute) -> bool:
    """Whether it is a number, an integer or a float."""
    return width_of(type) is not None or isinstance(type, AnyFloat)
