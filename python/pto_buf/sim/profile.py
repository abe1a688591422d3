"""Timing a kernel: every block on a core of its own."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pto_buf.dialect.tile_op import target_of
from pto_buf.hw import Core, Target
from pto_buf.machine.code import Meter
from pto_buf.machine.exec import Steps
from pto_buf.machine.steps import CoreId
from pto_buf.sim.costs import Costs, costs_of
from pto_buf.sim.simulate import Launch, cores_of_block, roles_of
from pto_buf.sim.timeline import Timeline
from pto_buf.sim.timing import Shared, Timer
from pto_buf.sim.tokens import Tokens

Site: TypeAlias = tuple[Core | None, int]
"""An op of a kernel: the kind of core whose section it stands in, if any, and its number there."""


@dataclass(frozen=True)
class Profile:
    """A timed kernel: one timeline for each core of each block."""

    kernel: str
    target: Target
    costs: Costs
    timelines: tuple[Timeline, ...]

    @property
    def cycles(self) -> int:
        """From the start of the kernel to the end of its last block, without the launch."""
        return max((timeline.end for timeline in self.timelines), default=0)

    @property
    def slowest(self) -> Timeline:
        return max(self.timelines, key=lambda timeline: timeline.end)


def profile(launch: Launch, costs: Costs | None = None, *, without: Collection[Site] = ()) -> Profile:
    """Time every block of the kernel, each on cores of its own; `launch` needs no arrays.

    The steps of the ops that `without` names are left out.
    Raises DiagnosticError for a kernel that gets stuck, whose numbers depend on memory, or an op without a cost.
    """
    target = target_of(launch.function)
    table = costs or costs_of(target)
    timelines: list[Timeline] = []
    for block in range(launch.blocks):
        timelines += _block(launch, block, table, target, frozenset(without))
    return Profile(launch.function.sym_name.data, target, table, tuple(timelines))


def _block(launch: Launch, block: int, costs: Costs, target: Target, without: frozenset[Site]) -> list[Timeline]:
    cores = cores_of_block(launch, block)
    shared = Shared(costs, Tokens(roles_of(cores)), target.name == "a2a3")
    timers: list[Timer] = []
    for core in cores:
        meter = Meter()
        kept = _without(launch.steps(core, meter), core.core, without)
        timers.append(Timer(shared, kept, meter, block, _name(core, cores)))
    while any(timer.advance() for timer in timers):
        pass
    return [timer.finish() for timer in timers]


def _without(steps: Steps, kind: Core | None, gone: frozenset[Site]) -> Steps:
    yield from (step for step in steps if (kind, step.site) not in gone)


def _name(core: CoreId, cores: Sequence[CoreId]) -> str:
    if core.core is None:
        return f"block {core.block}"
    number = f" {core.subblock}" if sum(one.core is core.core for one in cores) > 1 else ""
    return f"block {core.block} {core.core}{number}"
