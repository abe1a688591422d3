"""Rows of the elementwise vector ops: unary, tile with tile, tile with scalar."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pto_buf.dialect.table.checks import same_valid
from pto_buf.dialect.table.row import (
    Array,
    Compute,
    Form,
    Kind,
    Operand,
    OpRow,
    Role,
    alike,
    as_float,
)
from pto_buf.hw import Pipe, Space

_DST = Operand("dst", role=Role.WRITE)


def _dtypes(count: int, a2a3: str, a5: str) -> Mapping[str, frozenset[tuple[str, ...]]]:
    return {"a2a3": alike(count, a2a3), "a5": alike(count, a5)}


def _unary(mnemonic: str, dsl: str, fn: Callable[[Array], Array], a2a3: str, a5: str) -> OpRow:
    def compute(operands: Mapping[str, Any], attrs: Mapping[str, str]) -> Array:
        return fn(as_float(operands["src"]))

    return OpRow(
        mnemonic,
        dsl,
        ins=(Operand("src"),),
        out=_DST,
        forms=(Form({"src": Space.VEC, "dst": Space.VEC}, (Pipe.V,), ("src", "dst"), _dtypes(2, a2a3, a5)),),
        compute=compute,
        check=same_valid,
        in_place=frozenset({"src"}),
    )


def _binary_compute(fn: Callable[[Array, Array], Array], left: str, right: str) -> Compute:
    def compute(operands: Mapping[str, Any], attrs: Mapping[str, str]) -> Array:
        return fn(as_float(np.asarray(operands[left])), as_float(np.asarray(operands[right])))

    return compute


def _binary(mnemonic: str, dsl: str, fn: Callable[[Array, Array], Array], a2a3: str, a5: str) -> OpRow:
    spaces = {"lhs": Space.VEC, "rhs": Space.VEC, "dst": Space.VEC}
    return OpRow(
        mnemonic,
        dsl,
        ins=(Operand("lhs"), Operand("rhs")),
        out=_DST,
        forms=(Form(spaces, (Pipe.V,), ("lhs", "rhs", "dst"), _dtypes(3, a2a3, a5)),),
        compute=_binary_compute(fn, "lhs", "rhs"),
        check=same_valid,
        in_place=frozenset({"lhs", "rhs"}),
    )


def _scalar(mnemonic: str, dsl: str, fn: Callable[[Array, Array], Array], a2a3: str, a5: str) -> OpRow:
    return OpRow(
        mnemonic,
        dsl,
        ins=(Operand("lhs"), Operand("rhs", Kind.SCALAR)),
        out=_DST,
        forms=(Form({"lhs": Space.VEC, "dst": Space.VEC}, (Pipe.V,), ("lhs", "rhs", "dst"), _dtypes(3, a2a3, a5)),),
        compute=_binary_compute(fn, "lhs", "rhs"),
        check=same_valid,
        in_place=frozenset({"lhs"}),
    )


_I = "i16 i32 f16 f32"
_WIDE = "i8 i16 i32 f16 bf16 f32"

ELEMENTWISE_ROWS: tuple[OpRow, ...] = (
    _unary("texp", "exp", np.exp, "f16 f32", "f16 f32"),
    _binary("tadd", "add", np.add, _I, _WIDE),
    _binary("tsub", "sub", np.subtract, _I, "i8 i16 i32 f16 f32"),
    _binary("tmul", "mul", np.multiply, _I, _I),
    _scalar("tadds", "adds", np.add, _I, _WIDE),
    _scalar("tsubs", "subs", np.subtract, _I, _WIDE),
    _scalar("tmuls", "muls", np.multiply, _I, _WIDE),
)
