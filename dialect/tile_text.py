"""The text of tiles, shapes and element types, read and written."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from enum import StrEnum
from functools import lru_cache
from typing import TypeVar

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Attribute
from xdsl.parser import AttrParser

from pto_buf.hw import A2A3, Space, Target, target_of_arch
from pto_buf.tile import DTYPE_BITS, PTO_ELEMENTS, BLayout, SLayout, TileSpec, left_blayout

_E = TypeVar("_E", bound=StrEnum)


def dtype_name(element: Attribute) -> str:
    """The table's name of an element type. Raises KeyError for a type that no tile can hold."""
    name = str(element).removeprefix("!pto.")
    if name not in DTYPE_BITS:
        raise KeyError(name)
    return name


def _extent(size: int) -> int | None:
    return None if size == DYNAMIC_INDEX else size


def extents(sizes: Iterable[int]) -> tuple[int | None, ...]:
    """Sizes as MLIR keeps them, None where they are known only at run time."""
    return tuple(_extent(size) for size in sizes)


def shape_text(shape: Iterable[int | None]) -> str:
    """`16x?`."""
    return "x".join("?" if size is None else str(size) for size in shape)


def dtype_text(dtype: str) -> str:
    """How the element type is written."""
    return f"!pto.{dtype}" if dtype in PTO_ELEMENTS else dtype


def parse_dtype(parser: AttrParser, what: str) -> str:
    pos = parser.pos
    element = parser.parse_type()
    try:
        return dtype_name(element)
    except KeyError:
        parser.raise_error(f"'{element}' is no element type of a {what}", pos)


def parse_shaped(parser: AttrParser, what: str) -> tuple[list[int | None], str]:
    shape: list[int | None] = []
    text = parser.lexer.input.content
    while text[parser.pos : parser.pos + 1].isdigit() or text.startswith("?", parser.pos):
        shape.append(_extent(parser.parse_shape_dimension()))
        parser.parse_shape_delimiter()
    return shape, parse_dtype(parser, what)


def parse_enum(parser: AttrParser, enum: type[_E], aliases: Mapping[str, _E] | None = None) -> _E:
    """A word of the enumeration; quotes around it are allowed."""
    pos = parser.pos
    word = parser.parse_optional_str_literal()
    if word is None:
        word = parser.parse_identifier()
    if aliases is not None and word in aliases:
        return aliases[word]
    try:
        return enum(word)
    except ValueError:
        parser.raise_error(f"'{word}' is none of {', '.join(enum)}", pos)


def parse_tile(parser: AttrParser, count: list[int] | None = None) -> TileSpec:
    """A tile without its brackets, in the short spelling or in the long one that starts with `loc=`.

    A `count=` behind the short one goes to `count`, if it is given.
    """
    pos = parser.pos
    tile = _parse_long(parser) if parser.parse_optional_keyword("loc") else _parse_short(parser, count)
    if tile.rows < 1 or tile.cols < 1:
        parser.raise_error(f"a tile has two static extents of at least 1, found {tile.rows}x{tile.cols}", pos)
    if any(v is not None and v > s for v, s in zip(tile.valid, tile.shape, strict=True)):
        parser.raise_error(f"valid extent {shape_text(tile.valid)} must lie within {tile.rows}x{tile.cols}", pos)
    for key, value in (("fractal", tile.fractal), ("pad", tile.pad), ("compact", tile.compact)):
        if value not in _ALLOWED[key]:
            parser.raise_error(f"{key} {value} is none of {', '.join(map(str, _ALLOWED[key]))}", pos)
    if tile.space is Space.GM:
        parser.raise_error("a tile is in on-chip memory, not in gm", pos)
    if tile.space is Space.LEFT:  # whatever is written: the assembler's parser does this too
        tile = replace(tile, blayout=left_blayout(target_in(parser.lexer.input.content)))
    return tile


_ALLOWED: Mapping[str, tuple[int, ...]] = {"fractal": (32, 512, 1024), "pad": (0, 1, 2, 3), "compact": (0, 1, 2)}
_ARCH = re.compile(r'pto\.target_arch"?\s*=\s*"([^"]*)"')


@lru_cache(maxsize=4)
def target_in(text: str) -> Target:
    """The target of an IR text: what its first `pto.target_arch` says; a2a3 where none does or the name is unknown."""
    found = _ARCH.search(text)
    try:
        return A2A3 if found is None else target_of_arch(found[1])
    except KeyError:  # the verifier complains
        return A2A3


