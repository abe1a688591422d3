"""Rows of the matrix unit."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from pto_buf.dialect.table.checks import check_matmul
from pto_buf.dialect.table.row import Array, Form, Operand, OpRow, Role
from pto_buf.hw import Pipe, Space

_PRODUCTS = frozenset({("i8", "i8", "i32"), ("f16", "f16", "f32"), ("bf16", "bf16", "f32"), ("f32", "f32", "f32")})
_FP8 = frozenset((a, b, "f32") for a in ("f8E4M3FN", "f8E5M2") for b in ("f8E4M3FN", "f8E5M2"))
_DTYPES = {"a2a3": _PRODUCTS, "a5": _PRODUCTS | _FP8 | {("hif8", "hif8", "f32")}}
_LHS, _RHS = Operand("lhs"), Operand("rhs")


def _product(operands: Mapping[str, Any], attrs: Mapping[str, str]) -> Array:
    """Products accumulate in f32, or in i32 for integers."""
    lhs, rhs = operands["lhs"], operands["rhs"]
    wide = np.int32 if lhs.dtype.kind in "iu" else np.float32
    return lhs.astype(wide) @ rhs.astype(wide)


def _accumulate(operands: Mapping[str, Any], attrs: Mapping[str, str]) -> Array:
    return operands["acc"] + _product(operands, attrs)


def _biased(operands: Mapping[str, Any], attrs: Mapping[str, str]) -> Array:
    return operands["bias"] + _product(operands, attrs)


def _form(**extra: Space) -> tuple[Form, ...]:
    spaces = {"lhs": Space.LEFT, "rhs": Space.RIGHT, "dst": Space.ACC, **extra}
    return (Form(spaces, (Pipe.M,), ("lhs", "rhs", "dst"), _DTYPES),)


CUBE_ROWS: tuple[OpRow, ...] = (
    OpRow(
        "tmatmul",
        "matmul",
        ins=(_LHS, _RHS),
        out=Operand("dst", role=Role.WRITE),
        forms=_form(),
        compute=_product,
        check=check_matmul,
        attrs=("accPhase",),
    ),
    OpRow(
        "tmatmul.acc",
        "matmul_acc",
        ins=(Operand("acc"), _LHS, _RHS),
        out=Operand("dst", role=Role.UPDATE),
        forms=_form(acc=Space.ACC),
        compute=_accumulate,
        check=check_matmul,
        attrs=("accPhase",),
        in_place=frozenset({"acc"}),
        accumulates="acc",
    ),
    OpRow(
        "tmatmul.bias",
        "matmul_bias",
        ins=(_LHS, _RHS, Operand("bias")),
        out=Operand("dst", role=Role.WRITE),
        forms=_form(bias=Space.BIAS),
        compute=_biased,
        check=check_matmul,
        attrs=("accPhase",),
    ),
)
