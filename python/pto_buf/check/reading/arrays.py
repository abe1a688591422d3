"""Small arrays on the stack of the scalar unit, as one variable for each element."""

from collections.abc import Callable, MutableMapping

from xdsl.ir import Operation, SSAValue

from pto_buf.check.program import Assign, Fresh, Instruction, Site, Within
from pto_buf.check.terms import Fn, Term, Var, apply, const, constant_of, equal
from pto_buf.dialect.opaque_types import EventIdArrayType
from pto_buf.dialect.scalars import DeclareEventIdArrayOp, EventIdArrayGetOp, EventIdArraySetOp
from pto_buf.errors import DiagnosticError
from pto_buf.source import place_of


class Arrays:
    """`make` makes a variable for an op. What an element holds before it is set is anything."""

    def __init__(self, terms: MutableMapping[SSAValue, Term], make: Callable[[Operation, str], Var]):
        self._terms = terms
        self._make = make
        self._elements: dict[SSAValue, tuple[Var, ...]] = {}

    def visit(self, op: Operation, site: Site) -> list[Instruction] | None:
        """What the op does; None if it is none of these."""
        match op:
            case DeclareEventIdArrayOp():
                assert isinstance(op.array.type, EventIdArrayType)
                elements = tuple(self._make(op, f"id{number}") for number in range(op.array.type.data))
                self._elements[op.array] = elements
                return [Fresh(site, element) for element in elements]
            case EventIdArrayGetOp():
                # A copy: the element may be set again before the value is used.
                got = self._make(op, op.value.name_hint or "id")
                self._terms[op.value] = got
                elements, index = self._elements_of(op.array, op.index, op), self._terms[op.index]
                return [_inside(site, elements, index), Assign(((got, _element(elements, index)),))]
            case EventIdArraySetOp():
                elements = self._elements_of(op.array, op.index, op)
                index = self._terms[op.index]
                return [_inside(site, elements, index), _stored(elements, index, self._terms[op.value])]
            case _:
                return None

    def _elements_of(self, array: SSAValue, index: SSAValue, op: Operation) -> tuple[Var, ...]:
        """Raises DiagnosticError for an index that is known to lie outside."""
        elements, known = self._elements[array], constant_of(self._terms[index])
        if known is not None and not 0 <= known < len(elements):
            words = f"'{op.name}': index {known} lies outside of an array of {len(elements)}"
            raise DiagnosticError.at(place_of(op), words, kind="unsupported-op")
        return elements


def _inside(site: Site, elements: tuple[Var, ...], index: Term) -> Within:
    return Within(site, "index of an array of event ids", index, len(elements))


def _element(elements: tuple[Var, ...], index: Term) -> Term:
    known = constant_of(index)
    if known is not None:
        return elements[known]
    found: Term = elements[-1]
    for number in range(len(elements) - 2, -1, -1):
        found = apply(Fn.SELECT, equal(index, const(number)), elements[number], found)
    return found


def _stored(elements: tuple[Var, ...], index: Term, value: Term) -> Assign:
    known = constant_of(index)
    if known is not None:
        return Assign(((elements[known], value),))
    pairs = [
        (element, apply(Fn.SELECT, equal(index, const(number)), value, element))
        for number, element in enumerate(elements)
    ]
    return Assign(tuple(pairs))
