"""What the fences order is what the data ask for, pair by pair, in whole runs: nothing is missing, nothing is lost."""

from functools import cache
from pathlib import Path

import pytest
from xdsl.dialects.func import FuncOp

from fences.corpus import CASES
from pto_buf.compiler import compile_file
from support.closure import closures
from support.slot_builder import lowered
from support.trials import kernel_of

pytestmark = pytest.mark.campaign

TRIPS = (0, 1, 2, 3, 7)

ORDERED_MORE = {
    "B07": "the ring's first tokens are set in the branch that owns it, behind what its pipe did before",
    "B16": "the ring's first tokens are set in the branch that owns it, behind what its pipe did before",
    "B10": "a lease that dies unread is closed by the pipe that would have read it",
    "B52": "a lease that dies unread is closed by the pipe that would have read it",
}

SOURCES = Path(__file__).parents[1] / "kernels" / "sources"
EXAMPLES = Path(__file__).parents[2] / "examples"
KERNELS = (
    *((EXAMPLES, name) for name in ("two_level_slots", "two_level_pipeline")),
    *((SOURCES, name) for name in ("accumulate", "panels", "streams", "softmax")),
)


@cache
def _kernel(name: str) -> FuncOp:
    return kernel_of(lowered(CASES[name].make())[0])


@pytest.mark.parametrize("name", CASES)
def test_all_that_the_data_ask_for_is_ordered(name: str):
    for n in TRIPS:
        found = closures(_kernel(name), {"n": n, "m": 2, "k": 3, "rows": n, "c": 1})
        assert found.words(found.needed - found.held) == []


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.lost and name not in ORDERED_MORE])
def test_nothing_else_is_ordered(name: str):
    for n in TRIPS:
        found = closures(_kernel(name), {"n": n, "m": 2, "k": 3, "rows": n, "c": 1})
        assert found.words(found.held - found.needed) == []


@pytest.mark.parametrize(("folder", "name"), KERNELS, ids=[name for _, name in KERNELS])
def test_whole_kernels_are_ordered_as_their_data_ask(folder: Path, name: str):
    for kernel in compile_file(folder / f"{name}.py").module.ops:
        assert isinstance(kernel, FuncOp)
        numbers = [arg.name_hint for arg in kernel.args if arg.name_hint and str(arg.type) in ("index", "i32", "i64")]
        for n in (0, 1, 3, 6) if numbers else (0,):
            found = closures(kernel, dict.fromkeys(numbers, n))
            assert found.words(found.needed - found.held) == []
            assert found.words(found.held - found.needed) == []


def test_a_pair_too_many_is_seen():
    """Nine slots on eight lanes: the load of the ninth waits for a store that it has nothing to do with."""
    found = closures(_kernel("B25-9"), {"n": 18})
    assert found.needed < found.held
