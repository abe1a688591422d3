"""MLIR's own `mlir-opt` reads every program that the lit tests print, in generic form."""

import re
import subprocess
from pathlib import Path

from lit.ShCommands import Command, Pipeline
from lit.ShUtil import ShParser

from support.lit_lines import MACROS, run_line, run_lines, substituted

HERE = Path(__file__).parent
_CANNOT_READ = ("memrefs.pto",)
"""MLIR refuses a memref whose memory space is of a dialect that it does not know."""

FILES = sorted(
    path
    for path in HERE.rglob("*")
    if path.suffix in (".mlir", ".pto") and "Inputs" not in path.parts and path.name not in _CANNOT_READ
)
_TAKES_NO_PART = ("--expect-errors", "--verify-diagnostics", "--print-ir-after-all", "--list-passes", "--help")


def printing_commands(path: Path) -> list[list[str]]:
    """The `pto-buf-opt` commands of a test that read the test itself and print programs, each once."""
    found: dict[tuple[str, ...], None] = {}
    for line in run_lines(path):
        parsed = ShParser(substituted(MACROS.get(line, line), path, path.parent), False, True).parse()
        if not isinstance(parsed, Pipeline) or not isinstance(parsed.commands[0], Command):
            continue
        program, *arguments = map(str, parsed.commands[0].args)
        if program != "pto-buf-opt" or str(path) not in arguments or any(a in _TAKES_NO_PART for a in arguments):
            continue
        plain = [a for a in arguments if a not in ("--print-op-generic", "--print-debuginfo", "--timing")]
        if "-o" not in plain:
            found[tuple(plain)] = None
    return [list(arguments) for arguments in found]


def generic_programs() -> list[tuple[str, str]]:
    """Each printed program in generic form, with the command that prints it."""
    programs: list[tuple[str, str]] = []
    for path in FILES:
        for arguments in printing_commands(path):
            quoted = " ".join(f"'{argument}'" for argument in [*arguments, "--print-op-generic"])
            outcome = run_line(f"pto-buf-opt {quoted}")
            if outcome.status == 0:
                programs.append((f"pto-buf-opt {quoted}", outcome.out))
    return programs


def complaints(mlir_opt: str, programs: list[tuple[str, str]]) -> list[str]:
    """What mlir-opt says about the programs, read in one process, and about which of them."""
    starts: list[tuple[int, str]] = []
    text, line = "", 1
    for command, program in programs:
        part = program.rstrip("\n") + "\n// -----\n"
        starts.append((line, command))
        text += part
        line += part.count("\n")
    done = subprocess.run(
        [mlir_opt, "-", "--allow-unregistered-dialect", "--split-input-file", "-o", "/dev/null"],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    found: list[str] = []
    for match in _COMPLAINT.finditer(done.stderr):
        line = int(match["split"]) + int(match["line"]) - 1
        start, command = [one for one in starts if one[0] <= line][-1]
        found.append(f"{command}: line {line - start + 1}: {match['words']}")
    return found or ([] if done.returncode == 0 else [done.stderr])


_COMPLAINT = re.compile(
    r"^within split at <stdin>:(?P<split>\d+) offset :(?P<line>\d+):\d+: error: (?P<words>.*)", re.MULTILINE
)


def test_mlir_reads_what_we_print(mlir_opt: str):
    programs = generic_programs()
    assert programs
    assert complaints(mlir_opt, programs) == []


def test_a_disagreement_is_found_and_traced_to_its_command(mlir_opt: str):
    good = '"builtin.module"() ({\n^bb0:\n}) : () -> ()\n'
    bad = '"builtin.module"() ({\n  "test.use"(%undefined) : (index) -> ()\n}) : () -> ()\n'
    (only,) = complaints(mlir_opt, [("first", good), ("second", bad), ("third", good)])
    assert only == "second: line 2: use of undeclared SSA value name"
