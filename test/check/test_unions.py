"""States that are exactly one go on as one: nothing is lost by it, and nothing is said that is not so."""

import random

import pytest

from check.kernels import Kernel
from check.programs import program_of
from pto_buf.check.facts.facts import Facts
from pto_buf.check.facts.unions import covers, unite
from pto_buf.check.model import model_of
from pto_buf.check.proof import prove as proving
from pto_buf.check.proof.knowledge import Knowledge
from pto_buf.check.proof.prove import Prover
from pto_buf.check.proof.witness import FEW_TRIED
from pto_buf.check.terms import Node, Var, at_most, const, evaluate
from pto_buf.check.whole import one_core
from pto_buf.hw import A2A3, Pipe

X, Y = ((((0,), 1),), (((1,), 1),))
XY = (((0,), 1), ((1,), -1))
SMALL = at_most(Var(0, "x"), const(2))


def some_facts(rng: random.Random) -> Facts:
    ends = (None, 0, 1, 2, 3, 4)
    ranges = {}
    for form in (X, Y, XY):
        low, high = rng.choice(ends), rng.choice(ends)
        if rng.random() < 0.6 and (low, high) != (None, None) and (low is None or high is None or low <= high):
            ranges[form] = (low, high)
    modulus = rng.choice((1, 2, 4))
    residues = {} if modulus == 1 else {1: (rng.randrange(modulus), modulus)}
    assert isinstance(SMALL, Node)
    return Facts(ranges, residues, {SMALL: rng.random() < 0.5} if rng.random() < 0.4 else {})


def holds(facts: Facts, env: tuple[int, int]) -> bool:
    values = {X: env[0], Y: env[1], XY: env[0] - env[1]}
    return (
        all(
            (low is None or low <= values[form]) and (high is None or values[form] <= high)
            for form, (low, high) in facts.ranges.items()
        )
        and all(env[key] % modulus == residue for key, (residue, modulus) in facts.residues.items())
        and all(bool(evaluate(node, dict(enumerate(env)))) == outcome for node, outcome in facts.outcomes.items())
    )


POINTS = [(x, y) for x in range(-2, 7) for y in range(-2, 7)]


@pytest.mark.parametrize("seed", range(40))
def test_a_union_holds_where_one_of_its_parts_does(seed: int):
    rng = random.Random(seed)
    every = [some_facts(rng) for _ in range(rng.choice((2, 6, 30)))]
    found = unite(every)
    assert sorted(member for one in found for member in one.members) == list(range(len(every)))
    for one in found:
        for point in POINTS:
            assert holds(one.facts, point) == any(holds(every[member], point) for member in one.members)


@pytest.mark.parametrize("seed", range(20))
def test_what_covers_holds_wherever_the_other_does(seed: int):
    rng = random.Random(f"covers {seed}")
    every = [some_facts(rng) for _ in range(30)]
    pairs = [(one, other) for one in every for other in every if one is not other and covers(one, other)]
    assert pairs
    for one, other in pairs:
        assert all(holds(one, point) for point in POINTS if holds(other, point))


def test_ranges_and_residues_without_a_gap_become_one():
    ranges = [Facts({X: (number, number)}, {}, {}) for number in range(4)] + [Facts({X: (4, None)}, {}, {})]
    assert [one.facts for one in unite(ranges)] == [Facts({X: (0, None)}, {}, {})]
    residues = [Facts({}, {0: (number, 6)}, {}) for number in range(6)]
    assert [one.facts for one in unite(residues)] == [Facts({}, {}, {})]
    assert [one.facts for one in unite(residues[::2])] == [Facts({}, {0: (0, 2)}, {})]
    assert len(unite([ranges[0], ranges[2]])) == len(unite(residues[:2])) == 2


