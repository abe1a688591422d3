"""Memrefs as operands of tile ops: how versions before v0.56 of the assembler can spell views and tiles."""

from typing import cast

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute

from pto_buf.dialect.attributes import word_of
from pto_buf.dialect.table.row import ViewSpec
from pto_buf.dialect.tile_text import dtype_name, extents
from pto_buf.hw import Space, Target
from pto_buf.tile import TileSpec, canonical_tile


def memref_spec(type: Attribute, target: Target) -> TileSpec | ViewSpec | None:
    """What the op table sees of a memref that says its memory; None for any other type.

    A memref says nothing of layouts: a tile has the one that its memory wants. Leading extents fold into the rows.
    """
    if not isinstance(type, MemRefType) or type.memory_space.name != "pto.address_space":
        return None
    memref = cast("MemRefType[Attribute]", type)
    try:
        dtype = dtype_name(memref.element_type)
    except KeyError:
        return None
    space, shape = word_of(memref.memory_space), extents(memref.get_shape())
    if space in ("gm", "zero"):
        return ViewSpec(shape, dtype)
    rows = 1
    for extent in shape[:-1]:
        rows *= extent or 0
    if not shape or None in shape or rows * (shape[-1] or 0) == 0:
        return None
    return canonical_tile(Space(space), rows, shape[-1] or 0, dtype, target)
