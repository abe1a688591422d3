"""A proof that can be checked again without looking for it: the states that it found, for each group of goals. Pure.

Whoever checks it runs from each state to the next ones, once, and has to find that the states given speak for these;
then no run leaves them, and none of them is wrong.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pto_buf.check.facts.facts import Facts
from pto_buf.check.facts.poly import Form, Poly, constant, plus, split
from pto_buf.check.facts.reason import MOST_VALUES
from pto_buf.check.operators import is_value
from pto_buf.check.program import Code
from pto_buf.check.proof.explore import Explorer
from pto_buf.check.proof.frontier import State
from pto_buf.check.proof.knowledge import Goal, Knowledge
from pto_buf.check.proof.stages import LAST_STAGE
from pto_buf.check.proof.survey import terms_of
from pto_buf.check.terms import Node, Sum, Term, Var
from pto_buf.hw import Pipe

Json = dict[str, Any]

MALFORMED = ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, TypeError, ValueError
"""What reading data raises, or going by it, that nobody wrote down as a proof."""

_MOST_MODULUS = 1 << 64


@dataclass(frozen=True)
class Group:
    """The goals that one exploration proved, what residues it followed, and the states it found."""

    goals: tuple[Goal, ...]
    moduli: tuple[tuple[int, int], ...]
    stage: int
    states: tuple[State, ...]
    links: tuple[tuple[int, ...], ...]
    """For each state, the numbers of those that it leads to."""


class Recorder(Explorer):
    """Explores, and takes note which states each one leads to."""

    def __init__(self, *args: Any):
        super().__init__(*args)
        self._links: dict[int, list[int]] = {}
        self._from: list[int] | None = None

    @property
    def links(self) -> tuple[tuple[int, ...], ...]:
        """For each state, the numbers of those that it leads to, in the order in which they are met."""
        frontier = self._frontier
        places = {number: place for place, number in enumerate(frontier.speaking())}
        return tuple(tuple(places[frontier.speaker(to)] for to in self._links.get(number, ())) for number in places)

    def _go(self, number: int) -> None:
        self._from = self._links[number] = []
        super()._go(number)

    def _add(self, state: State, answered: bool = False) -> int | None:
        number = super()._add(state, answered)
        if self._from is not None and number is not None:
            self._from.append(number)
        return number


# --- as JSON -----------------------------------------------------------------------------------------------------


def group_json(group: Group) -> Json:
    return {
        "goals": [_goal_json(goal) for goal in group.goals],
        "moduli": [list(pair) for pair in group.moduli],
        "stage": group.stage,
        "states": [_state_json(state) for state in group.states],
        "links": [list(links) for links in group.links],
    }


def group_of(data: Json, nodes: Mapping[str, Node]) -> Group:
    """Raises one of MALFORMED for data that is no group of this program."""
    stage = _whole(data["stage"])
    if not 0 <= stage <= LAST_STAGE:
        raise ValueError("there is no such stage")
    return Group(
        tuple(_goal_of(goal) for goal in data["goals"]),
        tuple((_whole(key), _modulus(modulus)) for key, modulus in data["moduli"]),
        stage,
        tuple(_state_of(state, nodes) for state in data["states"]),
        tuple(tuple(_whole(number) for number in links) for links in data["links"]),
    )


def _whole(number: Any) -> int:
    if type(number) is not int:
        raise TypeError("not a whole number")
    return number


def _perhaps(number: Any) -> int | None:
    return None if number is None else _whole(number)


def _modulus(number: Any) -> int:
    if not 0 < _whole(number) <= _MOST_MODULUS:
        raise ValueError("a modulus is positive, and of 64 bits")
    return number


def _mask(text: Any) -> int:
    mask = int(text, 16)
    if mask < 0:
        raise ValueError("a mask has no sign")
    return mask


def _goal_json(goal: Goal) -> Json:
    flag = None if goal.flag is None else _flag_json(goal.flag)
    fields: Json = {"atom": goal.atom, "flag": flag, "lane": goal.lane, "window": goal.window, "line": goal.line}
    return {name: value for name, value in {**fields, "end": goal.end or None}.items() if value is not None}


def _goal_of(data: Json) -> Goal:
    window, line = data.get("window"), data.get("line")
    return Goal(
        atom=_perhaps(data.get("atom")),
        flag=None if data.get("flag") is None else _flag_of(data["flag"]),
        lane=_perhaps(data.get("lane")),
        end=bool(data.get("end")),
        window=None if window is None else (_whole(window[0]), _whole(window[1])),
        line=None if line is None else _line_of(line),
    )


def _flag_json(flag: tuple[int, Pipe, Pipe, int]) -> list[Any]:
    return [flag[0], flag[1].value, flag[2].value, flag[3]]


def _flag_of(data: Sequence[Any]) -> tuple[int, Pipe, Pipe, int]:
    return _whole(data[0]), Pipe(data[1]), Pipe(data[2]), _whole(data[3])


def _line_of(data: Sequence[Any]) -> tuple[int, int, int]:
    return _whole(data[0]), _whole(data[1]), _whole(data[2])


def _state_json(state: State) -> Json:
    knowledge = state.knowledge
    return {
        "ats": list(state.ats),
        "turn": state.turn,
        "ranges": [[_form_json(form), list(known)] for form, known in state.facts.ranges.items()],
        "residues": [[key, *residue] for key, residue in state.facts.residues.items()],
        "outcomes": [[repr(node), outcome] for node, outcome in state.facts.outcomes.items()],
        "present": hex(knowledge.present),
        "known": [hex(mask) for mask in knowledge.known],
        "tokens": [[*_flag_json(flag), hex(mask)] for flag, mask in knowledge.tokens.items() if mask],
        "pending": [_flag_json(flag) for flag in sorted(knowledge.pending)],
        "signals": [[list(line), [hex(mask) for mask in masks]] for line, masks in knowledge.signals.items() if masks],
    }


def _form_json(form: Form) -> list[Any]:
    return [[list(mono), factor] for mono, factor in form]


def _form_of(data: Any) -> Form:
    form = tuple((tuple(_whole(key) for key in mono), _whole(factor)) for mono, factor in data)
    if not form or split(plus(constant(0), Poly(form, 0))) != (form, 1):
        raise ValueError("a form is written in one way only")
    return form


def _state_of(data: Json, nodes: Mapping[str, Node]) -> State:
    ranges = {_form_of(form): (_perhaps(low), _perhaps(high)) for form, (low, high) in data["ranges"]}
    residues = {_whole(key): (_whole(residue), _modulus(modulus)) for key, residue, modulus in data["residues"]}
    facts = Facts(ranges, residues, {nodes[text]: bool(outcome) for text, outcome in data["outcomes"]})
    knowledge = Knowledge(
        [_mask(mask) for mask in data["known"]],
        _mask(data["present"]),
        {_flag_of(flag): _mask(flag[4]) for flag in data["tokens"]},
        frozenset(_flag_of(flag) for flag in data["pending"]),
        {_line_of(line): tuple(_mask(mask) for mask in masks) for line, masks in data["signals"]},
    )
    return State(tuple(_whole(at) for at in data["ats"]), _whole(data["turn"]), facts, knowledge, None)


def nodes_of(code: Code) -> dict[str, Node]:
    """The operators that the code's terms consist of, and that one of them has some value, by how they are written."""
    nodes = dict.fromkeys(node for one in code.instructions for term in terms_of(one) for node in _nodes(term))
    values = range(1 - MOST_VALUES, MOST_VALUES)
    conditions = (is_value(node, value) for node in nodes for value in values)
    return {repr(node): node for node in (*nodes, *conditions)}


def _nodes(term: Term) -> Iterator[Node]:
    if isinstance(term, Var):
        return
    if isinstance(term, Sum):
        for atom, _ in term.parts:
            yield from _nodes(atom)
        return
    yield term
    for arg in term.args:
        yield from _nodes(arg)
