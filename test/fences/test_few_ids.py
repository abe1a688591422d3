"""More tiles in a trip than there are event ids: what is given up is little, is said, and is right."""

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from pto_buf.compiler import Compiled, compile_module
from pto_buf.errors import DiagnosticError
from pto_buf.lowering.pipeline import PipelineOptions
from support.slot_text import SlotText
from support.trials import wrong_runs


def _sets(tiles: int, slots: int) -> dict[str, Any]:
    return {f"P{tile}": slots for tile in range(tiles)}


def summed(tiles: int, slots: int) -> SlotText:
    """All tiles of a trip are loaded, then all are added to a sum."""
    kernel = SlotText(Y=1, **_sets(tiles, slots))
    kernel.fill("Y")
    with kernel.loop("i", 0, "n"):
        for tile in range(tiles):
            kernel.load(f"P{tile}[i % {slots}]", row="i")
        for tile in range(tiles):
            kernel.vector("Y", "Y", f"P{tile}[i % {slots}]")
    kernel.store("Y")
    return kernel


def in_sequence(tiles: int, slots: int) -> SlotText:
    """One tile behind the other is loaded, updated and stored."""
    kernel = SlotText(**_sets(tiles, slots))
    with kernel.loop("i", 0, "n"):
        for tile in range(tiles):
            kernel.load(f"P{tile}[i % {slots}]", row=f"i * {tiles} + {tile}")
            kernel.vector(f"P{tile}[i % {slots}]", f"P{tile}[i % {slots}]")
            kernel.store(f"P{tile}[i % {slots}]", row=f"i * {tiles} + {tile}")
    return kernel


def loaded_first(tiles: int) -> SlotText:
    """All tiles of a trip are loaded, then one behind the other is updated and stored, in the order they came in."""
    kernel = SlotText(**_sets(tiles, 1))
    with kernel.loop("i", 0, "n"):
        for tile in range(tiles):
            kernel.load(f"P{tile}", row=tile)
        for tile in range(tiles):
            kernel.vector(f"P{tile}", f"P{tile}")
            kernel.store(f"P{tile}", row=tile)
    return kernel


@cache
def _compiled(kernel: Callable[..., SlotText], *counts: int) -> Compiled:
    return compile_module(kernel(*counts).module(), PipelineOptions())


def _reasons(compiled: Compiled) -> list[str]:
    return [warning.message.removeprefix("overlap is lost: ") for warning in compiled.warnings]


@pytest.mark.parametrize(
    ("kernel", "counts", "reasons"),
    [
        (summed, (4, 2), 0),
        (summed, (5, 2), 2),
        (summed, (9, 1), 2),
        (summed, (3, 5), 4),
        (in_sequence, (8, 1), 0),
        (in_sequence, (9, 1), 1),
        (in_sequence, (12, 1), 4),
        (in_sequence, (5, 2), 2),
        (loaded_first, (8,), 0),
        (loaded_first, (9,), 1),
    ],
)
def test_it_is_right_for_every_number_of_trips(kernel: Callable[..., SlotText], counts: tuple[int, ...], reasons: int):
    compiled = _compiled(kernel, *counts)
    assert len(compiled.warnings) == reasons
    for trips in (0, 1, 3):  # of any other number it is proven
        assert wrong_runs(compiled.module, {"n": trips}) == []


def test_tiles_that_stand_side_by_side_share_their_flags_and_keep_their_slots():
    reasons = _reasons(_compiled(summed, 5, 2))
    assert reasons == [
        "P4: shares its flags from MTE2 to V with P3, since MTE2 to V has too few event ids; "
        "1 operation of V waits for 1 of MTE2 more than needed",
        "P4: shares its flags from V to MTE2 with P3, since V to MTE2 has too few event ids; "
        "1 operation of MTE2 waits for 1 of V more than needed",
    ]


def test_tiles_behind_one_another_take_turns_with_those_farthest_away():
    assert [reason.partition(" on one lane")[0] for reason in _reasons(_compiled(in_sequence, 12, 1))] == [
        f"P{tile + 6}: its leases take turns with those of P{tile}" for tile in range(4)
    ]


def test_a_handshake_is_the_last_resort():
    (reason,) = _reasons(_compiled(loaded_first, 9))
    assert reason.startswith("P8: hands over by handshake, since V to MTE3 has too few event ids")


def test_flags_of_others_that_leave_no_id_at_all_are_an_error():
    kernel = SlotText(P=1)
    with kernel.loop("i", 0, "n"):
        flag = f"[<PIPE_MTE2>, <PIPE_MTE3>, {kernel.number('i % 8')}]"
        kernel.load("P")
        kernel.emit(f"pto.set_flag_dyn{flag}")
        kernel.emit(f"pto.wait_flag_dyn{flag}")
        kernel.store("P")
    with pytest.raises(DiagnosticError) as caught:
        compile_module(kernel.module(), PipelineOptions())
    (error,) = caught.value.diagnostics
    assert error.kind == "event-ids"
    assert "need 2 event ids at once, there are 8, of which others use 8" in error.message
