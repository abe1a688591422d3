"""Index terms, slots and paths in words, for people who look at an error."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from pto_buf.slots.facts import Facts, Span
from pto_buf.slots.linear import Leaf, Other, Product
from pto_buf.slots.program import Loop, While
from pto_buf.slots.scopes import Scopes
from pto_buf.slots.terms import Apply, Const, Fn, Opaque, Select, Term, Var

_INFIX: Mapping[Fn, tuple[str, int]] = {
    Fn.ADD: ("+", 5),
    Fn.SUB: ("-", 5),
    Fn.MUL: ("*", 6),
    Fn.DIVS: ("/", 6),
    Fn.FLOORDIVS: ("//", 6),
    Fn.DIVU: ("//", 6),
    Fn.REMS: ("rem", 6),
    Fn.REMU: ("%", 6),
    Fn.AND: ("&", 3),
    Fn.OR: ("|", 1),
    Fn.XOR: ("^", 2),
    Fn.SHL: ("<<", 4),
    Fn.SHRS: (">>", 4),
    Fn.SHRU: (">>", 4),
    Fn.EQ: ("==", 0),
    Fn.NE: ("!=", 0),
    Fn.SLT: ("<", 0),
    Fn.SLE: ("<=", 0),
    Fn.SGT: (">", 0),
    Fn.SGE: (">=", 0),
    Fn.ULT: ("<", 0),
    Fn.ULE: ("<=", 0),
    Fn.UGT: (">", 0),
    Fn.UGE: (">=", 0),
}
"""Sign and how tightly it binds. A signed remainder is `rem`, since Python's `%` is another operator."""

_CALLS: Mapping[Fn, str] = {
    Fn.CEILDIVS: "ceildiv",
    Fn.CEILDIVU: "ceildiv",
    Fn.MINS: "min",
    Fn.MINU: "min",
    Fn.MAXS: "max",
    Fn.MAXU: "max",
}

_LONGEST = 60


def term_text(term: Term) -> str:
    """The term as one would write it, or `the index` where that is too long to be of use."""
    text, _ = _text(term)
    return text if len(text) <= _LONGEST else "the index"


def _text(term: Term) -> tuple[str, int]:
    match term:
        case Const(value):
            return str(value), 9 if value >= 0 else 5
        case Var(name=name) | Opaque(name=name):
            return name, 9
        case Select(condition, if_true, if_false):
            return f"select({_text(condition)[0]}, {_text(if_true)[0]}, {_text(if_false)[0]})", 9
        case Apply(Fn.ADD, left, Const(value)) if value < 0:
            return f"{_inner(left, 5)} - {-value}", 5
        case Apply(fn, left, right) if fn in _INFIX:
            sign, binding = _INFIX[fn]
            return f"{_inner(left, binding)} {sign} {_inner(right, binding + 1)}", binding
        case Apply(fn, left, right):
            return f"{_CALLS[fn]}({_text(left)[0]}, {_text(right)[0]})", 9


def _inner(term: Term, binding: int) -> str:
    text, own = _text(term)
    return text if own >= binding else f"({text})"


def modulo_text(term: Term, count: int) -> str:
    """`(i + 1) % 3` for `i + 1`."""
    text, binding = _text(term)
    if len(text) > _LONGEST:
        return f"the index % {count}"
    return f"{text} % {count}" if binding > _INFIX[Fn.REMU][1] else f"({text}) % {count}"


@dataclass(frozen=True)
class Path:
    """The paths on which something happens, in words; empty for all of them.

    `is_certain` says that a run can take one of them: not where that hangs on how a product of numbers grows from
    trip to trip, which the analysis does not follow.
    """

    words: str
    is_certain: bool = True

    @property
    def when(self) -> str:
        return f" when {self.words}" if self.words else ""


def path_of(scopes: Scopes, around: Iterable[Loop | While], facts: Facts) -> Path:
    """Where the facts hold, such as `i = 3, n >= 4`."""
    return Path(_path_words(scopes, around, facts), not _hangs_on_products(scopes, facts))


def _hangs_on_products(scopes: Scopes, facts: Facts) -> bool:
    atoms, trips = scopes.atoms, {forms.trip for forms in scopes.loops.values()}
    return any(
        isinstance(atoms.kinds[atom], Product | Other) and not trips.isdisjoint(atoms.leaves[atom])
        for form in facts.spans
        for atom, _ in form
    )


def _path_words(scopes: Scopes, around: Iterable[Loop | While], facts: Facts) -> str:
    words: list[str] = []
    atoms, named, told = scopes.atoms, set[int](), set[Var | Opaque]()
    for loop in around:
        form = atoms.form(loop.var)
        named.update(atom for atom, _ in form.parts)
        words += _span_words(loop.var.name, scopes.decider.reasoner.span(facts, form))
    for form in sorted(facts.spans):
        atom, kind = form[0][0], atoms.kinds[form[0][0]]
        if len(form) != 1 or atom in named or not isinstance(kind, Leaf):
            continue
        if not isinstance(kind.what, str) and kind.what not in told:
            told.add(kind.what)
            low, high = kind.what.low, kind.what.high
            span = scopes.decider.reasoner.span(facts, atoms.form(kind.what)).meet(Span(low, high))
            if (low, high) == (0, 1) and span.point is not None:
                words.append(f"{kind.what.name} {'holds' if span.point else 'does not hold'}")
            else:
                words += _span_words(kind.what.name, span, low, high)
    return ", ".join(words)


def _span_words(name: str, span: Span, least: int | None = None, most: int | None = None) -> Iterator[str]:
    if span.point is not None:
        yield f"{name} = {span.point}"
        return
    if span.low is not None and span.low != least and span.low > 0:
        yield f"{name} >= {span.low}"
    if span.high is not None and span.high != most and most is not None:
        yield f"{name} <= {span.high}"
