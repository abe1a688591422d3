"""What tests of leases look at."""

from pto_buf.slots.flow import Flow, SiteKey
from pto_buf.slots.leases import Verdict, analyse
from pto_buf.slots.program import Op, Program


def complaints(verdict: Verdict) -> list[tuple[str, int]]:
    """Kind and line of each error, in order."""
    return sorted((error.kind or "", error.place.line if error.place else -1) for error in verdict.errors)


def origins(flow: Flow, op: Op, access: int = 0) -> list[tuple[int, int | None]]:
    """The openers of an access's leases, and the loops that carry them."""
    return [(origin.opener.op, origin.carried_by) for origin in flow.origins[SiteKey(op.key, access)]]


def accepted(program: Program) -> Flow:
    verdict = analyse(program)
    assert complaints(verdict) == []
    return verdict.flow
