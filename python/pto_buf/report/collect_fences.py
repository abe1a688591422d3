"""What is known of the fences of a kernel: from a run of it, and from what the compiler noted."""

from collections.abc import Iterator

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from pto_buf.dialect.kernel import SectionCubeOp, SectionOp
from pto_buf.dialect.ptobuf import EventOp, SetOp, WaitOp
from pto_buf.dialect.sync import SetFlagDynOp, SetFlagOp, WaitFlagDynOp, WaitFlagOp
from pto_buf.hw import Core
from pto_buf.machine.steps import CoreId
from pto_buf.report.collect import events
from pto_buf.report.explain import Cost, Explanation
from pto_buf.report.fences import EventLine
from pto_buf.sim.fences import Fence, fences_of
from pto_buf.sim.naming import Names
from pto_buf.sim.profile import Profile, profile
from pto_buf.sim.simulate import Launch, cores_of_block

_FLAGS = SetFlagOp | SetFlagDynOp | WaitFlagOp | WaitFlagDynOp


def explanations(launch: Launch, names: Names, fenced: FuncOp | None = None) -> tuple[Explanation, ...]:
    """Every fence of the kernel, numbered from 1; costs are left for `cost_of` to work out.

    `fenced` is the kernel as the compiler had it before its last step: its events come first then, by their order in
    the report, the barriers behind them.
    """
    cores: dict[Core | None, CoreId] = {}
    for core in cores_of_block(launch, 0):
        cores.setdefault(core.core, core)
    found = ((kind, *one) for kind, core in cores.items() for one in _of_core(launch, core, names, fenced))
    return tuple(
        Explanation(number, event, fence, core=kind) for number, (kind, event, fence) in enumerate(found, start=1)
    )


def without_run(fenced: FuncOp) -> tuple[Explanation, ...]:
    """The events of a kernel that cannot be run, since numbers are missing."""
    return tuple(Explanation(number, event, None) for number, event in enumerate(events(fenced), start=1))


def _of_core(
    launch: Launch, core: CoreId, names: Names, fenced: FuncOp | None
) -> Iterator[tuple[EventLine | None, Fence | None]]:
    fences = fences_of(tuple(launch.steps(core)), names)
    if fenced is None:
        yield from ((None, fence) for fence in fences)
        return
    by_site = {site: fence for fence in fences for site in fence.sites}
    sites = _sites_of_events(launch.function, core.core, fenced)
    for number, event in enumerate(events(fenced)):
        yield event, next((by_site[site] for site in sites.get(number, ()) if site in by_site), None)
    yield from ((None, fence) for fence in fences if fence.barrier)


def _sites_of_events(function: FuncOp, core: Core | None, fenced: FuncOp) -> dict[int, list[int]]:
    """The numbers of the sets and waits that each event became: the last step keeps them all, in their order."""
    flags = [site for site, op in _numbered(function, core) if isinstance(op, _FLAGS)]
    ops = (op for op in fenced.walk() if isinstance(op, EventOp))
    numbers: dict[SSAValue, int] = {op.event: number for number, op in enumerate(ops)}
    uses = [op for _, op in _numbered(fenced, core) if isinstance(op, SetOp | WaitOp)]
    found: dict[int, list[int]] = {}
    for site, use in zip(flags, uses, strict=True):
        found.setdefault(numbers[use.event], []).append(site)
    return found


def _numbered(function: FuncOp, core: Core | None) -> Iterator[tuple[int, Operation]]:
    """The ops of a kernel by the numbers that the machine gives them; of sections, only those for this kind of core."""
    number = 0

    def walk(op: Operation) -> Iterator[Operation]:
        yield op
        if isinstance(op, SectionOp) and core is not (Core.CUBE if isinstance(op, SectionCubeOp) else Core.VECTOR):
            return
        for region in op.regions:
            for block in region.blocks:
                for inner in block.ops:
                    yield from walk(inner)

    for op in function.body.block.ops:
        for inner in walk(op):
            number += 1
            yield number, inner


def cost_of(launch: Launch, timed: Profile, one: Explanation) -> Cost | None:
    """What the fence costs in the run that was timed; None for one that the run does not come to.

    The run is timed again without it, which no other fence makes right.
    """
    if one.fence is None:
        return None
    again = profile(launch, timed.costs, without=[(one.core, site) for site in one.fence.sites])
    stalls = (stall for timeline in timed.timelines for stall in timeline.stalls)
    held = sum(s.cycles for s in stalls if s.given is not None and s.given.site in one.fence.sites)
    return Cost(timed.cycles, held, again.cycles)
