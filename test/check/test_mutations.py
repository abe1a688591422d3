"""Every set or wait that is removed, repeated or renumbered is caught; a barrier is caught or of no use."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from check.corpus import CASES
from check.programs import function_of
from pto_buf.check.checker import check
from pto_buf.check.findings import Status
from pto_buf.compiler import compile_file

pytestmark = pytest.mark.campaign

EXAMPLES = Path(__file__).parents[2] / "examples"
_EVENT = re.compile(r"_flag(?:_dyn)?\[(<PIPE_\w+>, <PIPE_\w+>), [^\]]+\]")
_UNUSED = 7


def changes(text: str, word: str) -> Iterator[tuple[str, str]]:
    """What was done to which line, and the text after it, for each line with `word` in it."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if word not in line:
            continue
        yield f"remove {number + 1}: {line.strip()}", "\n".join(lines[:number] + lines[number + 1 :])
        if _EVENT.search(line):
            yield f"repeat {number + 1}: {line.strip()}", "\n".join([*lines[:number], line, *lines[number:]])
            other = _EVENT.sub(rf"_flag[\1, <EVENT_ID{_UNUSED}>]", line)
            yield f"renumber {number + 1}: {line.strip()}", "\n".join([*lines[:number], other, *lines[number + 1 :]])


def status(text: str) -> Status:
    return check(function_of(text)).status


@pytest.mark.parametrize("name", ["two_level_slots.py", "two_level_pipeline.py"])
def test_flags_of_compiled_kernels(name: str):
    text = compile_file(EXAMPLES / name).text
    found = list(changes(text, "_flag"))
    assert len(found) > 40
    assert [what for what, changed in found if status(changed) is not Status.WRONG] == []


@pytest.mark.parametrize("name", ["B01-right-3", "B02-right", "B23-right-3", "B52-right", "B100-right"])
def test_flags_of_kernels_of_any_length(name: str):
    found = list(changes(CASES[name].text, "_flag"))
    assert [what for what, changed in found if status(changed) is not Status.WRONG] == []


@pytest.mark.parametrize("name", ["B02-right", "B23-right-3", "B52-right", "B100-right"])
def test_barriers_are_caught_or_of_no_use(name: str):
    verdicts = [status(changed) for _, changed in changes(CASES[name].text, "pto.barrier")]
    assert verdicts[-1] is Status.WRONG
    assert Status.INCOMPLETE not in verdicts
