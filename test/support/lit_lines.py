"""lit's RUN lines, executed in this process: a line takes milliseconds here and a third of a second as processes.

What is understood: `pto-buf-opt`, `pto-buf` and `filecheck` in this process, any other program as a process, joined by
`|`, `&&`, `||`, `;`, with `not`, `!`, and the redirections `<`, `>`, `2>` and `2>&1`. lit itself, with `lit.cfg.py`
beside, reads the same lines with the same substitutions; a test compares the two.
"""

import io
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lit.ShCommands import Command, Pipeline, Seq
from lit.ShUtil import ShParser

MACROS = {
    # What is printed reads back as the same program, through both printed forms.
    "ROUND_TRIP": "pto-buf-opt %s --print-op-generic | pto-buf-opt | filecheck %s",
    "ROUND_TRIP_SPLIT": "pto-buf-opt %s --split-input-file --print-op-generic "
    "| pto-buf-opt --split-input-file | filecheck %s",
}
"""Words for whole commands, as substitutions of lit."""

_RUN = re.compile(r"^\s*(?://|#|;)\s*RUN:\s*(.*?)\s*$")


@dataclass(frozen=True)
class Outcome:
    """What a command left: its exit status and both outputs."""

    status: int
    out: str
    err: str


def run_lines(path: Path) -> list[str]:
    """The RUN lines of a test, continued lines joined, nothing substituted yet."""
    lines: list[str] = []
    open_line = False
    for text in path.read_text(encoding="utf-8").splitlines():
        match = _RUN.match(text)
        if match is None:
            continue
        line = match[1]
        if open_line:
            lines[-1] += line.removesuffix("\\")
        else:
            lines.append(line.removesuffix("\\"))
        open_line = line.endswith("\\")
    return lines


def substituted(line: str, path: Path, scratch: Path) -> str:
    """The line with lit's `%s`, `%S`, `%t`, `%T` and our macros replaced."""
    for word, command in MACROS.items():
        line = re.sub(rf"\b{word}\b", lambda _, command=command: command, line)
    values = {"%s": str(path), "%S": str(path.parent), "%t": str(scratch / f"{path.name}.tmp"), "%%": "%"}
    return re.sub(r"%[stS%]", lambda match: values[match[0]], line)


def run_line(line: str) -> Outcome:
    """Execute one substituted line."""
    return _run(ShParser(line, False, True).parse(), "")


def _run(node: Any, stdin: str) -> Outcome:
    match node:
        case Seq():
            return _sequence(node)
        case Pipeline():
            return _pipeline(node, stdin)
        case _:
            raise TypeError(f"no command: {node!r}")


def _sequence(node: Any) -> Outcome:
    first = _run(node.lhs, "")
    if (node.op == "&&" and first.status != 0) or (node.op == "||" and first.status == 0):
        return first
    second = _run(node.rhs, "")
    return Outcome(second.status, first.out + second.out, first.err + second.err)


def _pipeline(node: Any, stdin: str) -> Outcome:
    errors, status = "", 0
    outcome = Outcome(0, stdin, "")
    for command in node.commands:
        outcome = _command(command, outcome.out)
        errors += outcome.err
        status = status or outcome.status  # as with `set -o pipefail`
    if node.negate:
        status = int(status == 0)
    return Outcome(status, outcome.out, errors)


def _command(command: Command, stdin: str) -> Outcome:
    arguments = [str(argument) for argument in command.args]
    inverted = False
    while arguments[0] in ("not", "!"):
        inverted = not inverted
        arguments = arguments[1:]
    stdin, sinks, merge = _redirections(command, stdin)
    outcome = _execute(arguments, stdin, merge)
    if inverted:
        outcome = Outcome(int(outcome.status == 0), outcome.out, outcome.err)
    if 1 in sinks:
        sinks[1].write_text(outcome.out, encoding="utf-8")
        outcome = Outcome(outcome.status, "", outcome.err)
    if 2 in sinks:
        sinks[2].write_text(outcome.err, encoding="utf-8")
        outcome = Outcome(outcome.status, outcome.out, "")
    return outcome


def _redirections(command: Command, stdin: str) -> tuple[str, dict[int, Path], bool]:
    sinks: dict[int, Path] = {}
    merge = False
    for (operator, *descriptor), target in command.redirects:
        match operator, descriptor, target:
            case "<", [], _:
                stdin = Path(target).read_text(encoding="utf-8")
            case ">", [] | [1], _:
                sinks[1] = Path(target)
            case ">", [2], _:
                sinks[2] = Path(target)
            case ">&", [2], "1":
                merge = True
            case _:
                raise ValueError(f"redirection {operator} {descriptor} {target} is not understood")
    return stdin, sinks, merge


def _execute(arguments: list[str], stdin: str, merge: bool) -> Outcome:
    program, *rest = arguments
    if program in _IN_PROCESS:
        return _in_process(_IN_PROCESS[program], rest, stdin, merge)
    done = subprocess.run(
        [program, *rest],
        input=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if merge else subprocess.PIPE,
        text=True,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"},
        check=False,
    )
    return Outcome(done.returncode, done.stdout, "" if merge else done.stderr)


def _in_process(run: Callable[[list[str]], int], arguments: list[str], stdin: str, merge: bool) -> Outcome:
    out = io.StringIO()
    err = out if merge else io.StringIO()
    real_stdin = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin.encode("utf-8")), encoding="utf-8")
    try:
        with redirect_stdout(out), redirect_stderr(err):
            try:
                status = run(arguments)
            except SystemExit as end:
                status = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        sys.stdin = real_stdin
    return Outcome(status, out.getvalue(), "" if merge else err.getvalue())


def _opt(arguments: list[str]) -> int:
    from pto_buf.tools.opt import main

    return main(["--verify-each", *arguments])


def _cli(arguments: list[str]) -> int:
    from pto_buf.tools.cli import main

    return main(arguments)


def _filecheck(arguments: list[str]) -> int:
    from filecheck.main import main

    main(["filecheck", *arguments])
    return 0


_IN_PROCESS: Mapping[str, Callable[[list[str]], int]] = {
    "pto-buf-opt": _opt,
    "pto-buf": _cli,
    "filecheck": _filecheck,
}
