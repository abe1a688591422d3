"""Every kernel of the corpus: right for every run, nothing lost that is not said, ids dense, one barrier over all."""

import re
from collections import Counter
from functools import cache

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from fences.corpus import CASES, REFUSED
from pto_buf.check.checker import check
from pto_buf.check.findings import Status
from pto_buf.dialect.pto import BarrierOp
from pto_buf.dialect.sync import SetFlagDynOp, SetFlagOp
from pto_buf.errors import Diagnostic, DiagnosticError
from pto_buf.hw import EVENT_IDS, Pipe
from pto_buf.lowering.verify_slots import VerifySlotsPass
from pto_buf.universe import make_context
from support.flags import used_ids
from support.slot_builder import lowered
from support.trials import wrong_runs

pytestmark = pytest.mark.campaign


@cache
def _lowered(name: str) -> tuple[ModuleOp, list[Diagnostic]]:
    return lowered(CASES[name].make())


def _kernel(name: str) -> FuncOp:
    return next(op for op in _lowered(name)[0].walk() if isinstance(op, FuncOp))


@pytest.mark.parametrize("name", CASES)
def test_right_for_every_trip_count(name: str):
    """Races, balance and flags set twice, all by the checker."""
    verdict = check(_kernel(name))
    assert (verdict.status, verdict.reason, verdict.findings) == (Status.PROVEN, "", ())


@pytest.mark.parametrize("name", CASES)
def test_what_is_lost_is_said(name: str):
    kinds = {warning.kind for warning in _lowered(name)[1]}
    assert kinds == ({"lost-overlap"} if CASES[name].lost else set())


@pytest.mark.parametrize("name", CASES)
def test_one_barrier_over_all_pipes(name: str):
    barriers = [op for op in _kernel(name).walk() if isinstance(op, BarrierOp) and op.pipe.data is Pipe.ALL]
    assert len(barriers) == 1


@pytest.mark.parametrize("name", CASES)
def test_ids_are_dense_for_each_source(name: str):
    """Events of one pipe take ids apart while there are enough; so they are dense over all its destinations."""
    found: dict[Pipe, set[int]] = {}
    for (src, _), ids in used_ids(_kernel(name)).items():
        found.setdefault(src, set()).update(ids)
    for ids in found.values():
        assert ids == set(range(len(ids)))
        assert len(ids) <= EVENT_IDS


@pytest.mark.parametrize("name", CASES)
def test_a_static_flag_is_set_where_there_are_flags(name: str):
    """The assembler leaves a function's flags alone only if one of them is static."""
    kinds = Counter(type(op) for op in _kernel(name).walk())
    assert not kinds[SetFlagDynOp] or kinds[SetFlagOp]


@pytest.mark.parametrize("name", CASES)
def test_right_values_however_late_the_pipes_run(name: str):
    module, _ = _lowered(name)
    slots = max(int(count) for count in re.findall(r"slots<(\d+)", CASES[name].make().text()))
    for n in sorted({0, 1, 2, slots, slots + 1, 2 * slots + 1}):
        assert wrong_runs(module, {"n": n, "m": 2, "k": 3, "rows": n, "c": n % 2}) == []


@pytest.mark.parametrize("name", REFUSED)
def test_refused_at_its_place(name: str):
    make, kind, op = REFUSED[name]
    kernel = make()
    with pytest.raises(DiagnosticError) as caught:
        VerifySlotsPass().apply(make_context(), kernel.module())
    first = caught.value.diagnostics[0]
    assert first.kind == kind
    assert first.place is not None
    assert op in kernel.text().splitlines()[first.place.line - 1]
