"""What is known of the fences of a kernel: from a run of it, and from what the compiler noted."""

from collections.abc import Iterator, Sequence

from xdsl.dialects.func import FuncOp

from pto_buf.dialect.attributes import KernelKindAttr
from pto_buf.hw import Core
from pto_buf.machine.steps import CoreId, SetFlag, WaitFlag
from pto_buf.report.collect import events
from pto_buf.report.explain import Cost, Explanation
from pto_buf.report.fences import EventLine
from pto_buf.sim.fences import Fence, fences_of
from pto_buf.sim.naming import Names
from pto_buf.sim.profile import Profile, profile
from pto_buf.sim.simulate import Launch, cores_of_block


def explanations(launch: Launch, names: Names, parts: Sequence[FuncOp] = ()) -> tuple[Explanation, ...]:
    """Every fence of the kernel, numbered from 1; costs are left for `cost_of` to work out.

    `parts` is the kernel as the compiler had it before its last step: its events come first then, by their order in
    the report, the barriers behind them.
    """
    cores: dict[Core | None, CoreId] = {}
    for core in cores_of_block(launch, 0):
        cores.setdefault(core.core, core)
    found = [(kind, *one) for kind, core in cores.items() for one in _of_core(launch, core, names, _of(parts, kind))]
    found.sort(key=lambda one: bool(parts) and one[1] is None)
    return tuple(
        Explanation(number, event, fence, core=kind) for number, (kind, event, fence) in enumerate(found, start=1)
    )


def without_run(parts: Sequence[FuncOp]) -> tuple[Explanation, ...]:
    """The events of a kernel that cannot be run, since numbers are missing."""
    every = (event for part in parts for event in events(part))
    return tuple(Explanation(number, event, None) for number, event in enumerate(every, start=1))


def _of(parts: Sequence[FuncOp], kind: Core | None) -> FuncOp | None:
    """The part of one kind of core; of a kernel for one kind there is one part."""
    alike = (
        part
        for part in parts
        if part.attributes.get("pto.kernel_kind") == (None if kind is None else KernelKindAttr(kind))
    )
    return parts[0] if len(parts) == 1 else next(alike, None)


def _of_core(
    launch: Launch, core: CoreId, names: Names, fenced: FuncOp | None
) -> Iterator[tuple[EventLine | None, Fence | None]]:
    steps = tuple(launch.steps(core))
    if fenced is None:
        yield from ((None, fence) for fence in fences_of(steps, names))
        return
    known = events(fenced)
    fences = fences_of(steps, names, lambda given, taken: _event_of(known, given, taken))
    by_event = {fence.owner: fence for fence in fences}
    yield from ((event, by_event.get(number)) for number, event in enumerate(known))
    yield from ((None, fence) for fence in fences if fence.owner is None)


def _event_of(known: Sequence[EventLine], given: SetFlag, taken: WaitFlag) -> int | None:
    """The event with this flag; of several that have it one after another, the one with ops at the same places."""
    same = [
        number
        for number, event in enumerate(known)
        if (event.src, event.dst) == (given.src, given.dst) and given.id in event.ids
    ]
    near = [n for n in same if given.place in known[n].places and taken.place in known[n].places]
    return next(iter((*near, *same)), None)


def cost_of(launch: Launch, timed: Profile, one: Explanation) -> Cost | None:
    """What the fence costs in the run that was timed; None for one that the run does not come to.

    The run is timed again without it, which no other fence makes right.
    """
    if one.fence is None:
        return None
    again = profile(launch, timed.costs, without=[(one.core, site) for site in one.fence.sites])
    own = (timeline for timeline in timed.timelines if one.core is None or str(one.core) in timeline.core.split())
    held = max(
        sum(s.cycles for s in timeline.stalls if s.given is not None and s.given.site in one.fence.sites)
        for timeline in own
    )
    return Cost(timed.cycles, held, again.cycles)
