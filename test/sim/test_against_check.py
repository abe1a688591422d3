"""The simulator and the checker know nothing of each other; what one calls wrong, the other shows."""

from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
from xdsl.dialects import func

from check.corpus import CASES
from pto_buf.check.checker import arguments_by_name
from pto_buf.check.model import model_of
from pto_buf.check.reading.build import build
from pto_buf.check.runs.concrete import Choice, needed_pairs, steps_of
from pto_buf.dialect.tile_op import target_of
from pto_buf.hw import Pipe
from pto_buf.machine.dtypes import NUMPY_DTYPES
from pto_buf.machine.exec import kernel_named, pointer_arguments, scalar_arguments
from pto_buf.machine.steps import CoreId, Exec
from pto_buf.sim.mutate import difference, remove_each_pair
from pto_buf.sim.orders import QUEUED, Order, Policy, late
from pto_buf.sim.simulate import Launch, simulate
from support.pto_text import parse
from support.streams import COLS, ROWS, stream

pytestmark = pytest.mark.campaign

SIZE = 4096
TRIPS = (0, 1, 3, 4)


@cache
def kernel_of(text: str) -> func.FuncOp:
    return kernel_named(parse(text), None)


def launch(text: str, trips: int) -> Launch:
    """Every integer argument is the trip count."""
    function = kernel_of(text)
    rng = np.random.default_rng(1)
    arrays = {
        name: rng.standard_normal((SIZE // COLS, COLS)).astype(NUMPY_DTYPES[dtype])
        for _, name, dtype in pointer_arguments(function)
    }
    scalars = {name: trips if str(type) == "index" else 1.5 for _, name, type in scalar_arguments(function)}
    return Launch(function, arrays, scalars, limit=20_000)


def pipes_of(start: Launch) -> list[Pipe]:
    used = {pipe for step in start.steps(CoreId()) if isinstance(step, Exec) for pipe in step.pipes}
    return [pipe for pipe in QUEUED if pipe in used]


def troubles(text: str) -> Iterator[str]:
    """All that runs with small trip counts show, in every adverse order."""
    for trips in TRIPS:
        start = launch(text, trips)
        expected = simulate(start, Order(Policy.EARLY))
        yield from (fault.kind for fault in expected.faults)
        for pipe in pipes_of(start):
            run = simulate(start, late(pipe))
            yield from (fault.kind for fault in run.faults)
            if run.displaced:
                yield "displaced"
            if not run.faults and difference(expected, run) is not None:
                yield "value"


@pytest.mark.parametrize("name", CASES)
def test_reported_failures_show_in_their_wrong_form_and_not_in_their_right_one(name: str) -> None:
    found = frozenset(troubles(CASES[name].text))
    wrong = CASES[name].faults
    assert bool(found) == bool(wrong), found
    assert {"deadlock", "overflow", "leftover"} & found <= wrong
    if "race" in wrong or "same-pipe-hazard" in wrong:
        assert {"displaced", "value"} & found


@pytest.mark.parametrize("slots", [1, 2, 3])
@pytest.mark.parametrize("trips", [3, 4])
def test_a_pair_shows_exactly_if_the_checker_needs_it(slots: int, trips: int) -> None:
    text = stream(slots)
    function = kernel_of(text)
    program = build(function)
    run = Choice(arguments_by_name(program, {"n": trips}))
    needed = needed_pairs(steps_of(program, run), model_of(target_of(function)))
    x = np.random.default_rng(2).standard_normal((trips * ROWS, COLS)).astype(np.float32)
    verdicts = remove_each_pair(Launch(function, {"x": x, "z": np.zeros_like(x)}, {"n": trips}))
    assert len(needed) == len(verdicts)
    for need, verdict in zip(needed, verdicts, strict=True):
        assert need == (verdict.how not in (None, "displaced")), str(verdict.pairs[0])
