"""Intervals that may have no end on either side."""

from collections.abc import Iterable
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


@dataclass(frozen=True)
class Horizon:
    """Where the ends of an interval are remembered: up to `near` from 0, and within windows that lie further out."""

    near: int
    windows: tuple[tuple[int, int], ...] = ()
    """First and last number."""

    def clamped(self, span: Span) -> Span:
        """The interval without what is said about ends elsewhere.

        An end beyond the numbers near 0, or beyond a window, is moved back there. One that the numbers near 0 lie
        beyond is given up, also before a window: else a counter would be followed trip by trip until it gets there.
        """
        low = None if span.low is None else self._low(span.low, self.windows)
        if span.high is None:
            return Span(low, None)
        high = self._low(-span.high, [(-last, -first) for first, last in self.windows])
        return Span(low, None if high is None else -high)

    def _low(self, low: int, windows: Iterable[tuple[int, int]]) -> int | None:
        furthest = self.near
        for first, last in windows:
            if first <= low <= last:
                return low
            if first <= low:
                furthest = max(furthest, last)
        return None if low < -self.near else min(low, furthest + 1)
