"""The parameters of the tile ops that go straight to a row of the op table, in both spellings that pypto has used.

The first spelling of a parameter is the operand's name in the row; `=` marks what may be left out. Pure data.
"""

from collections.abc import Mapping


def _all(names: str, signature: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), signature)


_SIDES = "add sub mul div max min expdif"

OPERANDS: Mapping[str, str] = {
    **_all("neg exp sqrt abs relu not_", "src|tile|input"),
    **_all("log recip", "src|tile|input, high_precision="),
    "rsqrt": "src|tile|input, tmp=, *, high_precision=",
    **_all("add sub mul maximum minimum fmod and_ or_ shl shr", "lhs, rhs"),
    "div": "lhs, rhs, high_precision=",
    **_all("part_add part_mul part_max part_min", "lhs|src0, rhs|src1"),
    **_all("adds subs muls divs rdivs maximums minimums fmods ands ors shls shrs", "lhs, rhs"),
    **_all("xor rem xors rems", "lhs, rhs, tmp="),
    "prelu": "lhs|tile, rhs|slope, tmp=",
    "lrelu": "lhs|tile, rhs|slope",
    **_all("addc subc addsc subsc", "lhs, rhs, rhs2"),
    **_all("row_max row_min row_sum row_prod row_argmax row_argmin", "src|tile|input, tmp|tmp_tile="),
    **_all("col_max col_min col_prod", "src|tile|input"),
    **_all("col_sum col_argmax col_argmin", "src|tile|input, tmp|tmp_tile="),
    **{f"row_expand_{name}": "lhs|tile|target, rhs|row_vec, tmp=" for name in _SIDES.split()},
    **{f"col_expand_{name}": "lhs|tile|target, rhs|col_vec" for name in _SIDES.split()},
    "concat": "lhs|src0, rhs|src1",
    **_all("cmp cmps", "lhs, rhs, cmp_type="),
    "sel": "mask, lhs, rhs, tmp=",
    "sels": "mask, src, tmp=, value|scalar",
    "gather": "src, indices, tmp=",
    "gatherb": "src, offsets|offset, *, output_dtype=",
}

UNIFIED_SCALAR: Mapping[str, str] = {
    "add": "adds",
    "sub": "subs",
    "mul": "muls",
    "div": "divs",
    "fmod": "fmods",
    "maximum": "maximums",
    "minimum": "minimums",
    "and_": "ands",
    "or_": "ors",
    "xor": "xors",
    "rem": "rems",
    "shl": "shls",
    "shr": "shrs",
    "cmp": "cmps",
}
"""The op that takes a number where the key takes two tiles."""

COMMUTATIVE = frozenset({"adds", "muls", "maximums", "minimums", "ands", "ors", "xors"})
"""Ops of a tile and a number that may be written the other way round."""
