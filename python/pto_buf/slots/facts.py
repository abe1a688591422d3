"""What is known of the atoms at one point of one path: intervals of linear forms and residues of atoms."""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import gcd, lcm

from pto_buf.slots.bounds import Interval, bounds_of
from pto_buf.slots.forms import Atoms
from pto_buf.slots.linear import FloorDiv, Linear, Mod, Other, Product
from pto_buf.slots.spans import EVERYTHING, Horizon, Span
from pto_buf.slots.terms import Fn

Form = tuple[tuple[int, int], ...]
"""Parts of a linear form without a common factor, the first coefficient positive."""

LARGEST_MODULUS = 720
"""Residues are followed up to this modulus; a term that demands more counts as unknown."""


@dataclass(frozen=True)
class Facts:
    """Intervals of forms and residues (modulus, remainder) of atoms. Changing them makes new ones."""

    spans: Mapping[Form, Span]
    residues: Mapping[int, tuple[int, int]]

    @cached_property
    def key(self) -> tuple[frozenset[tuple[Form, Span]], frozenset[tuple[int, tuple[int, int]]]]:
        """Equal for equal facts, and hashable."""
        return frozenset(self.spans.items()), frozenset(self.residues.items())

    @property
    def is_empty(self) -> bool:
        return not self.spans and not self.residues

    def with_span(self, form: Form, span: Span) -> "Facts":
        return Facts({**self.spans, form: span}, self.residues)

    def with_residue(self, atom: int, modulus: int, remainder: int) -> "Facts":
        return Facts(self.spans, {**self.residues, atom: (modulus, remainder)})

    def without(self, atoms: Iterable[int]) -> "Facts":
        """Forgets every fact in which one of these atoms stands."""
        if self.is_empty:
            return self
        gone = set(atoms)
        if not gone:
            return self
        spans = {form: span for form, span in self.spans.items() if not any(atom in gone for atom, _ in form)}
        residues = {atom: residue for atom, residue in self.residues.items() if atom not in gone}
        if len(spans) == len(self.spans) and len(residues) == len(self.residues):
            return self
        return Facts(spans, residues)


NO_FACTS = Facts({}, {})


