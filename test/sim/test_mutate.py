"""Taking pairs out: what the result depends on shows, what it does not depend on stays quiet."""

import numpy as np
import pytest

from pto_buf.errors import DiagnosticError
from pto_buf.hw import Pipe
from pto_buf.machine.exec import execute, kernel_named
from pto_buf.sim.mutate import executed_pairs, remove_each_pair
from pto_buf.sim.simulate import Launch
from support.pto_text import parse
from support.streams import COLS, FENCES, LOADED, ROWS, stream


def launch(text: str, trips: int) -> Launch:
    x = np.random.default_rng(2).standard_normal((max(trips, 1) * ROWS, COLS)).astype(np.float32)
    return Launch(kernel_named(parse(text), None), {"x": x, "z": np.zeros_like(x)}, {"n": trips})


def test_pairs_match_the_kth_set_with_the_kth_wait() -> None:
    start = launch(stream(2), 3)
    pairs = executed_pairs(execute(start.function, start.scalars))
    assert len(pairs) == 4 + 4 * 3
    consumed = [pair for pair in pairs if pair.key == (Pipe.V, Pipe.MTE2, 0)]
    assert [len(pair.set.trips) for pair in consumed] == [0, 1, 1]
    waits = [pair.wait for pair in consumed]
    assert [wait.trips[0][1] if wait is not None and wait.trips else None for wait in waits] == [0, 2, None]


@pytest.mark.parametrize(("slots", "trips"), [(1, 3), (2, 5), (3, 4)])
def test_every_pair_that_is_needed_shows(slots: int, trips: int) -> None:
    """Not needed are the primes, and the hand-backs that only a drain waits for."""
    for verdict in remove_each_pair(launch(stream(slots), trips)):
        (pair,) = verdict.pairs
        assert pair.wait is not None
        hand_back = pair.key[:2] in ((Pipe.V, Pipe.MTE2), (Pipe.MTE3, Pipe.V))
        needed = not hand_back or (bool(pair.set.trips) and bool(pair.wait.trips))
        assert (verdict.how is not None) == needed, str(pair)


def test_all_pairs_of_two_ops_can_go_together() -> None:
    verdicts = remove_each_pair(launch(stream(2), 5), by_site=True)
    loaded = [v for v in verdicts if v.pairs[0].key[:2] == (Pipe.MTE2, Pipe.V)]
    assert [len(v.pairs) for v in loaded] == [5]
    assert loaded[0].how == "overflow"  # V runs ahead and hands the slot back twice
    assert str(loaded[0].order) == "late:V"


def test_a_kernel_that_is_wrong_already_is_refused() -> None:
    with pytest.raises(DiagnosticError, match="the result depends on the order of the pipes"):
        remove_each_pair(launch(stream(2, FENCES), 1))
    with pytest.raises(DiagnosticError, match="is set a second time while it is pending"):
        remove_each_pair(launch(stream(2, [LOADED]), 2))
