"""Linear forms over numbered atoms, and the kinds of atoms. Forms are over all integers, without wrap-around."""

from dataclasses import dataclass
from typing import TypeAlias

from pto_buf.slots.terms import Fn, Opaque, Var


@dataclass(frozen=True, slots=True)
class Linear:
    """The sum of coefficient x atom over `parts` (sorted by atom, no coefficient 0), plus `const`."""

    parts: tuple[tuple[int, int], ...]
    const: int

    def __add__(self, other: "Linear") -> "Linear":
        return self.plus(other, 1)

    def __sub__(self, other: "Linear") -> "Linear":
        return self.plus(other, -1)

    def plus(self, other: "Linear", factor: int) -> "Linear":
        if not other.parts:
            return Linear(self.parts, self.const + factor * other.const)
        total = dict(self.parts)
        for atom, coefficient in other.parts:
            total[atom] = total.get(atom, 0) + factor * coefficient
        return Linear(tuple(sorted(part for part in total.items() if part[1])), self.const + factor * other.const)

    def times(self, factor: int) -> "Linear":
        if factor == 0:
            return Linear((), 0)
        return Linear(tuple((atom, coefficient * factor) for atom, coefficient in self.parts), self.const * factor)

    def shifted(self, amount: int) -> "Linear":
        return Linear(self.parts, self.const + amount)

    def without(self, atom: int) -> "Linear":
        return Linear(tuple(part for part in self.parts if part[0] != atom), self.const)

    def coefficient(self, atom: int) -> int:
        return next((coefficient for other, coefficient in self.parts if other == atom), 0)


def constant(value: int) -> Linear:
    return Linear((), value)


@dataclass(frozen=True)
class Leaf:
    """Something that is just a number: `what` says which."""

    what: Var | Opaque | str


@dataclass(frozen=True)
class Quotient(Leaf):
    """The number divided by what the program divides it by, rounded down."""


@dataclass(frozen=True)
class Rest(Leaf):
    """What that division leaves: one of few numbers, which are told apart where it is compared."""


@dataclass(frozen=True)
class FloorDiv:
    form: Linear
    divisor: int


@dataclass(frozen=True)
class Mod:
    """The remainder within [0, divisor)."""

    form: Linear
    divisor: int


@dataclass(frozen=True)
class NotPositive:
    """1 where the form is 0 or less, else 0."""

    form: Linear


@dataclass(frozen=True)
class IsZero:
    """1 where the form is 0, else 0."""

    form: Linear


@dataclass(frozen=True)
class Choice:
    """`if_true` where the condition is not 0, else `if_false`."""

    condition: Linear
    if_true: Linear
    if_false: Linear


@dataclass(frozen=True)
class Product:
    left: Linear
    right: Linear


@dataclass(frozen=True)
class Other:
    """An operator of which only intervals are known."""

    fn: Fn
    left: Linear
    right: Linear


Atom: TypeAlias = Leaf | FloorDiv | Mod | NotPositive | IsZero | Choice | Product | Other
