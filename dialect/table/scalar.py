"""Rows of the vector ops that take a number beside their tile."""

from collections.abc import Sequence
from dataclasses import replace

from pto_buf.dialect.table.checks import (
    at_least_bytes,
    every,
    is_a2a3,
    known_valid,
    require,
    row_major,
    same_dtype,
    same_shape,
    same_valid,
    tall_enough,
    wide_enough,
)
from pto_buf.dialect.table.dtypes import DtypeSets, exactly, names, tile_scalar
from pto_buf.dialect.table.elementwise import check_power
from pto_buf.dialect.table.families import (
    DST,
    LATELY_OPTIONAL_SCRATCH,
    LHS,
    OPTIONAL_SCRATCH,
    V_S_0,
    asked,
    like,
    vector_forms,
)
from pto_buf.dialect.table.row import Check, Form, Kind, Operand, OpRow, Role, Scratch, Use
from pto_buf.dialect.table.scratch import for_float, rows_of
from pto_buf.dialect.table.scratch import like as scratch_like
from pto_buf.dialect.table.vocabulary import Attr
from pto_buf.hw import Pipe, Space

_NUMBER = Operand("rhs", Kind.SCALAR)
_SAME_VALID = same_valid("lhs", "dst")
_ALIGNED = every(_SAME_VALID, row_major("lhs", "dst"))


def _scalar(
    mnemonic: str,
    dsl: str,
    dtypes: DtypeSets,
    *,
    check: Check = _SAME_VALID,
    scratch: Sequence[Operand] = (),
    attrs: tuple[Attr, ...] = (),
    in_place: bool = True,
    room: Scratch | None = None,
) -> OpRow:
    tiles = ("lhs", *(operand.name for operand in scratch), "dst")
    return OpRow(
        mnemonic,
        dsl,
        ins=(LHS, _NUMBER, *scratch),
        out=DST,
        forms=vector_forms(tiles, ("lhs", "rhs", "dst"), dtypes),
        check=check,
        attrs=attrs,
        in_place=frozenset({"lhs"} if in_place else ()),
        deduce=like("lhs"),
        scratch=room,
    )


def _check_shift(use: Use) -> None:
    _SAME_VALID(use)
    amount = use.constants.get("rhs")
    require(amount is None or amount >= 0, use, f"shifts by {amount}, must be at least 0", "rhs")


