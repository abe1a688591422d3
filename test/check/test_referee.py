"""The judgement of a run agrees with going through all its interleavings."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from check.interleave import TooManyError, alone, faults_of
from pto_buf.check.model import Model, model_of
from pto_buf.check.program import Site
from pto_buf.check.runs.order import judge_streams
from pto_buf.check.runs.steps import (
    Access,
    Awaited,
    Box,
    Bytes,
    Did,
    Done,
    Fence,
    Locked,
    Set,
    Signalled,
    Step,
    Stream,
    Wait,
)
from pto_buf.hw import A2A3, A5, Core, Pipe, Space

pytestmark = pytest.mark.campaign

_KINDS = {"same-pipe-hazard": "race"}


class _Steps:
    def __init__(self, rng: random.Random, pipes: list[Pipe]):
        self.rng, self.pipes = rng, pipes
        self.steps: list[Step] = []

    def site(self) -> Site:
        return Site(len(self.steps), "op", None)

    def tile_op(self, where: Bytes | Box, writes: bool) -> None:
        access = Access(where, not writes, writes)
        self.steps.append(Did(self.site(), (self.rng.choice(self.pipes),), (access,), ()))

    def done(self) -> list[Step]:
        return [*self.steps, Done(Site(99, "return", None), ())]


def random_steps(rng: random.Random, locks: bool) -> list[Step]:
    """A few ops on three pipes and two tiles, with flags, locks and barriers most of which have both ends."""
    found = _Steps(rng, [Pipe.MTE2, Pipe.V, Pipe.MTE3] + ([Pipe.S] if rng.random() < 0.2 else []))
    for _ in range(rng.randint(2, 6)):
        start = 32 * rng.randint(0, 1)
        where = Bytes(Space.VEC, ((start, start + rng.choice([32, 32, 64])),))
        if locks and rng.random() < 0.7:
            pipe, lane = rng.choice(found.pipes), rng.randint(0, 1)
            if rng.random() < 0.95:
                found.steps.append(Locked(found.site(), pipe, lane, True, ()))
            found.steps.append(Did(found.site(), (pipe,), (Access(where, rng.random() < 0.5, True),), ()))
            if rng.random() < 0.95:
                found.steps.append(Locked(found.site(), pipe, lane, False, ()))
            continue
        found.tile_op(where, rng.random() < 0.5)
        while rng.random() < 0.6:
            src, dst = rng.sample(found.pipes, 2)
            lane = rng.randint(0, 1)
            what = rng.random()
            if what < 0.15:
                found.steps.append(Fence(found.site(), rng.choice([Pipe.ALL, *found.pipes[:3]]), ()))
                continue
            if what < 0.9:
                found.steps.append(Set(found.site(), src, dst, lane, ()))
                while rng.random() < 0.3:
                    found.tile_op(where, False)
            if what > 0.2:
                found.steps.append(Wait(found.site(), src, dst, lane, ()))
    return found.done()


def random_block(rng: random.Random) -> list[Stream]:
    """A cube and a vector core with a few ops on two places of one global array, and signals both ways."""
    cube, vector = _Steps(rng, [Pipe.MTE2, Pipe.FIX]), _Steps(rng, [Pipe.MTE2, Pipe.MTE3])
    for _ in range(rng.randint(1, 3)):
        first, second = rng.sample([cube, vector], 2)
        for steps in (first, second):
            if steps is second or rng.random() < 0.4:
                row = rng.randint(0, 1)
                box = Box(0, "w", 0, (2, 8), (8, 1), (row, 0), (1, 8), 4)
                steps.tile_op(box, rng.random() < 0.5)
            id, what = rng.randint(0, 1), rng.random()
            if steps is first and what < 0.9:
                steps.steps.append(Signalled(steps.site(), rng.choice(steps.pipes), id, ()))
            if steps is second and what < 0.9:
                steps.steps.insert(
                    len(steps.steps) - rng.randint(0, 1), Awaited(steps.site(), rng.choice(steps.pipes), id, ())
                )
            if rng.random() < 0.3:
                src, dst = rng.sample(steps.pipes, 2)
                steps.steps += [Set(steps.site(), src, dst, 0, ()), Wait(steps.site(), src, dst, 0, ())]
    return [Stream(Core.CUBE, 0, tuple(cube.done())), Stream(Core.VECTOR, 0, tuple(vector.done()))]


def agree(streams: list[Stream], model: Model) -> set[str]:
    """Up to the first overflow or deadlock both say the same; whether there is any fault, always."""
    judged = {
        _KINDS.get(finding.fault.value, finding.fault.value) for finding in judge_streams(streams, model).findings
    }
    try:
        played = faults_of(streams, model)
    except TooManyError:
        return judged
    assert bool(judged) == bool(played), (judged, played)
    if "overflow" not in judged and "deadlock" not in judged:
        assert judged == played
    return judged


def model(a5: bool) -> Model:
    return model_of(A5 if a5 else A2A3, entry=False, global_raw=True)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 10**9), st.booleans())
def test_judge_agrees_with_all_interleavings(seed: int, a5: bool):
    agree(alone(random_steps(random.Random(seed), False)), model(a5))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(0, 10**9))
def test_judge_agrees_about_locks(seed: int):
    agree(alone(random_steps(random.Random(seed), True)), model(True))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 10**9), st.booleans())
def test_judge_agrees_about_two_cores(seed: int, a5: bool):
    agree(random_block(random.Random(seed)), model(a5))


@pytest.mark.parametrize("fault", ["race", "deadlock", "leftover"])
def test_random_blocks_show_every_fault_and_none(fault: str):
    found = [agree(random_block(random.Random(seed)), model(False)) for seed in range(60)]
    assert any(fault in one for one in found)
    assert any(not one for one in found)
