"""The matrix unit in numpy: products accumulate in f32, or in i32 for integers."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from pto_buf.dialect.table.row import Compute
from pto_buf.dialect.table.semantics.numbers import Array

Operands = Mapping[str, Any]
Attrs = Mapping[str, str]


def _product(operands: Operands, attrs: Attrs) -> Array:
    lhs, rhs = operands["lhs"], operands["rhs"]
    wide = np.int32 if lhs.dtype.kind in "iu" else np.float32
    return lhs.astype(wide) @ rhs.astype(wide)


def _accumulate(operands: Operands, attrs: Attrs) -> Array:
    return operands["acc"] + _product(operands, attrs)


def _biased(operands: Operands, attrs: Attrs) -> Array:
    return operands["bias"] + _product(operands, attrs)


CUBE: Mapping[str, Compute] = {
    f"{name}{suffix}": compute
    for name in ("matmul", "gemv")
    for suffix, compute in (("", _product), ("_acc", _accumulate), ("_bias", _biased))
}
