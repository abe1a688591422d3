"""Ops whose results nothing reads, on any path."""

from collections.abc import Iterable, Iterator, Mapping

from pto_buf.slots.flow import Flow, SiteKey
from pto_buf.slots.names import blocks_of
from pto_buf.slots.program import Block, Op, Program


def dead_ops(program: Program, flow: Flow, roots: Iterable[int]) -> tuple[int, ...]:
    """The keys of ops that only write leases which no op that matters reads, in program order.

    `roots` are the ops that matter for more than what they leave in slots.
    """
    ops = {op.key: op for op in _ops(program.body)}
    writers = _writers(ops, flow)
    live = dict.fromkeys(key for key in roots if key in ops)
    pending = list(live)
    while pending:
        op = ops[pending.pop()]
        named = [access.lease for access in op.accesses if access.lease is not None]  # even where no path leads
        for key in [*named, *(key for opener in _needed(op, flow) for key in writers.get(opener, ()))]:
            if key not in live:
                live[key] = None
                pending.append(key)
    return tuple(key for key in ops if key not in live)


def _writers(ops: Mapping[int, Op], flow: Flow) -> Mapping[SiteKey, list[int]]:
    """By lease: the ops that write in it."""
    found: dict[SiteKey, list[int]] = {}
    for op in ops.values():
        for number, access in enumerate(op.accesses):
            if access.role.writes:
                for origin in flow.origins.get(SiteKey(op.key, number), ()):
                    found.setdefault(origin.opener, []).append(op.key)
    return found


def _needed(op: Op, flow: Flow) -> Iterator[SiteKey]:
    """The leases that the op builds on: those it reads or updates, and what a partial write leaves standing."""
    for number, access in enumerate(op.accesses):
        site = SiteKey(op.key, number)
        if access.role.reads:
            yield from (origin.opener for origin in flow.origins.get(site, ()))
        if access.is_partial and access.role.writes:
            yield from (origin.opener for origin in (*flow.origins.get(site, ()), *flow.ends.get(site, ())))


def _ops(block: Block) -> Iterator[Op]:
    for node in block:
        if isinstance(node, Op):
            yield node
        for inner in blocks_of(node):
            yield from _ops(inner)
