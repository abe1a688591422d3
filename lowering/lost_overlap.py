"""What becomes of overlap that a pass has to give up: it is told, or refused on request."""

from collections.abc import Iterable, Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.dialects.func import FuncOp

from pto_buf.errors import Collector, Place, warn
from pto_buf.lowering.fenced import LOST


def note_lost(function: FuncOp, lost: Sequence[str]) -> None:
    """Adds what is lost, in words, to what the function says of that."""
    before = cast(ArrayAttr[StringAttr], function.attributes.get(LOST, ArrayAttr[StringAttr]([])))
    if lost:
        function.attributes[LOST] = ArrayAttr([*before, *(StringAttr(one) for one in lost)])


def tell_lost(lost: Iterable[tuple[Place | None, str]], *, fail: bool) -> None:
    """Warns of what is lost and where; with `fail`, raises DiagnosticError with all of it."""
    found = Collector()
    for place, what in lost:
        if fail:
            found.error(place, f"overlap is lost: {what}", kind="lost-overlap")
        else:
            warn(place, f"overlap is lost: {what}", kind="lost-overlap")
    found.raise_if_errors()