def _parse_short(parser: AttrParser, count: list[int] | None) -> TileSpec:
    """`vec, 16x128xf32, valid=10x?, blayout=row_major, ...`: keys in any order, each at most once."""
    pos = parser.pos
    space = parse_enum(parser, Space)
    parser.parse_punctuation(",")
    shape, dtype = parse_shaped(parser, "tile")
    if len(shape) != 2 or shape[0] is None or shape[1] is None:
        parser.raise_error(f"a tile has two static extents of at least 1, found {shape_text(shape)}", pos)
    valid: list[int | None] = list(shape)
    blayout, slayout, numbers = BLayout.ROW_MAJOR, SLayout.NONE_BOX, {"fractal": 512, "pad": 0, "compact": 0}
    seen: dict[str, None] = {}
    while parser.parse_optional_punctuation(","):
        key_pos = parser.pos
        key = parser.parse_identifier()
        if key in seen:
            parser.raise_error(f"'{key}' is given twice", key_pos)
        seen[key] = None
        parser.parse_punctuation("=")
        if key == "valid":
            valid = [_extent(size) for size in parser.parse_dimension_list()]
            if len(valid) != 2:
                parser.raise_error(f"a valid extent has two numbers, found {shape_text(valid)}", key_pos)
        elif key == "blayout":
            blayout = parse_enum(parser, BLayout)
        elif key == "slayout":
            slayout = parse_enum(parser, SLayout)
        elif key in numbers:
            numbers[key] = parser.parse_integer(allow_boolean=False, allow_negative=False)
        elif key == "count" and count is not None:
            count.append(parser.parse_integer(allow_boolean=False, allow_negative=False))
            break
        else:
            known = ", ".join(("valid", "blayout", "slayout", *numbers))
            parser.raise_error(f"'{key}' is no key of a tile; there are {known}", key_pos)
    return TileSpec(space, shape[0], shape[1], dtype, valid[0], valid[1], blayout, slayout, **numbers)


def _parse_long(parser: AttrParser) -> TileSpec:
    """`loc=vec, dtype=f16, rows=.., cols=.., v_row=.., v_col=.., blayout=.., slayout=.., fractal=.., pad=..`.

    Every key in this order, `loc` already read; `compact=` may follow.
    """

    def integer(key: str) -> int:
        parser.parse_punctuation(",")
        parser.parse_keyword(key)
        parser.parse_punctuation("=")
        return parser.parse_integer(allow_boolean=False, allow_negative=False)

    def extent(key: str) -> int | None:
        parser.parse_punctuation(",")
        parser.parse_keyword(key)
        parser.parse_punctuation("=")
        if parser.parse_optional_punctuation("?"):
            return None
        pos = parser.pos
        size = parser.parse_integer(allow_boolean=False)
        if size < -1:
            parser.raise_error(f"{key} must be '?', -1 or not negative, found {size}", pos)
        return None if size == -1 else size

    def word(key: str, enum: type[_E]) -> _E:
        parser.parse_punctuation(",")
        parser.parse_keyword(key)
        parser.parse_punctuation("=")
        return parse_enum(parser, enum)

    parser.parse_punctuation("=")
    space = parse_enum(parser, Space)
    parser.parse_punctuation(",")
    parser.parse_keyword("dtype")
    parser.parse_punctuation("=")
    dtype = parse_dtype(parser, "tile")
    rows, cols = integer("rows"), integer("cols")
    v_rows, v_cols = extent("v_row"), extent("v_col")
    blayout, slayout = word("blayout", BLayout), word("slayout", SLayout)
    fractal, pad, compact = integer("fractal"), integer("pad"), 0
    if parser.parse_optional_punctuation(","):
        parser.parse_keyword("compact")
        parser.parse_punctuation("=")
        compact = parser.parse_integer(allow_boolean=False, allow_negative=False)
    return TileSpec(space, rows, cols, dtype, v_rows, v_cols, blayout, slayout, fractal, pad, compact)


def tile_text(tile: TileSpec) -> str:
    """Short spelling: layouts always, the rest where it is not the default."""
    parts = [tile.space.value, f"{tile.rows}x{tile.cols}x{dtype_text(tile.dtype)}"]
    if tile.valid != tile.shape:
        parts.append(f"valid={shape_text(tile.valid)}")
    parts += [f"blayout={tile.blayout}", f"slayout={tile.slayout}"]
    parts += [
        f"{key}={value}"
        for key, value, usual in (("fractal", tile.fractal, 512), ("pad", tile.pad, 0), ("compact", tile.compact, 0))
        if value != usual
    ]
    return ", ".join(parts)
