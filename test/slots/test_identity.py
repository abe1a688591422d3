"""Names, counts and attributes of slot sets survive every pass, and a round trip through text behind each of them."""

from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from pto_buf.dialect.ptobuf import AllocSlotsOp
from pto_buf.lowering.pipeline import PipelineOptions, pipeline
from pto_buf.passes import PassRun, available_passes, parse_passes, run_passes
from pto_buf.printing import text_of
from pto_buf.source import parse_text
from pto_buf.universe import make_context
from support.slot_text import SlotText

UNTIL = "ptobuf-allocate-events"
"""Behind it slots become addresses."""


def rotating() -> SlotText:
    """Two sets, one pinned, in a loop that is put side by side with itself, and a third that nothing touches."""
    kernel = SlotText(addresses={"work": 4096}, ring=3, work=2, spare=1)
    with kernel.loop("i", 0, "n"):
        kernel.load("ring[i % 3]", row="i")
        kernel.vector("work[i % 2]", "ring[i % 3]")
        kernel.store("work[i % 2]", row="i")
    return kernel


def identities(module: ModuleOp) -> dict[str, tuple[int, str]]:
    """The user's sets by name: how many slots, of which tile."""
    sets = [op for op in module.walk() if isinstance(op, AllocSlotsOp) and op.owned is None]
    assert len({op.set_name.data for op in sets}) == len(sets)
    return {op.set_name.data: (op.slots.type.data.count, str(op.slots.type.data.tile)) for op in sets}


def test_sets_keep_their_identity_through_every_pass() -> None:
    module = rotating().module()
    before = identities(module)
    assert sorted(before) == ["ring", "spare", "work"]
    seen: list[str] = []

    def after(changed: ModuleOp, one: PassRun) -> None:
        if UNTIL in seen:
            return
        seen.append(one.name)
        assert identities(changed) == before, one.name
        text = text_of(changed)
        again = parse_text(make_context(), text, str(Path("again.mlir")))
        assert text_of(again) == text, one.name
        assert identities(changed.clone()) == before, one.name
        pinned = {op.set_name.data: op.addr for op in changed.walk() if isinstance(op, AllocSlotsOp)}["work"]
        assert pinned is not None and pinned.value.data == 4096, one.name

    chosen = parse_passes(pipeline(PipelineOptions(interleave=2, check=False)), available_passes())
    run_passes(make_context(), module, chosen, after=after)
    assert seen[-1] == UNTIL and len(seen) >= 9
