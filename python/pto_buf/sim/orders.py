"""The names of the orders in which pipes may run."""

from dataclasses import dataclass
from enum import StrEnum

from pto_buf.errors import UsageError
from pto_buf.hw import Pipe


class Policy(StrEnum):
    EARLY = "early"
    """Everything runs as soon as it may, in the order of issue."""
    LATE = "late"
    """A pipe runs only when something has to wait for it."""
    RANDOM = "random"


QUEUED = (Pipe.FIX, Pipe.MTE3, Pipe.M, Pipe.V, Pipe.MTE1, Pipe.MTE2)
"""The pipes with a queue, against the flow of data: who consumes comes before who produces."""


@dataclass(frozen=True)
class Order:
    policy: Policy
    rush: tuple[Pipe, ...] = QUEUED
    """For LATE: which pipe runs on while the others stand still, then which, and so on."""
    seed: int = 0

    def __str__(self) -> str:
        if self.policy is Policy.RANDOM:
            return f"random:{self.seed}"
        return f"late:{self.rush[0]}" if self.policy is Policy.LATE else "early"


def order_named(text: str) -> Order:
    """`early`, `late`, `late:PIPE` (that pipe runs as far ahead as it may) or `random:SEED`. Raises UsageError."""
    name, _, rest = text.partition(":")
    if name == Policy.EARLY and not rest:
        return Order(Policy.EARLY)
    if name == Policy.LATE:
        if not rest:
            return Order(Policy.LATE)
        for pipe in QUEUED:
            if rest == pipe.value:
                return late(pipe)
    if name == Policy.RANDOM and rest.isdigit():
        return Order(Policy.RANDOM, seed=int(rest))
    raise UsageError(
        f"there is no order '{text}'",
        f"there is: early, late, late:PIPE with a pipe of {', '.join(QUEUED)}, random:SEED",
    )


def late(pipe: Pipe) -> Order:
    """The latest order in which `pipe` runs first: an op of it that races with one before it comes first here."""
    return Order(Policy.LATE, (pipe, *(other for other in QUEUED if other is not pipe)))


ADVERSARIES: tuple[Order, ...] = tuple(late(pipe) for pipe in QUEUED)
"""Orders that between them run every racing op before the one it must follow, for every pair of racing ops."""
