"""Which signals between the cores of a mixed kernel order its accesses to global memory, and where they stand.

The kernel is one program, whose order counts. Each core does its own ops of it, in that order, under the same control
flow. Where an op of one core has to come behind an op of the other one, the first one's core sends a signal behind it
and the other core waits for that before its own. Both ends stand in the same block, so that they are run equally often.

Between trips of a loop the signal that a trip waits for is one of an earlier trip: `lag` trips before. As many are sent
ahead before the loop, and heard behind it; with a lag of one, before and behind the outermost loop, since all that
counts is which run of the block was the last one. Everything that a core does goes forward in the order of the program,
its waits too. So no core waits for what waits for it.

A signal is a counter that must not run over. So there is a largest lag; and who sends a signal in each trip is held by
another that comes back: where no access calls for one, it is added, with a lag as large as the counters bear.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pto_buf.cores.blocks import Blocks, Home
from pto_buf.cores.distance import MOST_TRIPS, Distances, runs_at_most
from pto_buf.cores.implied import Ways
from pto_buf.cores.need import Need
from pto_buf.fences.windows import Window, Windows
from pto_buf.hw import Core, Pipe
from pto_buf.slots.program import Op, Program

MOST_PENDING = MOST_TRIPS
"""What a counter of signals holds."""

_LEFT_ALONE = 13
"""How much of a counter may be filled by signals that are sent ahead of a loop, of one round after the other."""

_MOST_AGAIN = _LEFT_ALONE // 3
"""The largest lag in an inner loop, which is entered again: signals of three rounds may be pending."""

_AHEAD_AGAIN = 5
"""Trips of an inner loop that a sender may be ahead where only its counter holds it back."""

_MOST_SHARED = MOST_PENDING // 2
"""The largest lag of a signal whose sender may also be ahead, since only the same counter holds it back."""


@dataclass(frozen=True)
class Handover:
    """One signal: `source` sends it on `pipe` behind node `after`, the other core waits on `waiting` before `before`.

    Nodes are named by their keys. Of a `lag` above 0, as many signals are sent before the loop `around` and heard
    behind it. `outermost` is the outermost loop around both, if any. `why` is for people, and so is
    `lost`: why it orders more than is needed, if it does.
    """

    source: Core
    pipe: Pipe
    waiting: Pipe
    after: int
    before: int
    lag: int
    around: int | None
    outermost: int | None
    why: str
    lost: str = ""

    @property
    def target(self) -> Core:
        """The core that waits."""
        return Core.VECTOR if self.source is Core.CUBE else Core.CUBE


@dataclass(frozen=True)
class Unordered:
    """Two ops, by their keys, that no signal can order."""

    earlier: int
    later: int


@dataclass(frozen=True)
class _Touch:
    op: Op
    core: Core
    window: Window
    home: Home


def plan_handovers(
    program: Program, windows: Windows, cores: Mapping[int, Core], *, sends: Mapping[Core, Pipe] | None, most: int
) -> list[Handover] | Unordered:
    """The signals that a mixed kernel needs, in program order, at most `most` from each core as far as that can be.

    `cores`: which core does each op, by its key. `sends`: the one pipe of each core that can send, where only the pipe
    that waits stands still; None where any can, and the whole core stands still.
    """
    planner = _Planner(program, windows, cores, sends)
    wrong = planner.collect()
    return wrong or planner.handovers(most)


class _Planner:
    def __init__(
        self, program: Program, windows: Windows, cores: Mapping[int, Core], sends: Mapping[Core, Pipe] | None
    ):
        self.blocks = Blocks(program.body)
        self.distances = Distances(program.body)
        self.sends = sends
        self.waits_alone = sends is not None
        self.ways = Ways(self.blocks, cores, waits_alone=self.waits_alone)
        self.needs: dict[Need, None] = {}
        self.touches: dict[int, list[_Touch]] = {}
        for op, home in self.blocks.ops():
            for window in windows.get(op.key, ()):
                touch = _Touch(op, cores[op.key], window, home)
                self.touches.setdefault(window.array.number, []).append(touch)

    # --- what has to be ordered ---

    def collect(self) -> Unordered | None:
        """Finds the needs. Yields what cannot be ordered."""
        for touches in self.touches.values():
            cube = [touch for touch in touches if touch.core is Core.CUBE]
            vector = [touch for touch in touches if touch.core is Core.VECTOR]
            for one in cube:
                for other in vector:
                    if one.window.writes or other.window.writes:
                        wrong = self._order(one, other) or self._order(other, one)
                        if wrong is not None:
                            return wrong
        return None

    def _order(self, earlier: _Touch, later: _Touch) -> Unordered | None:
        """Needs for all runs of `later` that come behind one of `earlier`."""
        fork = self.blocks.fork(earlier.home, later.home)
        keys = tuple(loop.key for loop in fork.loops)
        if fork.block is not None and fork.one < fork.other and self._meet(earlier, later, keys):
            self._need(earlier, later, fork.block, (fork.one, fork.other), 0, None)
            return None
        if fork.parts_of_while and self._meet(earlier, later, keys):
            return Unordered(earlier.op.key, later.op.key)
        for depth in reversed(range(len(fork.loops))):
            loop = fork.loops[depth]
            trips = self.distances.trips(earlier.window, later.window, loop, keys[:depth])
            if trips is None:
                continue
            inside = self.blocks.inside(loop, earlier.home, later.home)
            if inside is None:
                return Unordered(earlier.op.key, later.op.key)
            block, one, other = inside
            most = _MOST_AGAIN if depth else MOST_PENDING
            lost = _too_far(earlier, later, most, depth) if trips > most else ""
            trips = min(trips, most)
            if trips == 1 and fork.block is not None and depth == len(fork.loops) - 1:
                block, one, other = fork.block, fork.one, fork.other
            around = loop.key if trips > 1 else fork.loops[0].key
            self._need(earlier, later, block, (one, other), trips, around, lost)
            return None
        return None

    def _meet(self, one: _Touch, other: _Touch, loops: tuple[int, ...]) -> bool:
        return self.distances.meet(one.window, other.window, loops)

    def _need(
        self,
        earlier: _Touch,
        later: _Touch,
        block: int,
        ends: tuple[int, int],
        lag: int,
        around: int | None,
        lost: str = "",
    ) -> None:
        why = _words(earlier, later, lag)
        for pipe in earlier.op.pipes:
            for waiting in later.op.pipes:
                self.needs.setdefault(Need(block, earlier.core, pipe, waiting, *ends, lag, around, why, lost))

    # --- signals ---

    def handovers(self, most: int) -> list[Handover]:
        signals = self._held_back(self.ways.without_implied(self._strongest()))
        for core in Core:
            own = [signal for signal in signals if signal.source is core]
            signals = [*(signal for signal in signals if signal.source is not core), *_fitted(own, most)]
        found: list[Handover] = []
        for need in sorted(signals, key=lambda one: (one.block, one.after, one.before, one.lag, one.source, one.pipe)):
            nodes = self.blocks.nodes[need.block]
            ends = nodes[need.after].key, nodes[need.before].key
            outermost = self._outermost(need.block)
            how = need.source, need.pipe, need.waiting
            found.append(Handover(*how, *ends, need.lag, need.around, outermost, need.why, need.lost))
        return found

    def _strongest(self) -> list[Need]:
        """The needs that no other one of the same pipes brings with it."""
        kept: dict[tuple[object, ...], list[Need]] = {}
        for need in sorted(self.needs, key=lambda one: (one.lag, one.before, -one.after)):
            key = (need.block, need.source, need.pipe, need.waiting if self.waits_alone else None)
            mine = kept.setdefault(key, [])
            if not any(one.after >= need.after and one.before <= need.before for one in mine):
                mine.append(need)
        return [need for mine in kept.values() for need in mine]

    def _held_back(self, signals: list[Need]) -> list[Need]:
        """Adds what keeps the sender of each signal from running ahead by more than a counter holds."""
        found = list(signals)
        for number, signal in enumerate(signals):
            outermost = self._outermost(signal.block)
            again = signal.lag > 1 and signal.around != outermost  # it is sent ahead again and again
            runs = runs_at_most(self.blocks.loops[signal.block])
            if runs is not None and runs * (1 + again * signal.lag) + signal.lag <= MOST_PENDING:
                continue
            if not self._is_held(signal, found):
                lag = min(signal.lag, _MOST_SHARED)
                if lag < signal.lag:
                    lost = f"{signal.why}: only {lag}, since its counter also says how far the sender is ahead"
                    found[number] = replace(signal, lag=lag, lost=lost)
                ahead = _AHEAD_AGAIN if again else MOST_PENDING - lag
                ends = signal.before, signal.after
                found.append(self._credit(signal, signal.block, ends, ahead, signal.around if again else outermost))
            elif again:
                home = self.blocks.loop_home(signal.block)
                assert home is not None
                around = self._outermost(home[0])
                lag = _LEFT_ALONE // signal.lag - 2
                found.append(self._credit(signal, home[0], (home[1], home[1]), lag, around))
        return found

    def _credit(self, signal: Need, block: int, ends: tuple[int, int], lag: int, around: int | None) -> Need:
        """A signal back, so that the sender gets no further ahead than that many runs of a block."""
        back = Core.VECTOR if signal.source is Core.CUBE else Core.CUBE
        waiting = signal.pipe if self.sends is None else self.sends[signal.source]
        why = f"so that no counter runs over: the {signal.source} core may be {lag} trips ahead"
        return Need(block, back, signal.waiting, waiting, *ends, lag, around, why)

    def _outermost(self, block: int) -> int | None:
        return next((loop.key for loop in self.blocks.loops[block]), None)

    def _is_held(self, signal: Need, others: Sequence[Need]) -> bool:
        """Whether another signal comes back whenever this one is sent, from behind the wait for it."""
        above = self.blocks.in_one_trip(signal.block)
        others = [other for other in others if other.source is not signal.source]
        if not self.waits_alone:
            return any(other.block in above for other in others)
        pipes = signal.waiting, signal.pipe
        back = any((other.pipe, other.waiting) == pipes and other.block in above for other in others)
        return back or self.ways.lead(others, signal.block, signal.before, signal.after, MOST_PENDING)


def _too_far(earlier: _Touch, later: _Touch, most: int, depth: int) -> str:
    why = "in an inner loop, which may be entered again at once" if depth else "as many as can be counted"
    return (
        f"the {later.core} core is held at most {most} trips ahead of the {earlier.core} core, {why}: "
        f"places of '{later.window.array.name}' for more trips are of no use"
    )


def _words(earlier: _Touch, later: _Touch, lag: int) -> str:
    hazard = ("WAW" if later.window.writes else "RAW") if earlier.window.writes else "WAR"
    behind = "" if lag == 0 else f", {lag} trip{'s' if lag > 1 else ''} later"
    return (
        f"{hazard} on {earlier.window.array.name}: {earlier.core} {earlier.op.name} ({earlier.op.pipes[0]}), "
        f"then {later.core} {later.op.name} ({later.op.pipes[0]}){behind}"
    )


# --- when there are not enough counters ---------------------------------------------------------------------------


def _fitted(signals: list[Need], most: int) -> list[Need]:
    """As many as there are counters: of signals alike, two that lie next to each other become one."""
    lost = f"one signal has to do for several, since there are {most}"
    while len(signals) > most:
        pair = next(_alike(signals), None)
        if pair is None:
            return signals
        one, other = pair
        ends = {"after": max(one.after, other.after), "before": min(one.before, other.before)}
        joined = replace(one, **ends, lost=f"{lost}: {one.why}")
        signals = [*(signal for signal in signals if signal not in pair), joined]
    return signals


def _alike(signals: list[Need]) -> Iterator[tuple[Need, Need]]:
    """Pairs that one signal can stand for, those that lie closest first."""
    pairs = [
        (one, other)
        for number, one in enumerate(signals)
        for other in signals[number + 1 :]
        if (one.block, one.pipe, one.waiting, one.lag, one.around)
        == (other.block, other.pipe, other.waiting, other.lag, other.around)
        and (one.lag > 0 or max(one.after, other.after) < min(one.before, other.before))
    ]
    yield from sorted(pairs, key=lambda pair: abs(pair[0].after - pair[1].after) + abs(pair[0].before - pair[1].before))
