"""Small numbers with which linear forms are 0 or more."""

from collections.abc import Iterator, Mapping, Sequence

from pto_buf.slots.forms import Atoms
from pto_buf.slots.linear import FloorDiv, Linear, Mod

_MOST_TRIED = 64


def least(atoms: Atoms, wanted: Sequence[Linear]) -> Mapping[int, int] | None:
    """Values of atoms with which each of the forms is 0 or more; None if few trials find none.

    All atoms start next to 0. Then, form by form, one is raised by as much as the form lacks.
    """
    return _Solver(atoms, wanted).go()


class _Solver:
    def __init__(self, atoms: Atoms, wanted: Sequence[Linear]):
        self._atoms = atoms
        below = dict.fromkeys(atom for form in wanted for atom in atoms.below(form))
        self._wanted = [*wanted, *(form for atom in below for form in self._implied(atom))]
        self._start: dict[int, int] = {}
        for atom in sorted({atom for form in self._wanted for atom, _ in form.parts}):
            held = atoms.ranges[atom]
            self._start[atom] = min(max(0, held.low), held.high)
        self._tried = 0

    def go(self) -> Mapping[int, int] | None:
        return self._raised(self._start)

    def _implied(self, atom: int) -> Iterator[Linear]:
        """What a quotient or a remainder has to do with the number that is divided."""
        kind, form = self._atoms.kinds[atom], Linear(((atom, 1),), 0)
        if isinstance(kind, FloorDiv):
            rest = kind.form - form.times(kind.divisor)
            yield from (rest, rest.times(-1).shifted(kind.divisor - 1))
        elif isinstance(kind, Mod):
            whole = self._atoms.floor_div(kind.form, kind.divisor).times(kind.divisor)
            yield from (kind.form - whole - form, form - kind.form + whole)

    def _raised(self, values: dict[int, int]) -> dict[int, int] | None:
        self._tried += 1
        if self._tried > _MOST_TRIED:
            return None
        for form in self._wanted:
            lacking = -(form.const + sum(coefficient * values[atom] for atom, coefficient in form.parts))
            if lacking > 0:
                return self._supplied(form, lacking, values)
        return values

    def _supplied(self, form: Linear, lacking: int, values: dict[int, int]) -> dict[int, int] | None:
        helpful = [(coefficient, atom) for atom, coefficient in form.parts if coefficient > 0]
        for coefficient, atom in sorted(helpful):
            value = values[atom] - (-lacking // coefficient)
            if value <= self._atoms.ranges[atom].high:
                found = self._raised({**values, atom: value})
                if found is not None:
                    return found
        return None
