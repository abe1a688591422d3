"""The judgement of a run agrees with going through all its interleavings."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from check.interleave import faults_of
from pto_buf.check.model import Model, model_of
from pto_buf.check.order import judge
from pto_buf.check.program import Site
from pto_buf.check.steps import Access, Bytes, Did, Done, Fence, Set, Step, Wait
from pto_buf.hw import A2A3, A5, Pipe, Space

_KINDS = {"race": "race", "same-pipe-hazard": "race"}


def random_steps(rng: random.Random) -> list[Step]:
    """A few ops on three pipes and two tiles, with fences most of which have both ends."""
    pipes = [Pipe.MTE2, Pipe.V, Pipe.MTE3] + ([Pipe.S] if rng.random() < 0.2 else [])
    steps: list[Step] = []

    def site() -> Site:
        return Site(len(steps), "op", None)

    for _ in range(rng.randint(2, 6)):
        start = 32 * rng.randint(0, 1)
        where = Bytes(Space.VEC, ((start, start + rng.choice([32, 32, 64])),))
        writes = rng.random() < 0.5
        steps.append(Did(site(), (rng.choice(pipes),), (Access(where, not writes, writes),), ()))
        while rng.random() < 0.6:
            src, dst = rng.sample(pipes, 2)
            lane = rng.randint(0, 1)
            what = rng.random()
            if what < 0.15:
                steps.append(Fence(site(), rng.choice([Pipe.ALL, *pipes[:3]]), ()))
            else:
                if what < 0.9:
                    steps.append(Set(site(), src, dst, lane, ()))
                    while rng.random() < 0.3:
                        steps.append(Did(site(), (rng.choice(pipes),), (Access(where, True, False),), ()))
                if what > 0.2:
                    steps.append(Wait(site(), src, dst, lane, ()))
    steps.append(Done(Site(99, "return", None), ()))
    return steps


def agree(steps: list[Step], model: Model) -> None:
    """Up to the first overflow or deadlock both say the same; whether there is any fault, always."""
    judged = {_KINDS.get(finding.fault.value, finding.fault.value) for finding in judge(steps, model).findings}
    played = faults_of(steps, model)
    assert bool(judged) == bool(played), (judged, played)
    if "overflow" not in judged and "deadlock" not in judged:
        assert judged == played


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.integers(0, 10**9), st.booleans())
def test_judge_agrees_with_all_interleavings(seed: int, a5: bool):
    agree(random_steps(random.Random(seed)), model_of(A5 if a5 else A2A3, entry=False))
