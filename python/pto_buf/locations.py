"""Places as people name them, and the location attributes that carry them through the IR."""

import functools
import re
from bisect import bisect_right
from collections.abc import Iterable
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    LocationAttr,
    NameLoc,
    StringAttr,
)
from xdsl.ir import Attribute

from pto_buf.errors import Place


@functools.lru_cache(maxsize=1 << 16)
def location(file: str, line: int, col: int) -> LocationAttr:
    """The location attribute of a place, for front ends that make many ops from one line."""
    return FileLineColLoc(StringAttr(file), IntAttr(line), IntAttr(col))


def location_at(attribute: Attribute) -> Place | None:
    """The place that a location attribute names, or None if it names none.

    A fused location stands for its first part that has a place, a call site for the callee.
    """
    match attribute:
        case FileLineColLoc():
            return Place(attribute.filename.data, attribute.line.data, attribute.column.data)
        case NameLoc():
            return location_at(attribute.location)
        case CallSiteLoc():
            return location_at(attribute.callee) or location_at(attribute.caller)
        case FusedLoc():
            parts = cast(Iterable[Attribute], cast(ArrayAttr[Attribute], attribute.locations).data)
            return next((place for part in parts if (place := location_at(part)) is not None), None)
        case _:
            return None


@functools.lru_cache(maxsize=1 << 12)
def _number(number: int) -> IntAttr:
    # Here and below past xDSL's verifier, which takes ten times as long to find that parts are what they are.
    found = IntAttr.__new__(IntAttr)
    vars(found)["data"] = number
    return found


class Positions:
    """Turns offsets into a text into places of the file that the text starts in at `first_line`."""

    def __init__(self, text: str, file: str, first_line: int = 1):
        self.text = text
        self.file = file
        self._first_line = first_line
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._file_attribute = StringAttr(file)
        self._end = len(text.rstrip())

    def _line_col(self, offset: int) -> tuple[int, int]:
        row = bisect_right(self._starts, offset) - 1
        return self._first_line + row, offset - self._starts[row] + 1

    def place(self, offset: int) -> Place:
        """The place of an offset; behind the last character that can be seen, the place just after that one."""
        return Place(self.file, *self._line_col(min(offset, self._end)))

    def location(self, offset: int) -> LocationAttr:
        """The location attribute of an offset."""
        line, col = self._line_col(offset)
        found = FileLineColLoc.__new__(FileLineColLoc)
        vars(found).update(filename=self._file_attribute, line=_number(line), column=_number(col))
        return found
