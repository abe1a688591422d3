"""Which bytes a tile, or a view of one, covers: address arithmetic with terms. Pure."""

from dataclasses import dataclass

from pto_buf.check.program import Local
from pto_buf.check.terms import Fn, Term, add, apply, const, scale
from pto_buf.tile import DTYPE_BITS, BLayout, TileSpec, box_of


@dataclass(frozen=True)
class Place:
    """`rows` x `cols` elements of a tile laid out as `base`, whose first byte lies at `address`.

    The window starts at the element (`row`, `col`) of `base`; in a boxed tile it consists of whole boxes.
    """

    base: TileSpec
    address: Term
    row: Term
    col: Term
    rows: int
    cols: int

    def window(self, row: Term, col: Term, rows: int, cols: int) -> "Place":
        return Place(self.base, self.address, add(self.row, row), add(self.col, col), rows, cols)

    @property
    def whole(self) -> bool:
        return (self.rows, self.cols) == self.base.shape

    def bytes(self) -> Local:
        """The bytes of the window."""
        if self.whole:
            return Local(self.base.space, self.address, ((0, self.base.footprint),))
        lines = _Lines(self.base)
        start = add(scale(self._along(self.row, lines.box[0]), lines.row), self.address)
        start = add(scale(self._along(self.col, lines.box[1]), lines.col), start)
        return Local(self.base.space, start, lines.runs(self.rows // lines.box[0], self.cols // lines.box[1]))

    @staticmethod
    def _along(offset: Term, box: int) -> Term:
        return offset if box == 1 else apply(Fn.FLOORDIV, offset, const(box))

    def covering(self) -> Local:
        """All bytes of the tile that the window is cut from."""
        return Local(self.base.space, self.address, ((0, self.base.footprint),))


def whole(base: TileSpec, address: Term) -> Place:
    return Place(base, address, const(0), const(0), base.rows, base.cols)


class _Lines:
    """Boxes (of one element where there are none) in lines: `row` and `col` are the bytes to the next."""

    def __init__(self, base: TileSpec):
        self.box = box_of(base)
        self._unit = self.box[0] * self.box[1] * DTYPE_BITS[base.dtype] // 8
        down, across = base.rows // self.box[0], base.cols // self.box[1]
        self._by_rows = base.blayout is BLayout.ROW_MAJOR
        self.row, self.col = (across * self._unit, self._unit) if self._by_rows else (self._unit, down * self._unit)

    def runs(self, down: int, across: int) -> tuple[tuple[int, int], ...]:
        """Of a window of so many boxes, from its first byte; lines without a gap are one run."""
        count, length, pitch = (
            (down, across * self._unit, self.row) if self._by_rows else (across, down * self._unit, self.col)
        )
        if length == pitch:
            return ((0, count * length),)
        return tuple((line * pitch, line * pitch + length) for line in range(count))
