"""Rows of the elementwise vector ops on one tile or on several."""

from collections.abc import Sequence
from dataclasses import replace

from pto_buf.dialect.table.checks import (
    at_least_bytes,
    every,
    is_a2a3,
    known_valid,
    precise_with_scratch,
    require,
    row_major,
    same_dtype,
    same_shape,
    same_valid,
    tall_enough,
    wide_enough,
)
from pto_buf.dialect.table.dtypes import DtypeSets, alike, same
from pto_buf.dialect.table.families import (
    DST,
    LATELY_OPTIONAL_SCRATCH,
    LHS,
    OPTIONAL_SCRATCH,
    RHS,
    SRC,
    V_S_0,
    like,
    vector_forms,
)
from pto_buf.dialect.table.row import Check, Operand, OpRow, Role, Scratch, Use
from pto_buf.dialect.table.scratch import for_float, for_prelu, rows_of
from pto_buf.dialect.table.scratch import like as scratch_like
from pto_buf.dialect.table.vocabulary import Attr


def _precision(kind: str) -> tuple[Attr, ...]:
    return (Attr("precisionType", f"{kind}_precision", "default"),)


def _unary(mnemonic: str, dsl: str, dtypes: DtypeSets, *, attrs: tuple[Attr, ...] = (), in_place: bool = True) -> OpRow:
    return OpRow(
        mnemonic,
        dsl,
        ins=(SRC,),
        out=DST,
        forms=vector_forms(("src", "dst"), ("src", "dst"), dtypes),
        check=same_valid("src", "dst"),
        attrs=attrs,
        in_place=frozenset({"src"} if in_place else ()),
        deduce=like("src"),
    )


_ALIGNED = every(same_valid("lhs", "rhs", "dst"), row_major("lhs", "rhs", "dst"))


def _binary(
    mnemonic: str,
    dsl: str,
    dtypes: DtypeSets,
    *,
    check: Check = _ALIGNED,
    scratch: Sequence[Operand] = (),
    attrs: tuple[Attr, ...] = (),
    in_place: str = "lhs rhs",
    room: Scratch | None = None,
) -> OpRow:
    tiles = ("lhs", "rhs", *(operand.name for operand in scratch), "dst")
    return OpRow(
        mnemonic,
        dsl,
        ins=(LHS, RHS, *scratch),
        out=DST,
        forms=vector_forms(tiles, ("lhs", "rhs", "dst"), dtypes),
        check=check,
        attrs=attrs,
        in_place=frozenset(in_place.split()),
        deduce=like("lhs"),
        scratch=room,
    )


