"""Kernels as people write them: the right ones pass and run, each mistake of the wrong ones is named where it is."""

import re
from functools import cache
from pathlib import Path

import pytest

from pto_buf.compiler import Compiled, compile_file
from pto_buf.errors import Diagnostic, DiagnosticError
from pto_buf.frontend import read
from pto_buf.hw import TARGETS
from pto_buf.passes import available_passes, parse_passes, run_passes
from pto_buf.run import Case, load_cases, run_case
from pto_buf.sim.orders import order_named
from pto_buf.universe import make_context

FOLDER = Path(__file__).parent / "kernels"
ROTATIONS, NESTS, MISUSE = (FOLDER / f"{name}.py" for name in ("rotations", "nests", "misuse"))
CHECKS = "ptobuf-verify-slots,ptobuf-plan-memory{check-only=true}"


def kernels(file: Path) -> list[str]:
    return re.findall(r"@pl\.jit\.incore\ndef (\w+)", file.read_text())


@pytest.mark.parametrize("target", ["a2a3", "a5"])
@pytest.mark.parametrize("name", kernels(NESTS))
def test_nests_are_accepted(name: str, target: str) -> None:
    module = read(str(NESTS), name, TARGETS[target])
    run_passes(make_context(), module, parse_passes(CHECKS, available_passes()))


CASES = load_cases(ROTATIONS)


@cache
def compiled(name: str) -> Compiled:
    return compile_file(ROTATIONS, name)


def test_every_rotation_runs() -> None:
    assert sorted({case.kernel for case in CASES}) == sorted(kernels(ROTATIONS))


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_rotations_give_the_right_values(case: Case) -> None:
    result = run_case(case, compiled(case.kernel).module, order_named("late"))
    assert result.passed, result.reasons


# --- mistakes ---


@cache
def mistakes() -> tuple[Diagnostic, ...]:
    """What one run over the whole file reports."""
    with pytest.raises(DiagnosticError) as caught:
        compile_file(MISUSE)
    return caught.value.diagnostics


def line_of(diagnostic: Diagnostic) -> int:
    assert diagnostic.place is not None
    return diagnostic.place.line


def test_one_run_names_every_mistake_and_nothing_else() -> None:
    lines = enumerate(MISUSE.read_text().splitlines(), start=1)
    marked = [(number, line.partition("# ERROR: ")[2]) for number, line in lines if "# ERROR: " in line]
    assert sorted({(line_of(one), one.kind) for one in mistakes()}) == marked


def test_every_mistake_has_another_place_and_a_lever() -> None:
    for one in mistakes():
        assert one.notes and all(note.place is not None for note in one.notes), one.message
        assert one.help, one.message


def mistake(kernel: str, kind: str) -> Diagnostic:
    """The first mistake of this kind in a kernel of the file."""
    lines = MISUSE.read_text().splitlines()
    start = lines.index(next(line for line in lines if line.startswith(f"def {kernel}("))) + 1
    end = next((i for i, line in enumerate(lines, start=1) if i > start and line.startswith("@")), len(lines))
    return next(one for one in mistakes() if one.kind == kind and start <= line_of(one) < end)


@pytest.mark.parametrize(
    ("kernel", "kind", "message", "help"),
    [
        (
            "last_trip_out",
            "slot-index-out-of-range",
            "slot index i // 2 is 4 when i = 8, outside [0, 4)",
            "take the index modulo the number of slots: (i // 2) % 4",
        ),
        (
            "argument",
            "slot-index-out-of-range",
            "cannot prove that slot index k is within [0, 3)",
            "take the index modulo the number of slots: k % 3",
        ),
        (
            "carried_too_far",
            "slot-index-out-of-range",
            "is 3 when i = 3, n >= 4, outside [0, 3)",
            "use % 3 instead of % 4, or give 'ring' 4 slots",
        ),
        (
            "endless_while",
            "slot-index-out-of-range",
            "slot index row is 3 when row = 3, n >= 4",
            "take the index modulo the number of slots: row % 3",
        ),
        ("below_zero", "read-before-write", "reads slot 2 of 'ring', which is not written when i = 1, n >= 2", None),
        (
            "as_many_ahead_as_slots",
            "clobber",
            "overwrites slot 0 of 'ring' when i = 0, n >= 1, whose value nothing has read",
            "read the value before this write, choose another slot, or give 'ring' one more",
        ),
        ("kept_too_long", "clobber", "overwrites slot 0 of 'ring' when i = 0, n >= 1, whose value is still", None),
        ("unknown_twin", "clobber", "cannot prove that the indices i & 3 and an unknown number & 3 differ", None),
        (
            "skipped_write",
            "use-after-release",
            "uses slot 1 of 'ring' after its release when i = 4, n >= 5",
            "write the slot before this use in every trip",
        ),
        (
            "skipped_write",
            "release-misuse",
            "releases slot 1 of 'ring' again when i = 4, n >= 5",
            "release only what the same trip has written",
        ),
        (
            "released_in_some_trip",
            "use-after-release",
            "uses slot 0 of 'ring' after its release when i = 4, n >= 5",
            "move the release behind the loop: the lease was taken outside of it",
        ),
        (
            "half_filled",
            "read-before-write",
            "reads 'ring', of which only a part is written",
            "write the other parts before, or begin with an op that writes all of the slot",
        ),
        (
            "narrow_window",
            "read-before-write",
            "continues 'ring', which is not written",
            "begin with an op that writes all of the slot",
        ),
        (
            "empty_inner_loop",
            "read-before-write",
            "which is not written when i = 0, m >= 1, n = 0",
            "write the slot before the loop, or make sure that the loop runs (peel its first step)",
        ),
        (
            "product_in_a_guard",
            "read-before-write",
            "cannot prove that this does not happen, since it hangs on a product of run-time numbers",
            "compare the counters themselves (i + 1 < m or j + 1 < n, not i * n + j + 1 < m * n), "
            "or run one loop over the product",
        ),
        (
            "declared_is_taken",
            "capacity-or-count",
            "192 KiB are needed at once, a2a3 has 184 KiB",
            "3 slots instead of 4 fit; tile 64x64 would fit",
        ),
    ],
)
def test_the_words(kernel: str, kind: str, message: str, help: str | None) -> None:
    found = mistake(kernel, kind)
    assert message in found.message
    assert help is None or found.help == help
