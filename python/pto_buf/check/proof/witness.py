"""From the abstract run behind an alarm to arguments and data-dependent values that make a real run of it. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import combinations, islice

from pto_buf.check.program import Assign, Branch, Element, Fresh, Jump, Kind, Meet, VarInfo
from pto_buf.check.proof.alarms import Entry, Kept, Took, Trail, Went
from pto_buf.check.proof.prepare import Prepared, undefined
from pto_buf.check.runs.run import Choice, Index
from pto_buf.check.terms import (
    DivisionError,
    Fn,
    Node,
    Sum,
    Term,
    Var,
    add,
    apply,
    const,
    constant_of,
    equal,
    evaluate,
    negate,
    sub,
    substitute,
    variables,
)
from pto_buf.check.whole import Whole

FEW_TRIED, MOST_TRIED = 300, 20_000
"""Values that are tried for one part of a trail: at first sight, and where nothing else is left to do."""

_PARTS = (1.0, 0.7, 0.5, 0.35, 0.2, 0.1)
"""How much of a trail, from its end, is tried."""

_WIDEST = 48
"""How far above its lowest possible value an argument is tried."""


_MOST_PAIRS = 10_000
"""Of elements of one table, for which it is asked whether they are the same one."""


@dataclass(frozen=True)
class _Path:
    """What has to hold, over arguments and over the values that were made on the way."""

    conditions: tuple[Term, ...]
    made: Mapping[int, tuple[int, int]]
    """For each new symbol, the variable that was made, and how often it had been before."""
    elements: Mapping[int, Element]
    """The elements that variables and new symbols stand for, their indices over others."""


def witnesses(prepared: Prepared, whole: Whole, trail: Trail, tried: int = MOST_TRIED) -> Iterator[Choice]:
    """A run that goes the way of the trail; if there is none, runs that go the way of its later parts.

    For each part so many values are tried.
    A trail forgets what no later instruction asks, so that in it two loops with one bound may have run differently.
    """
    path = _replay(prepared, whole, trail)
    seen: list[Choice] = []
    for part in _PARTS:
        conditions = path.conditions[int(len(path.conditions) * (1 - part)) :]
        choice = _choice(prepared, replace(path, conditions=conditions), tried)
        if choice is not None and not any(choice.arguments == other.arguments for other in seen):
            seen.append(choice)
            yield choice


def _choice(prepared: Prepared, path: _Path, tried: int) -> Choice | None:
    symbols = _symbols(prepared, path)
    values = _solve((*path.conditions, *_agreed(path.elements)), symbols, tried)
    if values is None:
        return None
    infos = prepared.program.variables
    arguments = {key: values[key] for key, _, _ in symbols if key not in path.made and key not in path.elements}
    outcomes = {path.made[key]: value for key, value in values.items() if key in path.made}
    asked = {var.key for condition in path.conditions for var in variables(condition)}
    said = {path.made[key]: values[key] for key in path.made if key in asked}
    named = tuple((_made_words(infos[key], number), value) for (key, number), value in sorted(said.items()))
    elements: dict[Index, int] = {}
    for key, element in path.elements.items():
        at = _index(element, values)
        if at is not None:
            elements[element.table, at] = values[key]
            where = ", ".join(map(str, at))
            named += ((f"{element.name}[{where}]", values[key]),) if key in asked else ()

    def outcome(var: Var, occurrence: int) -> int:
        return outcomes.get((var.key, occurrence), 0)

    return Choice(arguments, outcome, elements, named)


def _agreed(elements: Mapping[int, Element]) -> Iterator[Term]:
    """That elements of one table are the same where their indices are, as far as these may be."""
    by_table: dict[int, list[tuple[int, Element]]] = {}
    for key, one in elements.items():
        by_table.setdefault(one.table, []).append((key, one))
    pairs = (pair for known in by_table.values() for pair in combinations(known, 2))
    for (key, one), (other_key, other) in islice(pairs, _MOST_PAIRS):
        gaps = [sub(mine, theirs) for mine, theirs in zip(one.at, other.at, strict=True)]
        if any(constant_of(gap) for gap in gaps):
            continue
        apart = reduce(partial(apply, Fn.OR), [negate(equal(gap, const(0))) for gap in gaps], const(0))
        yield apply(Fn.OR, apart, equal(Var(key, one.name), Var(other_key, other.name)))


def _index(element: Element, values: Mapping[int, int]) -> tuple[int, ...] | None:
    """None for one that no run gets to."""
    try:
        return tuple(evaluate(term, values) for term in element.at)
    except DivisionError:
        return None


def _made_words(info: VarInfo, number: int) -> str:
    """The value that is made at a place, the number-th time."""
    where = "" if info.place is None else f" of line {info.place.line}"
    return f"{info.var.name}{where}, time {number}"


def _replay(prepared: Prepared, whole: Whole, trail: Trail) -> _Path:
    entries: list[Entry] = []
    while trail is not None:
        entries.append(trail.entry)
        trail = trail.before
    player = _Player(prepared, whole)
    for entry in reversed(entries):
        player.play(entry)
    return _Path(tuple(player.conditions), player.made, player.elements)


class _Player:
    """Goes the way of a trail with arguments, and values made on the way, left open."""

    def __init__(self, prepared: Prepared, whole: Whole):
        self._prepared = prepared
        self._whole = whole
        self._code = whole.code.instructions
        self._ats = list(whole.starts)
        self._env: dict[int, Term] = {}
        self._times: dict[int, int] = {}
        self._symbol = len(prepared.program.variables)
        self.conditions: list[Term] = []
        self.made: dict[int, tuple[int, int]] = {}
        infos = prepared.program.variables
        self.elements = {info.var.key: info.element for info in infos if info.kind is Kind.FIXED and info.element}
        self._tables = {info.element.table: info.element for info in infos if info.element}
        self._symbols: dict[Node, Var] = {}
        """For elements."""

    def play(self, entry: Entry) -> None:
        """Goes on to the instruction of the entry, and takes note of what it says."""
        core = self._whole.core_of(entry.at)
        self._go_on(core, entry.at)
        one = self._code[entry.at]
        match entry:
            case Went():
                assert isinstance(one, Branch)
                condition = self._now(one.condition)
                self.conditions.append(condition if entry.way else negate(condition))
                self._ats[core] = entry.at + 1 if entry.way else one.otherwise
            case Took():
                self.conditions.append(self._now(entry.condition))
            case Kept():
                self._env.update({var.key: substitute(term, self._env) for var, term in entry.pairs})

    def _go_on(self, core: int, to: int | Meet) -> None:
        """The core goes on to an instruction, or to where it meets others."""
        while self._ats[core] != to and self._code[self._ats[core]] != to:
            one = self._code[self._ats[core]]
            if isinstance(one, Meet):
                for other in one.cores:
                    self._go_on(other, one)
                for other in one.cores:
                    self._ats[other] += 1
            else:
                self._step(core)

    def _now(self, term: Term) -> Term:
        return undefined(self._prepared, substitute(term, self._env))

    def _step(self, core: int) -> None:
        one = self._code[self._ats[core]]
        self._ats[core] += 1
        match one:
            case Jump():
                self._ats[core] = one.target
            case Assign():
                self._env.update([(var.key, self._assigned(term)) for var, term in one.pairs])
            case Fresh():
                key = one.var.key
                symbol = self._env[key] = self._new(one.var.name)
                self.made[symbol.key] = (key, self._times.get(key, 0))
                self._times[key] = self._times.get(key, 0) + 1
            case Branch():
                raise AssertionError("a trail says which way each branch goes")
            case _:
                pass

    def _assigned(self, term: Term) -> Term:
        value = substitute(term, self._env)
        looks_up = isinstance(value, Node) and value.fn is Fn.ELEMENT
        return self._looked_up(value) if looks_up else value

    def _looked_up(self, term: Term) -> Term:
        """The term with a symbol for each element in it."""
        if isinstance(term, Var):
            return term
        if isinstance(term, Sum):
            total: Term = const(term.const)
            for atom, factor in term.parts:
                total = add(total, self._looked_up(atom), factor)
            return total
        args = [undefined(self._prepared, self._looked_up(arg)) for arg in term.args]
        value = apply(term.fn, *args, width=term.width)
        if not isinstance(value, Node) or value.fn is not Fn.ELEMENT:
            return value
        if value not in self._symbols:
            table = constant_of(args[0])
            assert table is not None
            one = self._tables[table]
            symbol = self._symbols[value] = self._new(one.name)
            self.elements[symbol.key] = replace(one, at=tuple(args[1:]))
        return self._symbols[value]

    def _new(self, name: str) -> Var:
        self._symbol += 1
        return Var(self._symbol - 1, name)


_Symbol = tuple[int, int, int]
"""Key, lowest and highest value to try."""


def _symbols(prepared: Prepared, path: _Path) -> list[_Symbol]:
    infos = prepared.program.variables
    found: list[_Symbol] = []
    for info in infos:
        key = info.var.key
        if info.kind in (Kind.ARGUMENT, Kind.FIXED) and key not in prepared.known and key not in prepared.defined:
            low = 0 if info.kind is Kind.ARGUMENT or info.boolean else -_WIDEST // 2
            found.append(_bounded(key, low, 1 if info.boolean else None, path.conditions))
    made = {key: infos[variable].boolean for key, (variable, _) in path.made.items()}
    looked_up = {key: one.boolean for key, one in path.elements.items() if key >= len(infos)}
    for key, boolean in {**made, **looked_up}.items():
        found.append(_bounded(key, 0 if boolean else -_WIDEST // 2, 1 if boolean else None, path.conditions))
    return found


def _bounded(key: int, low: int, high: int | None, conditions: Sequence[Term]) -> _Symbol:
    """What the conditions on this symbol alone leave of its range."""
    top = high
    for least, most in _limits(key, conditions):
        low = low if least is None else max(low, least)
        top = most if top is None or (most is not None and most < top) else top
    return key, low, low + _WIDEST if top is None else min(top, low + _WIDEST)


def _limits(key: int, conditions: Sequence[Term]) -> Iterator[tuple[int | None, int | None]]:
    for condition in conditions:
        inverted = isinstance(condition, Node) and condition.fn is Fn.NOT
        inner = condition.args[0] if isinstance(condition, Node) and inverted else condition
        if not isinstance(inner, Node) or inner.fn not in (Fn.LE0, Fn.EQ0) or (inverted and inner.fn is Fn.EQ0):
            continue
        linear = _linear(inner.args[0])
        if linear is None or linear[0] != key:
            continue
        _, factor, constant = linear
        # factor * x + constant <= 0, or >= 1
        if factor < 0:
            least, most = -(constant // factor), None
            least = -((-constant) // -factor) if constant >= 0 else constant // -factor
        else:
            least, most = None, -constant // factor
        if inner.fn is Fn.EQ0:
            if constant % factor == 0:
                yield -constant // factor, -constant // factor
        elif not inverted:
            yield least, most
        elif factor > 0:
            yield -((constant - 1) // factor), None
        else:
            yield None, (constant - 1) // -factor


def _linear(term: Term) -> tuple[int, int, int] | None:
    if isinstance(term, Var):
        return term.key, 1, 0
    if isinstance(term, Sum) and len(term.parts) == 1 and isinstance(term.parts[0][0], Var):
        return term.parts[0][0].key, term.parts[0][1], term.const
    return None


def _solve(conditions: Sequence[Term], symbols: Sequence[_Symbol], most: int) -> dict[int, int] | None:
    """The first values, in order of the symbols, under which every condition holds; `most` are tried.

    Where none is left for a symbol, the last one before it that had a say in that takes its next.
    """
    position = {key: number for number, (key, _, _) in enumerate(symbols)}
    due: list[list[tuple[Term, set[int]]]] = [[] for _ in symbols]
    for condition in dict.fromkeys(conditions):
        asked = {position[var.key] for var in variables(condition) if var.key in position}
        if asked:
            due[max(asked)].append((condition, asked - {max(asked)}))
        elif not _holds(condition, {}):
            return None
    values: dict[int, int] = {}
    tried = 0
    choices: list[Iterator[int]] = []
    involved: list[set[int]] = []
    """For each symbol, those before it that have a say in why values of it failed."""
    while len(choices) < len(symbols):
        _, low, high = symbols[len(choices)]
        choices.append(iter(sorted(range(low, high + 1), key=lambda value: (abs(value), value < 0))))
        involved.append(set())
        while True:
            depth = len(choices) - 1
            value = next(choices[depth], None)
            if value is None:
                before = involved[depth]
                back = max(before, default=-1)
                del choices[back + 1 :], involved[back + 1 :]
                if back < 0:
                    return None
                involved[back] |= before - {back}
                continue
            tried += 1
            if tried > most:
                return None
            values[symbols[depth][0]] = value
            failed = next((asked for condition, asked in due[depth] if not _holds(condition, values)), None)
            if failed is None:
                break
            involved[depth] |= failed
    return values


def _holds(condition: Term, values: Mapping[int, int]) -> bool:
    try:
        return evaluate(condition, values) != 0
    except DivisionError:
        return False