def _check_rems(use: Use) -> None:
    _ALIGNED(use)
    if "tmp" in use.operands and is_a2a3(use):
        same_dtype(use, "tmp", "dst")
        at_least_bytes(use, "tmp", use.tile("dst").footprint // use.tile("dst").rows)
        tall_enough(use, "tmp", 1)
        wide_enough(use, "tmp", known_valid(use.tile("dst"))[1])


def _check_xors(use: Use) -> None:
    _ALIGNED(use)
    if "tmp" in use.operands and is_a2a3(use):
        row_major("tmp")(use)
        same_dtype(use, "tmp", "dst")
        at_least_bytes(use, "tmp", use.tile("dst").footprint)


_THREE = "i16 i32 f16 f32"
_ARITH = tile_scalar(_THREE, "i8 i16 i32 f16 bf16 f32")
_BITS = tile_scalar("i8 i16", "i8 i16 i32")
_SLOPES = exactly("f16 f32 f16", "f32 f32 f32")
_AXPY = exactly("f16 f16 f16", "f32 f32 f32", "f16 f16 f32")


def _reversed_division() -> OpRow:
    """`tdivs` with the number first: each element divides it."""
    return OpRow(
        "tdivs",
        "rdivs",
        ins=(Operand("lhs", Kind.SCALAR), Operand("rhs")),
        out=DST,
        forms=vector_forms(("rhs", "dst"), ("lhs", "rhs", "dst"), tile_scalar(_THREE, "i8 i16 i32 f16 f32", at=0)),
        check=same_valid("rhs", "dst"),
        attrs=(Attr("precisionType", "div_precision", "default"),),
        in_place=frozenset({"rhs"}),
        deduce=like("rhs"),
        internal_flags=V_S_0,
    )


def _carried(mnemonic: str, dsl: str) -> OpRow:
    return OpRow(
        mnemonic,
        dsl,
        ins=(LHS, _NUMBER, Operand("rhs2")),
        out=DST,
        forms=vector_forms(("lhs", "rhs2", "dst"), ("lhs", "rhs", "rhs2", "dst"), tile_scalar(_THREE, tiles=3)),
        check=same_shape("lhs", "rhs2", "dst"),
        in_place=frozenset({"lhs", "rhs2"}),
        deduce=like("lhs"),
    )


def _fills() -> DtypeSets:
    texts = {"a2a3": "i16 i32 f16 bf16 f32", "a5": "i8 i16 i32 f16 bf16 f32"}
    return {
        target: frozenset(
            (scalar, name) for name in names(text) for scalar in (name, name.lstrip("su") if "i" in name else name)
        )
        for target, text in texts.items()
    }


SCALAR_ROWS: tuple[OpRow, ...] = (
    _scalar("tadds", "adds", _ARITH),
    _scalar("tsubs", "subs", _ARITH),
    _scalar("tmuls", "muls", _ARITH),
    replace(
        _scalar(
            "tdivs",
            "divs",
            tile_scalar(_THREE, "i8 i16 i32 f16 f32"),
            attrs=(Attr("precisionType", "div_precision", "default"),),
        ),
        internal_flags=V_S_0,
    ),
    _reversed_division(),
    _scalar("tmaxs", "maximums", _ARITH),
    _scalar("tmins", "minimums", _ARITH),
    _scalar("tands", "ands", _BITS, check=_ALIGNED, in_place=False),
    _scalar("tors", "ors", _BITS, check=_ALIGNED, in_place=False),
    _scalar(
        "txors",
        "xors",
        _BITS,
        scratch=(LATELY_OPTIONAL_SCRATCH,),
        check=_check_xors,
        in_place=False,
        room=scratch_like("dst"),
    ),
    _scalar("tshls", "shls", tile_scalar("i8 i16 i32 i64"), check=_check_shift),
    _scalar("tshrs", "shrs", tile_scalar("i16 i32", "i8 i16 i32"), check=_check_shift),
    _scalar("tfmods", "fmods", tile_scalar(_THREE), check=_ALIGNED, in_place=False),
    _scalar(
        "trems",
        "rems",
        tile_scalar("i32 f32", _THREE),
        scratch=(LATELY_OPTIONAL_SCRATCH,),
        check=_check_rems,
        room=rows_of("dst", 1),
    ),
    replace(
        _scalar(
            "tpows",
            "pows",
            tile_scalar("i8 i16 i32 f32", "i8 i16 i32 f16 bf16 f32"),
            scratch=(OPTIONAL_SCRATCH,),
            check=every(_ALIGNED, check_power),
            room=for_float("dst"),
            attrs=(Attr("precisionType", "pow_precision", "default"),),
        ),
        generic=("lhs", "rhs", "dst", "tmp"),
        internal_flags=V_S_0,
    ),
    _scalar("tlrelu", "lrelu", {"a2a3": _SLOPES, "a5": _SLOPES}),
    _carried("taddsc", "addsc"),
    _carried("tsubsc", "subsc"),
    OpRow(
        "taxpy",
        "axpy",
        ins=(LHS, _NUMBER),
        out=Operand("dst", role=Role.UPDATE),
        forms=vector_forms(
            ("lhs", "dst"),
            ("lhs", "rhs", "dst"),
            {"a2a3": _AXPY, "a5": _AXPY | exactly("bf16 bf16 bf16")},
        ),
        check=every(_ALIGNED, same_shape("lhs", "dst")),
    ),
    OpRow(
        "texpands",
        "expands",
        ins=(Operand("value", Kind.SCALAR),),
        out=DST,
        forms=(
            *vector_forms(("dst",), ("value", "dst"), _fills()),
            Form({"dst": Space.MAT}, (Pipe.MTE2,), ("value", "dst"), _fills()),
        ),
        deduce=asked(),
    ),
)
