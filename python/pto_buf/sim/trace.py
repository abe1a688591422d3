"""A timed run as a Chrome trace, which ui.perfetto.dev and chrome://tracing open."""

import json
from collections.abc import Iterator
from typing import Any, TypeAlias

from pto_buf.sim.counters import counters_of
from pto_buf.sim.naming import Names
from pto_buf.sim.profile import Profile
from pto_buf.sim.timeline import LANES, Slice, Stall, Timeline

Event: TypeAlias = dict[str, Any]


def chrome_trace(profile: Profile, names: Names | None = None) -> str:
    """The trace as JSON text: one process for each core, one lane for each pipe, times in microseconds.

    Arrows run from the op before a set to the op behind its wait. Counters show the flags that are set for each pair of
    pipes, the slots of each set (with names) and the bytes of each buffer that hold something still to be read.
    """
    events: list[Event] = []
    for number, timeline in enumerate(profile.timelines):
        events += _Core(profile, timeline, number, names).events()
    return json.dumps(
        {
            "traceEvents": events,
            "displayTimeUnit": "ns",
            "otherData": {
                "kernel": profile.kernel,
                "target": profile.target.name,
                "clock_mhz": profile.costs.clock_mhz,
                "cycles": profile.cycles,
            },
        }
    )


class _Core:
    def __init__(self, profile: Profile, timeline: Timeline, number: int, names: Names | None):
        self._names = names
        self._profile = profile
        self._timeline = timeline
        self._pid = number

    def events(self) -> Iterator[Event]:
        yield from self._titles()
        stalls = {id(stall.step): stall for stall in self._timeline.stalls}
        for one in self._timeline.slices:
            yield self._slice(one, stalls.get(id(one.step)))
        yield from self._arrows()
        yield from self._counters()

    def _at(self, cycles: float) -> float:
        return round(self._profile.costs.microseconds(cycles), 6)

    def _titles(self) -> Iterator[Event]:
        yield self._meta("process_name", 0, name=f"{self._profile.kernel} {self._timeline.core}")
        yield self._meta("process_sort_index", 0, sort_index=self._pid)
        busy = self._timeline.busy
        for lane, pipe in enumerate(LANES):
            if pipe in busy:
                yield self._meta("thread_name", lane, name=str(pipe))
                yield self._meta("thread_sort_index", lane, sort_index=lane)

    def _meta(self, kind: str, lane: int, **args: Any) -> Event:
        return {"ph": "M", "name": kind, "pid": self._pid, "tid": lane, "args": args}

    def _slice(self, one: Slice, stall: Stall | None) -> Event:
        return {
            "ph": "X",
            "name": one.step.row.dsl,
            "cat": "op",
            "pid": self._pid,
            "tid": LANES.index(one.pipe),
            "ts": self._at(one.start),
            "dur": round(self._at(one.end) - self._at(one.start), 6),
            "args": about(one, stall, self._names),
        }

    def _arrows(self) -> Iterator[Event]:
        """Those with an op at both ends: from within the one, near its end, to the start of the other."""
        slices = self._timeline.slices
        for number, arrow in enumerate(self._timeline.arrows):
            if arrow.source is None or arrow.target is None:
                continue
            source, target = slices[arrow.source], slices[arrow.target]
            common = {"name": arrow.label, "cat": "flag", "id": f"{self._pid}.{number}", "pid": self._pid}
            start = max(source.start, source.end - 0.5)
            yield {**common, "ph": "s", "tid": LANES.index(source.pipe), "ts": self._at(start)}
            yield {**common, "ph": "f", "bp": "e", "tid": LANES.index(target.pipe), "ts": self._at(target.start)}

    def _counters(self) -> Iterator[Event]:
        for counter in counters_of(self._timeline, self._names):
            common = {"ph": "C", "name": counter.name, "pid": self._pid, "tid": 0}
            for at, level in counter.points:
                yield {**common, "ts": self._at(at), "args": {"value": level}}


def about(one: Slice, stall: Stall | None, names: Names | None) -> dict[str, str | int]:
    """What a person who points at the slice is told."""
    step = one.step
    args: dict[str, str | int] = {"op": step.name, "cycles": one.end - one.start, "issued": one.issued}
    if step.place is not None:
        args["source"] = str(step.place)
    if names is not None:
        for key, regions in (("writes", step.writes), ("reads", step.reads)):
            if regions:
                args[key] = ", ".join(dict.fromkeys(names.of(region).label for region in regions))
    if step.trips:
        args["trips"] = ", ".join(str(trip) for _, trip in step.trips)
    if stall is not None:
        args["waited"] = f"{stall.cycles} cycles: {stall.why}"
    return args
