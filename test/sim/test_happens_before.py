"""What the checker proves to come first does: in the timed run, and in every order in which values are simulated."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

import pto_buf
from check.corpus import CASES
from check.mixed import handed_over
from check.programs import program_of
from pto_buf.check.checker import arguments_by_name
from pto_buf.check.model import model_of
from pto_buf.check.reading.build import build
from pto_buf.check.runs import order as judging
from pto_buf.check.runs.clocks import PIPES, number_of
from pto_buf.check.runs.concrete import Choice, data_dependent
from pto_buf.check.runs.run import streams_of
from pto_buf.check.runs.steps import Did, Stream
from pto_buf.dialect.tile_op import target_of
from pto_buf.hw import Pipe
from pto_buf.machine.exec import kernel_named, scalar_arguments
from pto_buf.machine.steps import Exec, ScalarAccess
from pto_buf.sim.engine import Engine
from pto_buf.sim.orders import ADVERSARIES, Order, Policy, late
from pto_buf.sim.profile import profile
from pto_buf.sim.simulate import Launch, cores_of_block, roles_of
from support.kernels_in_python import SEED
from support.pto_text import parse
from support.streams import stream

ORDERS = (Order(Policy.EARLY), *ADVERSARIES, *(Order(Policy.RANDOM, seed=seed) for seed in range(4)))


@dataclass(frozen=True)
class Op:
    """An op as the checker saw it: how far it knows each pipe of each core to be complete when it starts."""

    pipe: int
    known: tuple[int, ...]


class _Watched(judging._Judge):
    """The checker's own judge, with its knowledge written down."""

    def __init__(self, streams: Sequence[Stream], model: Any):
        super().__init__(streams, model, None, None)
        self.ops: dict[int, list[Op]] = {}
        """Of each core, in the order of issue."""
        self.steps: dict[int, list[tuple[int, int]]] = {}
        """Of each pipe, its ops: the number of the step, and which op of the core it is."""

    def _did(self, number: int, core: Any, step: Did) -> None:
        ops = self.ops.setdefault(number, [])
        for pipe in step.pipes:
            at = number_of(number, pipe)
            self.steps.setdefault(at, []).append((self._clocks._count[at] + 1, len(ops)))
        first = number_of(number, step.pipes[0])
        ops.append(Op(first, tuple(self._clocks._known[first])))
        super()._did(number, core, step)

    def before(self) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
        """Pairs of ops, each by its core and number: the first is complete when the second starts.

        Of each pipe only the last one that is known complete: those before it are, as far as the pipe is in order.
        """
        for core, ops in self.ops.items():
            for number, op in enumerate(ops):
                for pipe, count in enumerate(op.known):
                    done = self.steps.get(pipe, [])
                    last = bisect_right(done, (count, len(done) + 1)) - 1
                    if last >= 0 and done[last][0] <= count:
                        yield (pipe // len(PIPES), done[last][1]), (core, number)


class _Log:
    """The effects of a run in which nothing happens but that ops are executed, one after another."""

    def __init__(self) -> None:
        self.issued: dict[int, list[int]] = {}
        self.executed: dict[int, int] = {}

    def issue(self, core: int, step: Exec) -> None:
        self.issued.setdefault(core, []).append(id(step))

    def execute(self, core: int, pipe: Pipe, step: Exec) -> None:
        self.executed.setdefault(id(step), len(self.executed))

    def access(self, core: int, step: ScalarAccess) -> None:
        raise AssertionError("these kernels have none")

    def unfinished(self, core: int, pipe: Pipe) -> bool:
        return False

    def settle(self, core: int, pipe: Pipe) -> None:
        pass


KERNELS = {
    **{f"stream-{slots}": stream(slots) for slots in (1, 2, 3)},
    **{
        name: case.text for name, case in CASES.items() if not case.faults and not data_dependent(program_of(case.text))
    },
    "mixed": handed_over(slots=2),
    **{f"seed-{target}": pto_buf.compile(SEED, check=False, target=target).pto for target in ("a2a3", "a5")},
}


def launched(text: str, trips: int) -> Launch:
    """Every integer argument is the trip count."""
    function = kernel_named(parse(text), None)
    scalars = {name: trips if str(type) == "index" else 1.5 for _, name, type in scalar_arguments(function)}
    return Launch(function, {}, scalars)


def watched(launch: Launch) -> _Watched:
    program = build(launch.function)
    given = {name: value for name, value in launch.scalars.items() if isinstance(value, int)}
    streams = streams_of(program, Choice(arguments_by_name(program, given)))
    judge = _Watched(streams, model_of(target_of(launch.function), global_raw=True))
    assert judge.run().findings == []
    return judge


@pytest.mark.parametrize("trips", [1, 4])
@pytest.mark.parametrize("name", KERNELS)
def test_in_the_timed_run(name: str, trips: int) -> None:
    launch = launched(KERNELS[name], trips)
    judge = watched(launch)
    spans: dict[tuple[int, int], tuple[int, int]] = {}
    for core, timeline in enumerate(profile(launch).timelines):
        queues: dict[Pipe, list[tuple[int, int]]] = {}
        for one in timeline.slices:
            queues.setdefault(one.pipe, []).append((one.start, one.end))
        taken = {pipe: iter(queue) for pipe, queue in queues.items()}
        for number, op in enumerate(judge.ops.get(core, ())):
            spans[core, number] = next(taken[PIPES[op.pipe % len(PIPES)]])
        assert all(next(rest, None) is None for rest in taken.values())
    pairs = list(judge.before())
    assert [(one, other) for one, other in pairs if spans[one][1] > spans[other][0]] == []
    assert pairs or name == "B34-right"


@pytest.mark.parametrize("name", KERNELS)
def test_in_every_order_of_values(name: str) -> None:
    launch = launched(KERNELS[name], 4)
    pairs = list(watched(launch).before())
    cores = cores_of_block(launch, 0)
    for order in ORDERS:
        log = _Log()
        signals = target_of(launch.function).name == "a2a3"
        Engine([launch.steps(core) for core in cores], log, order, roles_of(cores), signals).run()
        at = {
            (core, number): log.executed[step]
            for core, issued in log.issued.items()
            for number, step in enumerate(issued)
        }
        assert [(one, other) for one, other in pairs if at[one] >= at[other]] == [], str(order)


def test_the_comparison_would_notice() -> None:
    """Ops that the checker does not order do run the other way round in some order."""
    launch = launched(stream(2), 4)
    judge = watched(launch)
    ordered = set(judge.before())
    log = _Log()
    Engine([launch.steps(cores_of_block(launch, 0)[0])], log, late(Pipe.MTE2)).run()
    at = [log.executed[step] for step in log.issued[0]]
    backwards = [(one, other) for other in range(len(at)) for one in range(other) if at[one] > at[other]]
    assert backwards
    assert not any(((0, one), (0, other)) in ordered for one, other in backwards)
