"""The analysis of leases against running random programs: no error missed, none invented, and the same flow."""

from dataclasses import dataclass, field

import pytest

from pto_buf.slots.complaints import TOO_COMPLEX
from pto_buf.slots.flow import Flow, SiteKey
from pto_buf.slots.leases import analyse
from support.random_programs import RandomProgram
from support.slot_runs import Fault, Run, Way

pytestmark = pytest.mark.campaign

PROGRAMS_PER_TEST = 25


@dataclass
class Seen:
    """What all runs together show."""

    faults: set[Fault] = field(default_factory=set[Fault])
    origins: set[tuple[SiteKey, Way]] = field(default_factory=set[tuple[SiteKey, Way]])
    ends: set[tuple[SiteKey, Way]] = field(default_factory=set[tuple[SiteKey, Way]])
    unread: set[tuple[SiteKey, SiteKey | None]] = field(default_factory=set[tuple[SiteKey, SiteKey | None]])
    read: set[SiteKey] = field(default_factory=set[SiteKey])
    overwritten: set[tuple[SiteKey, SiteKey]] = field(default_factory=set[tuple[SiteKey, SiteKey]])

    def add(self, one: Run) -> None:
        self.faults.update(one.faults)
        self.origins |= one.origins
        self.ends |= one.ends
        self.unread |= one.unread
        self.read |= one.read
        self.overwritten |= one.overwritten

    @property
    def never_read(self) -> set[Fault]:
        return {("clobber", over.op) for opener, over in self.overwritten if opener not in self.read}


def ways(flow: Flow) -> tuple[set[tuple[SiteKey, Way]], set[tuple[SiteKey, Way]], set[tuple[SiteKey, SiteKey | None]]]:
    origins, ends = (
        {(site, (one.opener, one.carried_by)) for site, several in table.items() for one in several}
        for table in (flow.origins, flow.ends)
    )
    return origins, ends, {(opener, end) for opener, several in flow.unread.items() for end in several}


@pytest.mark.parametrize(("batch", "names"), [(0, False), (1, False), (2, False), (1, True), (3, True)])
def test_random_programs(batch: int, names: bool) -> None:
    accepted = 0
    for seed in range(batch * PROGRAMS_PER_TEST, (batch + 1) * PROGRAMS_PER_TEST):
        made = RandomProgram(seed, names)
        verdict = analyse(made.program)
        reported = {(error.kind or "", error.place.line if error.place else -1) for error in verdict.errors}
        if any(kind == TOO_COMPLEX for kind, _ in reported):
            continue
        seen = Seen()
        for one in made.runs():
            seen.add(one)
        assert seen.faults <= reported, seed
        if seen.faults:  # runs stop at their first fault, the analysis goes on
            continue
        assert reported == seen.never_read, seed
        if not reported:
            accepted += 1
            assert ways(verdict.flow) == (seen.origins, seen.ends, seen.unread), seed
    assert accepted > PROGRAMS_PER_TEST // 5