def normal(form: Linear) -> tuple[Form, int]:
    """The parts without their common factor, and that factor with its sign."""
    factor = gcd(*(coefficient for _, coefficient in form.parts))
    if form.parts[0][1] < 0:
        factor = -factor
    if factor == 1:
        return form.parts, 1
    return tuple((atom, coefficient // factor) for atom, coefficient in form.parts), factor


@dataclass
class Reasoner:
    """Draws conclusions from facts.

    `horizons` says for each form that is compared with numbers where those lie. When facts are normalised, knowledge of
    an interval's end elsewhere is given up, and knowledge of other forms with several atoms; so there are only finitely
    many facts. `horizon` holds for the other atoms. `moduli` says which residues of a leaf its users ask for.
    """

    atoms: Atoms
    horizons: Mapping[Form, Horizon]
    horizon: Horizon
    moduli: Mapping[int, int]
    _normalised: dict[Hashable, Facts] = field(default_factory=dict[Hashable, Facts])

    # --- intervals ---

    def span(self, facts: Facts, form: Linear) -> Span:
        """Numbers that the form can be."""
        return self._span_below(facts, form, len(self.atoms.kinds))

    def _span_below(self, facts: Facts, form: Linear, atom: int) -> Span:
        """The same from facts about atoms made before `atom` alone, among which are all that it is made of.

        So an atom is judged by what it is made of, and that never by the atom.
        """
        if not form.parts:
            return Span(form.const, form.const)
        parts, factor = normal(form)
        return Span(form.const, form.const).plus(self._span(facts, parts, atom), factor)

    def _span(self, facts: Facts, parts: Form, below: int) -> Span:
        found = self._sum(facts, parts)
        if len(parts) > 1:
            for known, span in facts.spans.items():
                if len(known) > 1 and known[-1][0] < below:
                    found = found.meet(self._through(facts, parts, known, span))
        return found

    def _through(self, facts: Facts, parts: Form, known: Form, span: Span) -> Span:
        """The form as a multiple of a known one, and a rest."""
        if known == parts:
            return span
        shared = dict(parts)
        factor = next((shared[atom] * coefficient for atom, coefficient in known if atom in shared), 0)
        if factor == 0:
            return EVERYTHING
        factor = 1 if factor > 0 else -1
        rest = Linear(parts, 0).plus(Linear(known, 0), -factor)
        if len(rest.parts) >= len(parts):
            return EVERYTHING
        return self._sum(facts, rest.parts).plus(span, factor)

    def _sum(self, facts: Facts, parts: Form) -> Span:
        total = Span(0, 0)
        for atom, coefficient in parts:
            total = total.plus(self.span_of(facts, atom), coefficient)
        return total

    def span_of(self, facts: Facts, atom: int) -> Span:
        """Numbers that the atom can be."""
        held = self.atoms.ranges[atom]
        found = Span(held.low, held.high)
        known = facts.spans.get(((atom, 1),))
        if known is not None:
            found = found.meet(known)
        kind = self.atoms.kinds[atom]
        if facts.spans and isinstance(kind, FloorDiv | Mod):
            found = found.meet(self._span_of_division(facts, atom, kind))
        if facts.spans and isinstance(kind, Product | Other):
            left, right = (self._interval_below(facts, side, atom) for side in (kind.left, kind.right))
            held = bounds_of(Fn.MUL if isinstance(kind, Product) else kind.fn, left, right)
            found = found.meet(Span(held.low, held.high))
        return found

    def _interval_below(self, facts: Facts, form: Linear, atom: int) -> Interval:
        span, held = self._span_below(facts, form, atom), self.atoms.range(form)
        return Interval(held.low if span.low is None else span.low, held.high if span.high is None else span.high)

    def _span_of_division(self, facts: Facts, atom: int, kind: FloorDiv | Mod) -> Span:
        inner = self._span_below(facts, kind.form, atom)
        if isinstance(kind, FloorDiv):
            low = None if inner.low is None else inner.low // kind.divisor
            return Span(low, None if inner.high is None else inner.high // kind.divisor)
        if inner.low is None or inner.high is None or inner.low // kind.divisor != inner.high // kind.divisor:
            return EVERYTHING
        return Span(inner.low % kind.divisor, inner.high % kind.divisor)

    # --- assumptions ---

    def assume(self, facts: Facts, form: Linear, low: int | None, high: int | None) -> Facts | None:
        """The facts on paths where low <= form <= high; None if there is none."""
        if not form.parts:
            return None if Span(form.const, form.const).meet(Span(low, high)).is_empty else facts
        parts, factor = normal(form)
        if factor < 0:
            low, high = (None if high is None else -high), (None if low is None else -low)
        shift = form.const if factor > 0 else -form.const
        size = abs(factor)
        wanted = Span(
            None if low is None else -((shift - low) // size),
            None if high is None else (high - shift) // size,
        )
        before = self._span(facts, parts, len(self.atoms.kinds))
        after = before.meet(wanted)
        if after.is_empty:
            return None
        if after == before:
            return facts
        return self._narrow(facts, parts, after)

    def _narrow(self, facts: Facts, parts: Form, span: Span) -> Facts | None:
        """Says that the form is within `span`, and what follows for the atoms it meets there or in other forms."""
        if len(parts) > 1:
            return self._passed_on(facts.with_span(parts, span), parts)
        atom = next(atom for atom, _ in parts)
        found = self._narrow_atom(facts, atom, span)
        for form in facts.spans:
            if found is not None and len(form) > 1 and any(other == atom for other, _ in form):
                found = self._passed_on(found, form)
        return found

    def _passed_on(self, facts: Facts, form: Form) -> Facts | None:
        """What the span of a form says of each of its atoms."""
        found, span = facts, facts.spans[form]
        for atom, coefficient in form:
            others = self._sum(found, tuple(part for part in form if part[0] != atom))
            rest = span.plus(others, -1).times(1 if coefficient > 0 else -1)
            size = abs(coefficient)
            wanted = Span(
                None if rest.low is None else -(-rest.low // size), None if rest.high is None else rest.high // size
            )
            before = self.span_of(found, atom)
            after = before.meet(wanted)
            if after.is_empty:
                return None
            if after != before:
                narrowed = self._narrow_atom(found, atom, after)
                if narrowed is None:
                    return None
                found = narrowed
        return found

    def _narrow_atom(self, facts: Facts, atom: int, span: Span) -> Facts | None:
        low, high = span.low, span.high
        modulus, remainder = facts.residues.get(atom, (1, 0))
        if low is not None:
            low += (remainder - low) % modulus
        if high is not None:
            high -= (high - remainder) % modulus
        if low is not None and high is not None and low > high:
            return None
        return facts.with_span(((atom, 1),), Span(low, high))

    def assume_residue(self, facts: Facts, atom: int, modulus: int, remainder: int) -> Facts | None:
        """The facts on paths where the atom is `remainder` modulo `modulus`; None if there is none."""
        known_modulus, known = facts.residues.get(atom, (1, 0))
        common, shared = lcm(known_modulus, modulus), gcd(known_modulus, modulus)
        if (remainder - known) % shared:
            return None
        rest = modulus // shared
        agreed = known + known_modulus * ((remainder - known) // shared * pow(known_modulus // shared, -1, rest) % rest)
        span = self.span_of(facts, atom)
        if span.point is not None:
            return facts if span.point % common == agreed else None
        return self._narrow_atom(facts.with_residue(atom, common, agreed), atom, span)

    def residues(self, facts: Facts, atom: int, modulus: int) -> Iterator[tuple[int, Facts]]:
        """Each remainder modulo `modulus` that a leaf can have, with the facts on the paths where it has it."""
        span = self.span_of(facts, atom)
        if span.point is not None:
            yield span.point % modulus, facts
            return
        known_modulus, known = facts.residues.get(atom, (1, 0))
        if known_modulus % modulus == 0:
            yield known % modulus, facts
            return
        common = lcm(known_modulus, modulus, self.moduli.get(atom, 1))
        if common > LARGEST_MODULUS:
            common = lcm(known_modulus, modulus)
        for remainder in range(known, common, known_modulus):
            found = self.assume_residue(facts, atom, common, remainder)
            if found is not None:
                yield remainder % modulus, found

    # --- change ---

    def stepped(self, facts: Facts, atom: int, amount: int) -> Facts:
        """The facts after `atom` has grown by `amount`. What is made of it otherwise is forgotten."""
        if facts.is_empty:
            return facts
        spans: dict[Form, Span] = {}
        for form, span in facts.spans.items():
            if any(other != atom and atom in self.atoms.leaves[other] for other, _ in form):
                continue
            coefficient = next((c for other, c in form if other == atom), 0)
            now = self.span_of(facts, atom) if form == ((atom, 1),) else span
            spans[form] = now.plus(Span(amount, amount), coefficient)
        residues = {
            other: ((residue[0], (residue[1] + amount) % residue[0]) if other == atom else residue)
            for other, residue in facts.residues.items()
            if other == atom or atom not in self.atoms.leaves[other]
        }
        return Facts(spans, residues)

    def normalised(self, facts: Facts) -> Facts:
        """The facts without what lies beyond the horizon; the residue that a leaf's users ask for is kept."""
        if facts.is_empty:
            return facts
        if facts.key not in self._normalised:
            self._normalised[facts.key] = self._normal(facts)
        return self._normalised[facts.key]

    def _normal(self, facts: Facts) -> Facts:
        spans: dict[Form, Span] = {}
        residues = dict(facts.residues)
        for form, span in facts.spans.items():
            if len(form) > 1 and form not in self.horizons:
                continue
            horizon = self.horizons.get(form, self.horizon)
            point = span.point
            kept = horizon.clamped(span)
            if len(form) == 1:
                ((atom, _),) = form
                held = Span(self.atoms.ranges[atom].low, self.atoms.ranges[atom].high)
                kept = horizon.clamped(span.meet(held))
                if kept == horizon.clamped(held) and kept.point is None:
                    kept = EVERYTHING
                if kept.point is not None:
                    residues.pop(atom, None)
                elif point is not None and self.moduli.get(atom, 1) > 1:
                    residues[atom] = (self.moduli[atom], point % self.moduli[atom])
            if kept != EVERYTHING:
                spans[form] = kept
        return Facts(spans, residues)

    def eliminated(self, facts: Facts, atom: int) -> Facts | None:
        """The facts about all else once `atom` is gone: what they said through it is kept where it can be said."""
        containing = [(form, span) for form, span in facts.spans.items() if any(other == atom for other, _ in form)]
        modulus, remainder = facts.residues.get(atom, (1, 0))
        own = self.span_of(facts, atom)
        wanted = self.moduli.get(atom, 1)
        if own.point is not None and wanted > 1:
            modulus, remainder = wanted, own.point % wanted
        found: Facts | None = facts.without([atom, *self._made_of(facts, atom)])
        for form, span in containing:
            if len(form) == 1 or found is None:
                continue
            rest = Linear(form, 0).without(atom)
            coefficient = Linear(form, 0).coefficient(atom)
            held = span.plus(own, -coefficient)
            found = self.assume(found, rest, held.low, held.high)
            if found is not None and span.point is not None and abs(coefficient) == 1 and modulus > 1:
                found = self._same_residue(found, rest, span.point - coefficient * remainder, modulus)
        if found is None:
            return None
        equal = next((f for f, s in containing if len(f) > 1 and s.point is not None and _has_unit(f, atom)), None)
        if equal is not None:
            found = self._substituted(facts, found, atom, equal, containing)
        return found

    def _made_of(self, facts: Facts, atom: int) -> Iterator[int]:
        """Atoms in the facts that depend on `atom`."""
        for form in facts.spans:
            for other, _ in form:
                if other != atom and atom in self.atoms.leaves[other]:
                    yield other

    def _same_residue(self, facts: Facts, rest: Linear, total: int, modulus: int) -> Facts | None:
        """`rest` is `total` modulo `modulus`: said of the one atom whose residue is not known yet, if it is one."""
        unknown: tuple[int, int] | None = None
        for atom, coefficient in rest.parts:
            known = next(iter(self._known_residue(facts, atom, modulus)), None)
            if known is not None:
                total -= coefficient * known
            elif unknown is None:
                unknown = (atom, coefficient)
            else:
                return facts
        if unknown is None:
            return facts if total % modulus == 0 else None
        atom, coefficient = unknown
        if abs(coefficient) != 1 or lcm(facts.residues.get(atom, (1, 0))[0], modulus) > LARGEST_MODULUS:
            return facts
        return self.assume_residue(facts, atom, modulus, total * coefficient)

    def _known_residue(self, facts: Facts, atom: int, modulus: int) -> Iterator[int]:
        point = self.span_of(facts, atom).point
        known_modulus, known = facts.residues.get(atom, (1, 0))
        if point is not None:
            yield point % modulus
        elif known_modulus % modulus == 0:
            yield known % modulus

    def _substituted(
        self, facts: Facts, found: Facts, atom: int, equal: Form, containing: list[tuple[Form, Span]]
    ) -> Facts | None:
        """Rewrites the other facts about `atom` with what it equals by the form `equal`."""
        sign = Linear(equal, 0).coefficient(atom)
        point = facts.spans[equal].point
        assert point is not None
        value = Linear(equal, -point).without(atom).times(-sign)
        result: Facts | None = found
        for form, span in containing:
            if form == equal or result is None:
                continue
            rest = Linear(form, 0).without(atom).plus(value, Linear(form, 0).coefficient(atom))
            result = self.assume(result, rest, span.low, span.high)
        return result


def _has_unit(form: Form, atom: int) -> bool:
    return any(other == atom and abs(coefficient) == 1 for other, coefficient in form)
