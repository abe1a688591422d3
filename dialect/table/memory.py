"""Rows of the ops that move data: global memory to and from tiles, and tiles to tiles."""

from collections.abc import Mapping
from typing import Any

from pto_buf.dialect.table.checks import (
    check_extract,
    check_load,
    check_move,
    check_store,
)
from pto_buf.dialect.table.row import Array, Form, Kind, Operand, OpRow, Role, alike
from pto_buf.hw import Pipe, Space

_NUMBERS = "i8 i16 i32 i64 ui8 ui16 ui32 ui64 f16 bf16 f32"
_NUMBERS_A5 = f"{_NUMBERS} f8E4M3FN f8E5M2 hif8 f4E1M2x2 f4E2M1x2"
_SAME = {"a2a3": alike(2, _NUMBERS), "a5": alike(2, _NUMBERS_A5)}
_MATRIX = {"a2a3": alike(2, "i8 ui8 f16 bf16 f32"), "a5": alike(2, "i8 ui8 f16 bf16 f32 f8E4M3FN f8E5M2 hif8")}


def _copy(operands: Mapping[str, Any], attrs: Mapping[str, str]) -> Array:
    return operands["src"]


def _window(operands: Mapping[str, Any], attrs: Mapping[str, str]) -> Array:
    """What lies right of and below the corner; the caller cuts it to the output's extent."""
    return operands["src"][operands["row"] :, operands["col"] :]


def _path(src: Space, dst: Space, pipes: tuple[Pipe, ...], dtypes: Mapping[str, frozenset[tuple[str, ...]]]) -> Form:
    return Form({"src": src, "dst": dst}, pipes, ("src", "dst"), dtypes)


def _pairs(*entries: str) -> frozenset[tuple[str, ...]]:
    return frozenset(tuple(entry.split()) for entry in entries)


_FROM_ACC = _pairs(
    *(f"{src} {dst}" for src in ("f32", "i32") for dst in ("f32", "i32", "f16", "bf16")),
)

MEMORY_ROWS: tuple[OpRow, ...] = (
    OpRow(
        "tload",
        "load",
        ins=(Operand("src", Kind.VIEW),),
        out=Operand("dst", role=Role.WRITE),
        forms=(
            Form({"dst": Space.MAT}, (Pipe.MTE2,), ("src", "dst"), _SAME),
            Form({"dst": Space.VEC}, (Pipe.MTE2,), ("src", "dst"), _SAME),
        ),
        compute=_copy,
        check=check_load,
    ),
    OpRow(
        "tstore",
        "store",
        ins=(Operand("src"),),
        out=Operand("dst", Kind.VIEW, Role.WRITE),
        forms=(
            Form({"src": Space.VEC}, (Pipe.MTE3,), ("src", "dst"), _SAME),
            Form({"src": Space.MAT}, (Pipe.MTE3,), ("src", "dst"), {"a2a3": _SAME["a2a3"]}),
            Form({"src": Space.ACC}, (Pipe.FIX,), ("src", "dst"), {"a2a3": _FROM_ACC, "a5": _FROM_ACC}),
        ),
        compute=_copy,
        check=check_store,
        attrs=("stPhase", "atomicType", "reluPreMode"),
    ),
    OpRow(
        "tmov",
        "move",
        ins=(Operand("src"),),
        out=Operand("dst", role=Role.WRITE),
        forms=(
            _path(Space.MAT, Space.LEFT, (Pipe.MTE1,), _MATRIX),
            _path(Space.MAT, Space.RIGHT, (Pipe.MTE1,), _MATRIX),
            _path(
                Space.MAT,
                Space.BIAS,
                (Pipe.MTE1,),
                {name: _pairs("f32 f32", "i32 i32", "f16 f32") for name in ("a2a3", "a5")},
            ),
            _path(
                Space.MAT,
                Space.SCALING,
                (Pipe.MTE1, Pipe.FIX),
                {name: alike(2, "i64 ui64") for name in ("a2a3", "a5")},
            ),
            _path(Space.VEC, Space.VEC, (Pipe.V,), _SAME),
            _path(
                Space.ACC,
                Space.MAT,
                (Pipe.FIX,),
                {"a2a3": _pairs("f32 f16", "f32 bf16"), "a5": _pairs("f32 f16", "f32 bf16", "f32 f32", "i32 i32")},
            ),
            _path(Space.ACC, Space.VEC, (Pipe.FIX,), {"a5": _pairs("f32 f16", "f32 bf16", "f32 f32", "i32 i32")}),
        ),
        compute=_copy,
        check=check_move,
        attrs=("accToVecMode", "reluPreMode"),
    ),
    OpRow(
        "textract",
        "extract",
        ins=(Operand("src"), Operand("row", Kind.INDEX), Operand("col", Kind.INDEX)),
        out=Operand("dst", role=Role.WRITE),
        forms=(
            _path(Space.MAT, Space.LEFT, (Pipe.MTE1,), _MATRIX),
            _path(Space.MAT, Space.RIGHT, (Pipe.MTE1,), _MATRIX),
            _path(Space.VEC, Space.VEC, (Pipe.V,), {name: alike(2, "i8 f16 bf16 f32") for name in ("a2a3", "a5")}),
        ),
        compute=_window,
        check=check_extract,
    ),
)