def _check_rem(use: Use) -> None:
    _ALIGNED(use)
    if "tmp" in use.operands and is_a2a3(use):
        same_dtype(use, "tmp", "dst")
        at_least_bytes(use, "tmp", 2 * use.tile("dst").footprint // use.tile("dst").rows)
        tall_enough(use, "tmp", 2)
        wide_enough(use, "tmp", known_valid(use.tile("dst"))[1])


def _check_xor(use: Use) -> None:
    _ALIGNED(use)
    if "tmp" in use.operands and is_a2a3(use):
        row_major("tmp")(use)
        same_dtype(use, "tmp", "dst")
        at_least_bytes(use, "tmp", use.tile("dst").footprint)


def _check_prelu(use: Use) -> None:
    every(same_valid("lhs", "rhs", "dst"), row_major("lhs", "rhs", "dst"), same_shape("lhs", "rhs", "dst"))(use)
    if "tmp" in use.operands and is_a2a3(use):
        tmp, dst = use.tile("tmp"), use.tile("dst")
        require(tmp.dtype in ("i8", "si8", "ui8"), use, f"tmp is {tmp.dtype}, must be ui8", "tmp")
        rows, cols = known_valid(dst)
        require(tmp.rows > rows, use, f"tmp has {tmp.rows} rows, needs {rows + 1}: one more than dst", "tmp")
        row_major("tmp")(use)
        wide_enough(use, "tmp", -(-cols // 8))


def check_power(use: Use) -> None:
    """Powers of floats work in a scratch tile like the result, powers of integers in none."""
    base, precise = use.tile("lhs").dtype, use.attr("precisionType") == "high_precision"
    require(not (precise and is_a2a3(use)), use, "precisionType high_precision is for a5", kind="attribute")
    require(
        not precise or "f" in base, use, f"precisionType high_precision is for floats, lhs is {base}", kind="attribute"
    )
    require(base != "bf16" or precise, use, "bf16 needs precisionType high_precision", "lhs")
    if "tmp" not in use.operands:
        return
    require("f" in base, use, f"powers of {base} have no tmp", "tmp", "scratch")
    same_dtype(use, "tmp", "dst")
    same_valid("dst", "tmp")(use)
    if is_a2a3(use):
        at_least_bytes(use, "tmp", use.tile("dst").footprint)


def _check_part(use: Use) -> None:
    """Where only one source is valid, the other is taken as it is: one of them has to cover the result."""
    lhs, rhs, dst = use.tile("lhs"), use.tile("rhs"), use.tile("dst")
    for axis, name in enumerate(("rows", "columns")):
        wanted = dst.valid[axis]
        for tile, operand in ((lhs, "lhs"), (rhs, "rhs")):
            found = tile.valid[axis]
            require(
                wanted is None or found is None or found <= wanted,
                use,
                f"{operand} has {found} valid {name}, dst {wanted}; a source cannot be larger than the result",
                operand,
            )
    covers = any(
        all(
            found is None or wanted is None or found == wanted
            for found, wanted in zip(tile.valid, dst.valid, strict=True)
        )
        for tile in (lhs, rhs)
    )
    require(covers, use, "neither source covers the valid extent of dst; one of them must", "dst")


_THREE = "i16 i32 f16 f32"
_ARITH = same(3, _THREE, "i8 i16 i32 f16 bf16 f32")
_NO_BF16 = same(3, _THREE, "i8 i16 i32 f16 f32")
_BITS = same(3, "i8 i16", "i8 i16 i32")
_SHIFTED = same(3, "i8 i16 i32")
_FLOAT = same(2, "f16 f32")

_UNARY_ROWS = (
    _unary("tabs", "abs", _FLOAT),
    _unary("texp", "exp", _FLOAT, attrs=_precision("exp")),
    _unary("tlog", "log", _FLOAT, attrs=_precision("log")),
    _unary("tsqrt", "sqrt", _FLOAT, attrs=_precision("sqrt")),
    _unary("trecip", "recip", _FLOAT, attrs=_precision("recip"), in_place=False),
    _unary("tneg", "neg", same(2, _THREE, "i8 i16 i32 f16 bf16 f32")),
    _unary("tnot", "not_", same(2, "i16", "i8 i16 i32")),
    _unary("trelu", "relu", same(2, "i32 f16 f32")),
    OpRow(
        "trsqrt",
        "rsqrt",
        ins=(SRC, OPTIONAL_SCRATCH),
        out=DST,
        forms=vector_forms(("src", "tmp", "dst"), ("src", "dst"), _FLOAT),
        check=every(same_valid("src", "dst"), precise_with_scratch),
        attrs=_precision("rsqrt"),
        generic=("src", "dst", "tmp"),
        deduce=like("src"),
    ),
)

_POWER = ("lhs", "rhs", "dst", "tmp")

_BINARY_ROWS = (
    _binary("tadd", "add", _ARITH),
    _binary("tsub", "sub", _NO_BF16),
    _binary("tmul", "mul", same(3, _THREE)),
    _binary("tdiv", "div", same(3, "f16 f32", _THREE), attrs=_precision("div")),
    _binary("tmax", "maximum", _NO_BF16),
    _binary("tmin", "minimum", _ARITH),
    _binary("tand", "and_", _BITS),
    _binary("tor", "or_", _BITS),
    _binary("txor", "xor", _BITS, scratch=(LATELY_OPTIONAL_SCRATCH,), check=_check_xor, room=scratch_like("dst")),
    replace(_binary("tshl", "shl", _SHIFTED), internal_flags=V_S_0),
    replace(_binary("tshr", "shr", _SHIFTED), internal_flags=V_S_0),
    _binary("tfmod", "fmod", same(3, _THREE), attrs=_precision("fmod"), in_place=""),
    _binary(
        "trem",
        "rem",
        same(3, "i32 f32", _THREE),
        scratch=(LATELY_OPTIONAL_SCRATCH,),
        check=_check_rem,
        room=rows_of("dst", 2),
        attrs=_precision("rem"),
    ),
    replace(
        _binary(
            "tpow",
            "pow",
            same(3, "i8 i16 i32 f32", "i8 i16 i32 f16 bf16 f32"),
            check=every(_ALIGNED, check_power),
            scratch=(OPTIONAL_SCRATCH,),
            attrs=_precision("pow"),
            room=for_float("dst"),
        ),
        generic=_POWER,
        internal_flags=V_S_0,
    ),
    _binary(
        "tprelu",
        "prelu",
        same(3, "f16 f32"),
        scratch=(LATELY_OPTIONAL_SCRATCH,),
        check=_check_prelu,
        in_place="",
        room=for_prelu,
    ),
    _binary("tpartadd", "part_add", _ARITH, check=_check_part),
    _binary("tpartmul", "part_mul", _ARITH, check=_check_part),
    _binary("tpartmax", "part_max", _ARITH, check=_check_part),
    _binary("tpartmin", "part_min", _ARITH, check=_check_part),
    replace(_binary("taddrelu", "add_relu", {"a2a3": alike(3, "i16 f16 f32")}), since=(0, 52)),
)


def _ternary(mnemonic: str, dsl: str) -> OpRow:
    """`lhs` with `rhs` with `carry`, from left to right."""
    return OpRow(
        mnemonic,
        dsl,
        ins=(LHS, RHS, Operand("rhs2", role=Role.READ)),
        out=DST,
        forms=vector_forms(("lhs", "rhs", "rhs2", "dst"), ("lhs", "rhs", "rhs2", "dst"), same(4, _THREE)),
        check=same_shape("lhs", "rhs", "rhs2", "dst"),
        in_place=frozenset({"lhs", "rhs", "rhs2"}),
        deduce=like("lhs"),
    )


ELEMENTWISE_ROWS: tuple[OpRow, ...] = (
    *_UNARY_ROWS,
    *_BINARY_ROWS,
    _ternary("taddc", "addc"),
    _ternary("tsubc", "subc"),
)
