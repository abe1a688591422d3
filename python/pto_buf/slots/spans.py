"""Intervals that may have no end on either side."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Span:
    """All numbers from `low` to `high`, both included; None where there is no end."""

    low: int | None
    high: int | None

    @property
    def point(self) -> int | None:
        return self.low if self.low == self.high else None

    @property
    def size(self) -> int | None:
        """How many numbers there are, if they are finitely many."""
        return None if self.low is None or self.high is None else self.high - self.low + 1

    def meet(self, other: "Span") -> "Span":
        low = other.low if self.low is None else self.low if other.low is None else max(self.low, other.low)
        high = other.high if self.high is None else self.high if other.high is None else min(self.high, other.high)
        return Span(low, high)

    @property
    def is_empty(self) -> bool:
        return self.low is not None and self.high is not None and self.low > self.high

    def plus(self, other: "Span", factor: int) -> "Span":
        """Sums of a number of this and `factor` times a number of the other."""
        scaled = other.times(factor)
        low = None if self.low is None or scaled.low is None else self.low + scaled.low
        high = None if self.high is None or scaled.high is None else self.high + scaled.high
        return Span(low, high)

    def times(self, factor: int) -> "Span":
        low = None if self.low is None else self.low * factor
        high = None if self.high is None else self.high * factor
        return Span(low, high) if factor >= 0 else Span(high, low)


EVERYTHING = Span(None, None)


def clamped(span: Span, limit: int) -> Span:
    """The interval without what is said about ends further from 0 than `limit`."""
    low, high = span.low, span.high
    if low is not None:
        low = None if low < -limit else min(low, limit + 1)
    if high is not None:
        high = None if high > limit else max(high, -limit - 1)
    return Span(low, high)
