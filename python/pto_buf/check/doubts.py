"""What stands in the way of a proof, in words. Pure."""

from pto_buf.check.program import Code
from pto_buf.check.proof.alarms import Alarm
from pto_buf.check.proof.ground import Ground
from pto_buf.check.proof.knowledge import Goal
from pto_buf.hw import Pipe


def alarm_words(alarm: Alarm, code: Code) -> str:
    """Of something that may be wrong."""
    where = _line_words(alarm.at, code)
    return f"a possible {alarm.fault.value}{where} could neither be ruled out nor be shown in a run"


def blind_words(goal: Goal, code: Code, ground: Ground) -> str:
    """Of a goal that could not be followed."""
    if goal.line is not None:
        return f"the number of a signal between cores, that may be {goal.line[2]}, could not be worked out"
    if goal.flag is not None and goal.flag[1] is Pipe.ALL:
        return f"the number of a buffer lock, that may be {goal.flag[3]}, could not be worked out"
    if goal.flag is not None:
        _, src, dst, lane = goal.flag
        return f"an event id of flag <{src.pto}>, <{dst.pto}>, that may be {lane}, could not be worked out"
    if goal.window is not None:
        return f"where an access to global memory{_line_words(goal.window[0], code)} lies could not be worked out"
    if goal.atom is not None:
        atom = ground.atoms[goal.atom]
        return f"an address in {atom.space.buffer}, or a condition around it, could not be worked out"
    where = "" if goal.lane is None else _line_words(goal.lane, code)
    return f"an id, or another number,{where} could not be worked out"


def _line_words(at: int, code: Code) -> str:
    place = getattr(getattr(code.instructions[at], "site", None), "place", None)
    return "" if place is None else f" at line {place.line}"
