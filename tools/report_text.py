"""The report of a compilation: memory, order, fences, verdict."""

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from pto_buf.compiler import Compiled
from pto_buf.dialect.tile_op import target_of
from pto_buf.report.allocation import allocation_text
from pto_buf.report.collect import barriers, dropped, events, executed, lost, order, residents
from pto_buf.report.collect_map import plan_notes
from pto_buf.report.fences import fences_text
from pto_buf.report.order import order_text


def report(compiled: Compiled, *, checked: bool) -> str:
    """One part for each kernel."""
    finished = {function.sym_name.data: function for function in _functions(compiled.module)}
    parts = [_kernel(function, finished[function.sym_name.data], checked) for function in _functions(compiled.fenced)]
    return "\n".join(parts)


def _functions(module: ModuleOp) -> list[FuncOp]:
    return [op for op in module.body.block.ops if isinstance(op, FuncOp) and not op.is_declaration]


def _kernel(fenced: FuncOp, finished: FuncOp, checked: bool) -> str:
    target = target_of(fenced)
    verdict = "proven: no race, no deadlock, no flag set twice or left over" if checked else "not checked"
    fences = fences_text(events(fenced), barriers(fenced), executed(finished), dropped(fenced), lost(fenced))
    return (
        f"kernel {fenced.sym_name.data} for {target.name}\n"
        f"memory\n{allocation_text(residents(fenced, target), target)}\n"
        f"{''.join(f'  {note}{chr(10)}' for note in plan_notes(fenced))}"
        f"order\n{order_text(order(fenced, target))}\n"
        f"fences\n{fences}\n"
        f"  {verdict}\n"
    )
