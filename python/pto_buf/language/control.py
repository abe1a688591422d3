"""Loops and scopes. In a kernel's source they are read; `pl.range` and its kin cannot be iterated by Python."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from pto_buf.language.values import Scalar, outside

__all__ = [
    "at",
    "cond",
    "max",
    "min",
    "parallel",
    "pipeline",
    "range",
    "spmd",
    "static_assert",
    "static_print",
    "unroll",
    "while_",
    "yield_",
]


def range(*bounds: Any, init_values: Sequence[Any] | None = None) -> Iterator[Any]:
    """`for i in pl.range(stop)`, `(start, stop)` or `(start, stop, step)`: trips one after the other.

    With `init_values`, `for i, (a, b) in pl.range(n, init_values=(x, y))` carries values; the body then ends in
    `a, b = pl.yield_(...)`.
    """
    outside("range")


def pipeline(*bounds: Any, stage: int, init_values: Sequence[Any] | None = None) -> Iterator[Any]:
    """A loop with `stage` trips in flight: every tile of its body gets `stage` buffers where they fit."""
    outside("pipeline")


def parallel(*bounds: Any, init_values: Sequence[Any] | None = None) -> Iterator[Any]:
    """A loop whose trips do not depend on each other."""
    outside("parallel")


def unroll(*bounds: int) -> Iterator[Any]:
    """A loop that is written out while reading; its bounds are constants."""
    outside("unroll")


def while_(*, init_values: Sequence[Any]) -> Iterator[Any]:
    """`for (x,) in pl.while_(init_values=(x0,)):` with `pl.cond(...)` as the first statement of the body."""
    outside("while_")


def cond(condition: Any) -> None:
    """The condition of a `pl.while_` loop."""
    outside("cond")


def yield_(*values: Any) -> Any:
    """What a trip or an arm hands on: `a, b = pl.yield_(x, y)`."""
    outside("yield_")


def spmd(blocks: int, *, name_hint: str | None = None) -> Iterator[Any]:
    """A device scope of `blocks` blocks; the loop's variable is the index of the block."""
    outside("spmd")


def at(*, level: Any = None, name_hint: str | None = None, **options: Any) -> AbstractContextManager[None]:
    """A device scope: `with pl.at(level=pl.Level.CORE_GROUP):`."""
    outside("at")


def static_assert(condition: Any, message: str = "") -> None:
    """Checked while the kernel is read."""
    outside("static_assert")


def static_print(*values: Any) -> None:
    """Printed while the kernel is read."""
    outside("static_print")


def min(*values: Any) -> Scalar:
    """The least of scalars."""
    outside("min")


def max(*values: Any) -> Scalar:
    """The greatest of scalars."""
    outside("max")
