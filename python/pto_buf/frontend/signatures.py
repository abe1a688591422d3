"""The parameters of every tile op of the DSL, in both spellings that pypto has used. Pure data.

`=` marks what may be left out, `|` another spelling. The names in `OPERANDS` are, in order, those that become the
inputs of the op's row in the op table; the rest of a signature says how.
"""

from collections.abc import Mapping

_UNARY = "neg exp sin cos sqrt abs relu not_"
_BINARY = (
    "add sub mul maximum minimum part_add part_mul part_max part_min fmod and_ or_ shl shr "
    "row_expand_mul row_expand_div row_expand_sub row_expand_max row_expand_min row_expand_expdif "
    "col_expand_mul col_expand_div col_expand_sub col_expand_add col_expand_max col_expand_min col_expand_expdif"
)
_SCALAR = "adds subs muls divs fmods ands ors shls shrs maximums minimums"

OPERANDS: Mapping[str, str] = {
    **dict.fromkeys(_UNARY.split(), "tile|input"),
    **dict.fromkeys(_BINARY.split(), "lhs|tile|src0|target, rhs|row_vec|col_vec|src1"),
    **dict.fromkeys(_SCALAR.split(), "lhs, rhs"),
    "matmul": "lhs, rhs",
    "matmul_acc": "acc, lhs, rhs",
    "matmul_bias": "lhs, rhs, bias",
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
    "shl": "shls",
    "shr": "shrs",
}
"""The op that takes a number where the key takes two tiles."""

COMMUTATIVE = frozenset({"add", "mul", "maximum", "minimum", "and_", "or_"})
