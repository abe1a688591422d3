"""One ring for leases that pass through the pipes in different orders.

The ring is a common supersequence of their signatures. A lease that does not need one of its phases passes it: the
pipe takes the slot over and hands it on at once, so that every lane's tokens go round in one order.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, reduce
from itertools import permutations

from pto_buf.fences.phases import Half, Pass, Piece, Shape, Signature
from pto_buf.hw import Pipe

_LONGEST = 8
"""Phases of a ring at most: behind that a handshake costs less."""

_MANY = 4
"""Different signatures that are merged in all orders: which comes first decides how long the result is."""


def common_signature(signatures: Sequence[Signature]) -> Signature | None:
    """A short sequence of phases in which each signature occurs in its order; None if it gets too long."""
    found = dict.fromkeys(signatures)
    orders = permutations(found) if len(found) <= _MANY else [tuple(found)]
    together = min((reduce(_merged, order) for order in orders), key=len)
    return together if len(together) <= _LONGEST else None


@lru_cache(1 << 10)
def _merged(one: Signature, other: Signature) -> Signature:
    """The shortest common supersequence, where a phase may stand for one that needs fewer of its pipes."""
    best: dict[tuple[int, int], Signature] = {}
    for i in range(len(one), -1, -1):
        for j in range(len(other), -1, -1):
            options: list[Signature] = []
            if i == len(one) or j == len(other):
                options.append((*one[i:], *other[j:]))
            else:
                if set(one[i]) <= set(other[j]) or set(other[j]) <= set(one[i]):
                    both = tuple(pipe for pipe in Pipe if pipe in one[i] or pipe in other[j])
                    options.append((both, *best[i + 1, j + 1]))
                options += [(one[i], *best[i + 1, j]), (other[j], *best[i, j + 1])]
            best[i, j] = min(options, key=len)
    return best[0, 0]


def stretched(shape: Shape, ring: Signature) -> Shape | None:
    """The shape with a pass for every pipe of the ring that its leases do not touch; None if a pass has no place."""
    if shape.signature == ring:
        return shape
    if any(piece.half is not Half.BOTH for piece in shape.pieces):
        return None
    numbers = _embedding(shape.signature, ring)
    real = [[piece for piece in shape.pieces if piece.phase == number] for number in range(len(shape.signature))]
    passes: list[Piece] = []
    for number, pipes in enumerate(ring):
        here = numbers.index(number) if number in numbers else None
        behind = [old for old, new in enumerate(numbers) if new < number]
        for pipe in pipes:
            if here is not None and pipe in shape.signature[here]:
                continue
            hosts = _last(real[behind[-1]]) if behind else real[0]
            if hosts is None or (behind and not _before_all(hosts, real, behind[-1] + 1)):
                return None
            way = Pass.BEHIND if behind else Pass.BEFORE
            passes += [Piece(number, pipe, host.span, host.lane, way) for host in hosts]
    moved = [piece._replace(phase=numbers[piece.phase]) for piece in shape.pieces]
    phase = {key: numbers[number] for key, number in shape.phase.items()}
    return replace(shape, signature=ring, pieces=(*moved, *passes), phase=phase, opening=numbers[0])


def _embedding(signature: Signature, ring: Signature) -> list[int]:
    """For each phase of the signature, the ring's phase that stands for it: the earliest in order."""
    numbers: list[int] = []
    at = 0
    for pipes in signature:
        while not set(pipes) <= set(ring[at]):
            at += 1
        numbers.append(at)
        at += 1
    return numbers


def _last(pieces: Sequence[Piece]) -> Sequence[Piece] | None:
    """The pieces behind which their phase is over: the last pipe's, where several pipes share one place."""
    if len({piece.pipe for piece in pieces}) == 1:
        return pieces
    if len({(piece.span.block, _lane(piece)) for piece in pieces}) == 1:
        return [max(pieces, key=lambda piece: piece.span.last)]
    return None


def _before_all(hosts: Sequence[Piece], real: Sequence[Sequence[Piece]], following: int) -> bool:
    """Whether the next phase begins behind the hosts, in the blocks that they share."""
    return all(host.span.last < piece.span.first for host, piece in _same_block(hosts, real, following))


def _same_block(
    hosts: Sequence[Piece], real: Sequence[Sequence[Piece]], following: int
) -> Iterator[tuple[Piece, Piece]]:
    if following < len(real):
        for host in hosts:
            for piece in real[following]:
                if host.span.block == piece.span.block and _lane(host) == _lane(piece):
                    yield host, piece


def _lane(piece: Piece) -> Hashable:
    return piece.lane if isinstance(piece.lane, int) else piece.lane.key
