"""The report of a compilation: memory, order, fences, verdict."""

from collections.abc import Sequence

from xdsl.dialects.func import FuncOp

from pto_buf.compiler import Compiled
from pto_buf.dialect.tile_op import target_of
from pto_buf.report.allocation import allocation_text
from pto_buf.report.collect import barriers, dropped, events, executed, kernel_of, lost, order, residents, signals
from pto_buf.report.collect_map import plan_notes
from pto_buf.report.fences import Executed, fences_text
from pto_buf.report.order import order_text
from pto_buf.walking import functions


def report(compiled: Compiled, *, checked: bool) -> str:
    """One part for each kernel."""
    finished = {function.sym_name.data: function for function in functions(compiled.module)}
    parts: dict[str, list[FuncOp]] = {}
    for function in functions(compiled.fenced):
        parts.setdefault(kernel_of(function), []).append(function)
    return "\n".join(kernel_report(fenced, finished[name], checked=checked) for name, fenced in parts.items())


def kernel_report(parts: Sequence[FuncOp], finished: FuncOp, *, checked: bool) -> str:
    """One kernel: as it was before its last step, in one part or in one for each kind of core, and as it is."""
    verdict = "proven: no race, no deadlock, no flag set twice or left over" if checked else "not proven"
    if len(parts) == 1:
        return _part(parts[0], 1, executed(finished)) + f"  {verdict}\n"
    texts: list[str] = []
    first = 1
    for part in parts:
        texts.append(_part(part, first, None))
        first += len(events(part))
    return "\n".join(texts) + f"  both parts together {verdict}\n"


def _part(fenced: FuncOp, first: int, runs: Executed | None) -> str:
    """What one kind of core does; its events are numbered from `first`."""
    target = target_of(fenced)
    fences = fences_text(
        events(fenced), barriers(fenced), runs, dropped(fenced), lost(fenced), signals(fenced), first=first
    )
    return (
        f"kernel {fenced.sym_name.data} for {target.name}\n"
        f"memory\n{allocation_text(residents(fenced, target), target)}\n"
        f"{''.join(f'  {note}{chr(10)}' for note in plan_notes(fenced))}"
        f"order\n{order_text(order(fenced, target))}\n"
        f"fences\n{fences}\n"
    )
