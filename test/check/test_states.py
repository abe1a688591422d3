"""Every concrete run stays inside the states of the proof: what these claim of numbers and flags holds in it.

The check of certificates works numbers out with the same code as the search; this does without it.
"""

import random
from collections.abc import Iterator, Mapping
from itertools import product

import pytest

from check.programs import function_of
from check.random_kernels import right_kernel
from check.rich_kernels import rich_kernel
from pto_buf.check.model import model_of
from pto_buf.check.program import Assign, Branch, End, Enter, Fresh, Jump, Kind, SetFlag, WaitFlag
from pto_buf.check.proof.explore import Explorer
from pto_buf.check.proof.frontier import State
from pto_buf.check.proof.ground import FlagKey
from pto_buf.check.proof.prepare import prepare
from pto_buf.check.proof.prove import Prover
from pto_buf.check.reading.build import build
from pto_buf.check.terms import Fn, Node, Term, evaluate
from pto_buf.check.whole import one_core
from pto_buf.dialect.tile_op import target_of
from pto_buf.hw import Pipe

_LONGEST = 3_000


def run_of(
    prover: Prover, env: dict[int, int], rng: random.Random
) -> Iterator[tuple[int, dict[int, int], set[FlagKey]]]:
    """The instructions of one run of one core, with the variables and the flags that are set before each."""
    code, at, flags = prover.code.instructions, 0, set[FlagKey]()
    for _ in range(_LONGEST):
        yield at, env, flags
        one = code[at]
        at += 1
        match one:
            case Assign():
                env.update([(var.key, _value(term, env, rng)) for var, term in one.pairs])
            case Fresh():
                env[one.var.key] = rng.randint(0, 1)
            case SetFlag():
                flags.add((0, one.src, one.dst, evaluate(one.lane, env)))
            case WaitFlag():
                flags.remove((0, one.src, one.dst, evaluate(one.lane, env)))
            case Branch():
                at = at if evaluate(one.condition, env) else one.otherwise
            case Jump():
                at = one.target
            case Enter(loop) if loop.step is not None and evaluate(loop.step, env) <= 0:
                return  # has no meaning
            case End():
                return
            case _:
                pass


def _value(term: Term, env: Mapping[int, int], rng: random.Random) -> int:
    """Of an element of an array, any number."""
    loaded = isinstance(term, Node) and term.fn is Fn.ELEMENT
    return rng.randint(0, 1) if loaded else evaluate(term, env)


def holds(state: State, env: Mapping[int, int], flags: set[FlagKey], goals: frozenset[FlagKey]) -> bool:
    """Whether all that the state claims of numbers and of the flags among the goals is so."""
    for form, (low, high) in state.facts.ranges.items():
        value = 0
        for mono, factor in form:
            for key in mono:
                factor *= env[key]
            value += factor
        if (low is not None and value < low) or (high is not None and value > high):
            return False
    if any(env[key] % modulus != residue for key, (residue, modulus) in state.facts.residues.items()):
        return False
    if any(bool(evaluate(node, env)) != outcome for node, outcome in state.facts.outcomes.items()):
        return False
    pending = {flag for flag in state.knowledge.pending if flag[1] is not Pipe.ALL}
    return pending == flags & goals


def check_runs(text: str, largest: int, seed: int) -> int:
    """Goes through small runs of a kernel. Returns how many places in them were compared."""
    function = function_of(text)
    program, model = build(function), model_of(target_of(function))
    prover = Prover(program, model, one_core(program))
    proof = prover.prove()
    prepared, compared = prepare(program), 0
    inputs = [info.var.key for info in program.variables if info.var.key in {var.key for _, var in program.arguments}]
    for goals, moduli, stage in proof.groups:
        if goals[0].window is not None:
            continue  # the states hold the place that is kept in mind as well
        explorer = prover.explorer(Explorer, moduli, goals, stage)
        explorer.explore()
        by_place: dict[int, list[State]] = {}
        for state in explorer.states:
            by_place.setdefault(state.at, []).append(state)
        flags_of_goals = frozenset(goal.flag for goal in goals if goal.flag is not None)
        places = prover.joins
        for values in product(range(largest + 1), repeat=len(inputs)):
            env = {info.var.key: seed % 2 for info in program.variables if info.kind is Kind.FIXED}
            env.update(zip(inputs, values, strict=True))
            env.update(prepared.known)
            env.update({key: evaluate(node, env) for key, node in prepared.defined.items()})
            for at, now, flags in run_of(prover, env, random.Random(seed)):
                if at in places:
                    compared += 1
                    assert any(holds(state, now, flags, flags_of_goals) for state in by_place.get(at, ()))
    return compared


KINDS = {"rings": right_kernel, "rich": rich_kernel}


@pytest.mark.parametrize(("kind", "seed"), [("rings", 1), ("rings", 4), ("rich", 0), ("rich", 5), ("rich", 7)])
def test_runs_stay_inside_the_states(kind: str, seed: int):
    assert check_runs(KINDS[kind](random.Random(f"states {kind} {seed}")), 4, seed) > 0
