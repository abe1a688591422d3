"""What the terms of a program ask about: which polynomials are compared with what. Pure."""

from collections.abc import Iterator, Mapping

from pto_buf.check.facts.poly import (
    Form,
    Poly,
    constant,
    form_poly,
    form_variables,
    plus,
    replaced,
    split,
    times,
    variable,
)
from pto_buf.check.operators import compared_quotients, divisor_of, modulus_of
from pto_buf.check.program import (
    Assign,
    Await,
    Branch,
    Code,
    Enter,
    Instruction,
    Kind,
    Local,
    Lock,
    Loop,
    Program,
    Run,
    SetFlag,
    Signal,
    WaitFlag,
    Window,
    Within,
)
from pto_buf.check.terms import Fn, Node, Sum, Term, Var, as_sum, constant_of, variables
from pto_buf.check.whole import Whole

_MOST_FORMS = 400
_MOST_ALTERNATIVES = 16
_APART = (-4, 4)
_EXACT = (-1, 17)
"""How far a number that selects a slot or a flag is followed exactly."""
_MOST_EXACT = 63
"""How far one is that is divided first."""


def alternatives(term: Term) -> tuple[Poly, ...]:
    """The polynomials that the value can turn out to be, choices left open; nothing if there is another way."""
    if isinstance(term, Var):
        return (variable(term.key),)
    if isinstance(term, Sum):
        found = [constant(term.const)]
        for atom, factor in term.parts:
            found = [plus(one, part, factor) for one in found for part in alternatives(atom)]
            if len(found) > _MOST_ALTERNATIVES:
                return ()
        return tuple(found)
    match term.fn:
        case Fn.MUL:
            pairs = [times(a, b) for a in alternatives(term.args[0]) for b in alternatives(term.args[1])]
            return tuple(pairs) if len(pairs) <= _MOST_ALTERNATIVES else ()
        case Fn.MINS | Fn.MAXS:
            return (*alternatives(term.args[0]), *alternatives(term.args[1]))
        case Fn.SELECT:
            return (*alternatives(term.args[1]), *alternatives(term.args[2]))
        case Fn.TRUNC | Fn.ZEXT:
            return alternatives(term.args[0])
        case _:
            return _loose(term)