def rings_in_steps() -> str:
    """Two rings behind one another in a loop, each six trips at a time and what is left one by one."""
    kernel = Kernel("n m")
    kernel.slots("P")
    kernel.slots("Y")
    kernel.prime("V>MTE2", 1)
    with kernel.loop("o", 0, 2):
        for counter, end in (("i", "n"), ("j", "m")):
            with kernel.carrying(counter, 0, f"max({end} - 5, 0)", f"{counter}0", 0, f"{counter} + 6", 6):
                kernel.turn("0", "0")
            with kernel.loop(f"{counter}1", f"{counter}0", end):
                kernel.turn("0", "0")
    kernel.drain("V>MTE2", 1)
    kernel.barrier()
    return kernel.text()


def test_loops_behind_one_another_do_not_multiply_the_states(monkeypatch: pytest.MonkeyPatch):
    """Neither is it tried hard to find a run for what a later stage proves."""
    tried: list[int] = []
    witnesses = proving.witnesses

    def counted(*args: object):
        tried.append(int(str(args[-1])))
        return witnesses(*args)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(proving, "witnesses", counted)
    program = program_of(rings_in_steps())
    proof = Prover(program, model_of(A2A3), one_core(program)).prove()
    assert (proof.open, proof.findings) == ([], ())
    assert proof.states < 500
    assert set(tried) <= {FEW_TRIED}


def rings_of_the_data(slots: int) -> str:
    """Each trip, if the data say so, fills and uses one of many slots."""
    kernel = Kernel()
    kernel.slots("P", slots)
    kernel.prime("MTE3>MTE2", slots)
    with kernel.loop("i", 0, "n"):
        kernel.let("c", "unknown(i)")
        with kernel.when("c"):
            lane = f"i % {slots}"
            kernel.wait("MTE3>MTE2", lane)
            kernel.load(f"P[{lane}]")
            kernel.fence("MTE2>MTE3", lane)
            kernel.store(f"P[{lane}]", "h", "i * 16")
            kernel.set("MTE3>MTE2", lane)
    kernel.drain("MTE3>MTE2", slots)
    kernel.barrier()
    return kernel.text()


def test_lanes_that_the_data_choose_do_not_multiply_the_states():
    """Which lanes have been passed on does not matter, as long as it may be none."""
    program = program_of(rings_of_the_data(8))
    proof = Prover(program, model_of(A2A3), one_core(program)).prove()
    assert (proof.open, proof.findings) == ([], ())
    assert proof.states < 12_000


FLAG = (0, Pipe.MTE2, Pipe.V, 0)


@pytest.mark.parametrize(
    ("less", "more", "expected"),
    [
        (Knowledge([0, 0], 1), Knowledge([1, 0], 1), True),
        (Knowledge([1, 0], 1), Knowledge([0, 1], 1), False),
        (Knowledge([0, 0], 3), Knowledge([0, 0], 1), True),
        (Knowledge([0, 0], 1), Knowledge([0, 0], 3), False),
        (Knowledge([2, 0], 3), Knowledge([0, 0], 1), True),
        (Knowledge([0, 0], 1), Knowledge([0, 0], 0), False),
        (Knowledge([0, 0], 1), Knowledge([0, 0], 1, {FLAG: 1}), True),
        (Knowledge([0, 0], 1, {FLAG: 1}), Knowledge([0, 0], 1), False),
        (Knowledge([0, 0], 1, signals={(0, 1, 0): (0, 1)}), Knowledge([0, 0], 1, signals={(0, 1, 0): (1, 1)}), True),
        (Knowledge([0, 0], 1, signals={(0, 1, 0): (1, 1)}), Knowledge([0, 0], 1, signals={(0, 1, 0): (0, 1)}), False),
    ],
)
def test_knowledge_that_says_no_more(less: Knowledge, more: Knowledge, expected: bool):
    """An access that is no longer looked at counts as known, but no state without any access speaks for one with."""
    assert less.shape() == more.shape()
    assert less.says_no_more(more) is expected


@pytest.mark.parametrize(
    "other", [Knowledge([0], 1, pending=frozenset({FLAG})), Knowledge([0], 1, signals={(0, 1, 0): (0,)})]
)
def test_knowledge_of_other_flags_is_not_compared(other: Knowledge):
    assert Knowledge([0], 1).shape() != other.shape()
