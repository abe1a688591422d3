"""What a look over a program tells: the conditions around each instruction, the lines that signals take. Pure."""

from collections.abc import Sequence

from pto_buf.check.guards import branches_around
from pto_buf.check.model import Model
from pto_buf.check.program import Await, Branch, Instruction, Signal
from pto_buf.check.proof.knowledge import Line
from pto_buf.check.runs.clocks import number_of
from pto_buf.check.runs.signals import Lines
from pto_buf.check.terms import Term
from pto_buf.check.values import ValueSets
from pto_buf.check.whole import Whole
from pto_buf.hw import CORE_SIGNALS

CORE_SIGNAL_IDS = max(CORE_SIGNALS.values())


def enclosing(code: Sequence[Instruction]) -> list[tuple[Term, ...]]:
    """For each instruction, the conditions under which it stands."""
    found: list[tuple[Term, ...]] = []
    for branches in branches_around(code):
        around = [code[at] for at in branches]
        found.append(tuple(dict.fromkeys(one.condition for one in around if isinstance(one, Branch))))
    return found


def lines_of(whole: Whole, values: ValueSets, model: Model) -> dict[Line, list[int]]:
    """Every line that a signal may take or be heard on, with the instructions that do so."""
    ways = Lines(whole.kinds, model.broadcast)
    found: dict[Line, list[int]] = {}
    for at, one in enumerate(whole.code.instructions):
        if not isinstance(one, Signal | Await):
            continue
        known = values.of(one.lane)
        for id in range(CORE_SIGNAL_IDS) if known is None else sorted(known):
            core = whole.core_of(at)
            lines = ways.sent_by(core, one.pipe, id, one.single) if isinstance(one, Signal) else ways.heard_by(core, id)
            for line in lines:
                found.setdefault(line, []).append(at)
    return found


def unheard(whole: Whole, values: ValueSets, model: Model) -> list[int]:
    """The waits for signals that no core may be able to send."""
    ways = Lines(whole.kinds, model.broadcast)
    found: list[int] = []
    for at, one in enumerate(whole.code.instructions):
        known = values.of(one.lane) if isinstance(one, Await) else ()
        ids = range(CORE_SIGNAL_IDS) if known is None else known
        if not all(ways.heard_by(whole.core_of(at), id) for id in ids):
            found.append(at)
    return found


def senders(whole: Whole, places: Sequence[int]) -> frozenset[int]:
    """The numbers of the pipes that signal at these instructions."""
    code = whole.code.instructions
    sends = [(at, one) for at, one in ((at, code[at]) for at in places) if isinstance(one, Signal)]
    return frozenset(number_of(whole.core_of(at), one.pipe) for at, one in sends)