def _loose(term: Node) -> tuple[Poly, ...]:
    """Of an operator with few values, each of them."""
    modulus, divisor = modulus_of(term), divisor_of(term)
    if divisor is not None:
        inner = alternatives(term.args[0])
        numbers = [poly.const // divisor for poly in inner if poly.exact is not None]
        return tuple(map(constant, dict.fromkeys(numbers))) if len(numbers) == len(inner) else ()
    return tuple(constant(value) for value in range(modulus)) if modulus and modulus <= _MOST_ALTERNATIVES else ()


class Forms:
    """Collects the polynomials to follow, and between which values each has to be exact."""

    def __init__(self, ends: Mapping[int, tuple[int, int]]) -> None:
        self._ends = ends
        """The lowest and highest value of the variables that have few."""
        self.bounds: dict[Form, tuple[int, int]] = {}
        self.changes: dict[int, list[Poly]] = {}
        """What each variable may be replaced by."""
        self.reached: dict[Form, list[Poly]] = {}
        """What the end of a loop is equal to when the loop is left, in terms of the counter."""
        self._closed: dict[Form, tuple[int, int]] = {}
        """The forms, with their bounds, of which it is followed what they turn into."""
        self._stepped: dict[Form, None] = {}
        """The forms that came from others by a step that is not known."""

    def need(self, poly: Poly, low: int, high: int) -> bool:
        """The values of the polynomial from `low` to `high` must be told apart. Whether that is news."""
        form, factor = split(poly)
        if not form:
            return False
        low, high = low - poly.const, high - poly.const
        if factor < 0:
            low, high = -high, -low
        size = abs(factor)
        low, high = -(-low // size), high // size
        before = self.bounds.get(form)
        after = (low, high) if before is None else (min(low, before[0]), max(high, before[1]))
        if after == before or (before is None and len(self.bounds) >= _MOST_FORMS):
            return False
        self.bounds[form] = after
        return True

    def at_most_zero(self, poly: Poly) -> None:
        """Told apart: at most 0, and more."""
        self.need(poly, 1, 0)

    # --- what terms compare ---

    def condition(self, term: Term) -> None:
        """A term that is asked whether it holds."""
        if isinstance(term, Var):
            self.need(variable(term.key), 0, 1)
        self.visit(term)

    def visit(self, term: Term) -> None:
        if isinstance(term, Var):
            return
        if isinstance(term, Sum):
            for atom, _ in term.parts:
                self.visit(atom)
            return
        if term.fn is Fn.ELEMENT:
            return
        for arg in term.args:
            self.visit(arg)
        match term.fn:
            case Fn.EQ0:
                for poly in alternatives(term.args[0]):
                    self.need(poly, 0, 0)
            case Fn.LE0:
                for poly in alternatives(term.args[0]):
                    self.at_most_zero(poly)
            case Fn.MINS | Fn.MAXS | Fn.ULT | Fn.MINU | Fn.MAXU:
                self._pair(term)
            case Fn.SELECT:
                self.condition(term.args[0])
            case Fn.AND | Fn.OR | Fn.XOR | Fn.NOT:
                for arg in term.args:
                    if isinstance(arg, Var):
                        self.condition(arg)
            case Fn.REMU | Fn.REMS | Fn.DIVS | Fn.DIVU | Fn.FLOORDIV | Fn.SHRS | Fn.SHRU | Fn.ZEXT:
                self._sign(term.args[0])
            case _:
                pass

    def _pair(self, term: Node) -> None:
        for quotient, _, most in compared_quotients(term):
            for poly in alternatives(quotient.args[0]):
                self.at_most_zero(plus(poly, constant(-most)))
        for left in alternatives(term.args[0]):
            for right in alternatives(term.args[1]):
                self.at_most_zero(plus(left, right, -1))
                self.at_most_zero(plus(plus(left, right, -1), constant(1)))
        if term.fn not in (Fn.MINS, Fn.MAXS):
            self._sign(term.args[0])
            self._sign(term.args[1])

    def _sign(self, term: Term) -> None:
        for poly in alternatives(term):
            self.at_most_zero(plus(poly, constant(1)))

    def exactly(self, term: Term) -> None:
        """A term that selects a slot or a flag: what of it is no operator is followed exactly."""
        self.visit(term)
        bare = [(atom, factor) for atom, factor in as_sum(term).parts if isinstance(atom, Var)]
        if bare:
            form, _ = split(Poly(tuple(((atom.key,), factor) for atom, factor in bare), 0))
            self.need(form_poly(form), *self._extent(form))
        for atom, _ in as_sum(term).parts:
            if not isinstance(atom, Node):
                continue
            if atom.fn is Fn.SELECT:
                self.exactly(atom.args[1])
                self.exactly(atom.args[2])
            elif atom.fn in (Fn.MINS, Fn.MAXS):
                self._few(atom, _EXACT[1])

    def turns(self, term: Term) -> None:
        """A term that selects a place: the numbers in it that have few values, such as slots in turn, exactly."""
        for var in variables(term):
            low, high = self._ends.get(var.key, _EXACT)
            if high - low < _EXACT[1]:
                self.need(variable(var.key), low, high)

    def _few(self, term: Term, most: int) -> None:
        """A term of which the values up to `most` have to be told apart."""
        if isinstance(term, Node) and term.fn in (Fn.MINS, Fn.MAXS):
            for quotient, _, largest in compared_quotients(term):
                self._few(quotient.args[0], largest)
            numbers = [number for number in map(constant_of, term.args) if number is not None]
            if term.fn is Fn.MINS:
                most = min([most, *numbers])
            for arg in term.args:
                self._few(arg, most)
        elif isinstance(term, Var | Sum):
            for poly in alternatives(term):
                if poly.parts and most <= _MOST_EXACT:
                    self.need(poly, _EXACT[0], most)

    def _extent(self, form: Form) -> tuple[int, int]:
        """From the lowest to the highest value that the form can have, if these are known."""
        low, high = _EXACT
        ends = [self._ends.get(mono[0]) for mono, _ in form]
        known = [one for one in ends if one is not None]
        if len(known) == len(ends):
            products = [sorted((factor * a, factor * b)) for (_, factor), (a, b) in zip(form, known, strict=True)]
            low = min(low, sum(least for least, _ in products))
            high = max(high, sum(most for _, most in products))
        return low, high

    # --- closing ---

    def copy(self) -> "Forms":
        other = Forms(self._ends)
        other.bounds, other.changes, other.reached = dict(self.bounds), self.changes, self.reached
        other._closed, other._stepped = dict(self._closed), dict(self._stepped)
        return other

    def close(self) -> None:
        """Follows also what the polynomials turn into when variables take new values, or are replaced by equals.

        What steps by a number that is not known is followed one step far: further steps follow from the first.
        """
        fresh = [form for form, bounds in self.bounds.items() if self._closed.get(form) != bounds]
        for _ in range(6):
            found: dict[Form, None] = {}
            for form in fresh:
                for after in self.reached.get(form, ()):
                    if self.need(after, *self.bounds[form]):
                        found[split(after)[0]] = None
                for key in form_variables(form):
                    for value in self.changes.get(key, ()):
                        after = replaced(form_poly(form), key, value)
                        target, _ = split(after)
                        steps = key in value.variables() and plus(after, form_poly(form), -1).exact is None
                        stepped = form in self._stepped
                        if not target or target == form or (steps and stepped):
                            continue
                        if self.need(after, *self.bounds[form]):
                            found[target] = None
                            if steps or stepped:
                                self._stepped[target] = None
            self._closed.update({form: self.bounds[form] for form in fresh})
            if not found:
                return
            fresh = list(found)


def forms_of(program: Program, code: Code, ends: Mapping[int, tuple[int, int]]) -> Forms:
    """The forms that a program compares, and what they turn into. `ends`: of the variables that have few values."""
    forms = Forms(ends)
    changes = forms.changes
    for info in program.variables:
        if info.boolean:
            forms.need(variable(info.var.key), 0, 1)
        elif info.kind is Kind.ARGUMENT:
            forms.at_most_zero(plus(variable(info.var.key), constant(1)))
    for one in code.instructions:
        for term in terms_of(one):
            forms.visit(term)
        match one:
            case Branch():
                forms.condition(one.condition)
            case SetFlag() | WaitFlag() | Lock():
                forms.exactly(one.lane)
            case Within():
                for poly in alternatives(one.lane):
                    forms.need(poly, 0, one.count - 1)
            case Run():
                for touch in one.touches:
                    if isinstance(touch.where, Local):
                        forms.exactly(touch.where.address)
            case Assign():
                for var, term in one.pairs:
                    changes.setdefault(var.key, []).extend(alternatives(term))
            case Enter(loop):
                _visit_loop(forms, loop)
            case _:
                pass
    forms.close()
    return forms


def _visit_loop(forms: Forms, loop: Loop) -> None:
    """How far the counter is from its end decides the next trip, and what it equals when the loop is left."""
    if loop.counter is None or loop.lower is None or loop.upper is None or loop.step is None:
        return
    counter = variable(loop.counter.key)
    for poly in alternatives(loop.step):
        forms.at_most_zero(poly)
    step = constant_of(loop.step) or 1
    for upper in alternatives(loop.upper):
        forms.need(plus(upper, counter, -1), 1 - step, 0)
        forms.changes.setdefault(loop.counter.key, []).append(upper)
        end, factor = split(upper)
        if abs(factor) == 1:
            forms.reached.setdefault(end, []).append(plus(constant(-factor * upper.const), counter, factor))
    for lower in alternatives(loop.lower):
        forms.need(plus(counter, lower, -1), 0, 0)


def between_cores(forms: Forms, whole: Whole) -> None:
    """Follows how far the loops of different cores are apart."""
    loops: dict[int, tuple[int, Loop]] = {}
    for at, one in enumerate(whole.code.instructions):
        if isinstance(one, Enter) and one.loop.counter is not None:
            loops[one.loop.key] = whole.core_of(at), one.loop
    for core, loop in loops.values():
        for other_core, other in loops.values():
            if core < other_core and loop.counter is not None and other.counter is not None:
                forms.need(plus(variable(loop.counter.key), variable(other.counter.key), -1), *_APART)
    forms.close()


def terms_of(one: Instruction) -> Iterator[Term]:
    """The terms that an instruction evaluates, those of global windows left out."""
    match one:
        case Branch():
            yield one.condition
        case SetFlag() | WaitFlag() | Lock() | Signal() | Await() | Within():
            yield one.lane
        case Run():
            for touch in one.touches:
                if isinstance(touch.where, Local):
                    yield touch.where.address
        case Assign():
            for _, term in one.pairs:
                yield term
        case _:
            pass


def all_terms_of(one: Instruction) -> Iterator[Term]:
    """The same with those of global windows."""
    yield from terms_of(one)
    if isinstance(one, Run):
        for touch in one.touches:
            if isinstance(touch.where, Window):
                where = touch.where
                yield from (where.base, *where.shape, *where.strides, *where.offsets, *where.extents)
