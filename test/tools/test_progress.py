"""The progress bar: on a terminal, when it takes long, and gone afterwards."""

import os
import pty
import subprocess
import sys
import time
from io import StringIO

import pytest

from pto_buf.tools import progress as bars
from pto_buf.watching import done, watching

SCRIPT = """
import sys, time
from pto_buf.tools import progress as bars
from pto_buf.watching import done
bars.DELAY = float(sys.argv[1])
with bars.progress("starting"):
    for count in range(4):
        time.sleep(0.15)
        done("[pass] number", count + 1, 4)
print("ended")
"""


def on_terminal(delay: float) -> str:
    """What a terminal gets to see of the script's standard error."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    command = [sys.executable, "-c", SCRIPT, str(delay)]
    child = subprocess.Popen(command, stderr=theirs, stdout=subprocess.PIPE, env=environment)
    out, _ = child.communicate(timeout=60)
    os.close(theirs)
    assert (out, child.returncode) == (b"ended\n", 0)
    seen = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other end is closed and all is read
            break
        if not part:
            break
        seen += part
    os.close(ours)
    return seen.decode()


def test_a_terminal_sees_what_takes_long():
    seen = on_terminal(0.1)
    assert "[pass] number" in seen
    assert seen.rindex("\x1b[2K") > seen.rindex("[pass] number")  # the line is wiped


def test_what_is_quick_shows_nothing():
    assert on_terminal(30.0) == ""


def test_no_terminal_no_bar(monkeypatch: pytest.MonkeyPatch):
    stream = StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(bars, "DELAY", 0.0)
    with bars.progress("starting"):
        time.sleep(0.05)
        done("a pass", 1, 2)
    assert stream.getvalue() == ""


def test_steps_go_to_who_watches():
    told: list[tuple[str, int, int]] = []
    done("nobody", 1, 2)
    with watching(lambda *step: told.append(step)):
        done("somebody", 1, 2)
    done("nobody", 2, 2)
    assert told == [("somebody", 1, 2)]
