"""Products. Operands lie in Left and Right, results in Acc: fp32 for floats, int32 for integers.

Whole tiles in Mat are moved there by the compiler, as by pypto; an `_into` form wants them there.
"""

from pto_buf.language.values import Scalar, Slot, Tile, outside

__all__ = [
    "gemv",
    "gemv_acc",
    "gemv_bias",
    "matmul",
    "matmul_acc",
    "matmul_acc_into",
    "matmul_bias",
    "matmul_bias_into",
    "matmul_into",
    "matmul_mx",
    "matmul_mx_acc",
    "matmul_mx_bias",
]


def matmul(lhs: Tile | Slot, rhs: Tile | Slot, *, out: Slot | None = None) -> Tile:
    """[M, K] times [K, N]. Mistakes: `memory-space`, `shape-or-dtype`."""
    outside("matmul")


def matmul_acc(
    acc: Tile | Slot,
    lhs: Tile | Slot,
    rhs: Tile | Slot,
    init_cond: Scalar | bool | None = None,
    *,
    out: Slot | None = None,
) -> Tile:
    """Add a product to `acc`, in place; `out`, if given, is the accumulator's own slot.

    Where `init_cond` holds the product replaces the accumulator instead.
    """
    outside("matmul_acc")


def matmul_bias(lhs: Tile | Slot, rhs: Tile | Slot, bias: Tile | Slot, *, out: Slot | None = None) -> Tile:
    """A product with a [1, N] bias, in Bias, added to every row."""
    outside("matmul_bias")


def matmul_into(dst: Slot, lhs: Tile | Slot, rhs: Tile | Slot) -> Tile:
    """`matmul` into a slot in Acc."""
    outside("matmul_into")


def matmul_acc_into(dst: Slot, lhs: Tile | Slot, rhs: Tile | Slot, init_cond: Scalar | bool | None = None) -> Tile:
    """`matmul_acc` on what a slot holds."""
    outside("matmul_acc_into")


def matmul_bias_into(dst: Slot, lhs: Tile | Slot, rhs: Tile | Slot, bias: Tile | Slot) -> Tile:
    """`matmul_bias` into a slot in Acc."""
    outside("matmul_bias_into")


def gemv(lhs: Tile | Slot, rhs: Tile | Slot, *, out: Slot | None = None) -> Tile:
    """One row times a matrix."""
    outside("gemv")


def gemv_acc(acc: Tile | Slot, lhs: Tile | Slot, rhs: Tile | Slot, *, out: Slot | None = None) -> Tile:
    """Add one row times a matrix to `acc`, in place."""
    outside("gemv_acc")


def gemv_bias(lhs: Tile | Slot, rhs: Tile | Slot, bias: Tile | Slot, *, out: Slot | None = None) -> Tile:
    """One row times a matrix, with a bias."""
    outside("gemv_bias")


def matmul_mx(
    lhs: Tile | Slot, lhs_scale: Tile | Slot, rhs: Tile | Slot, rhs_scale: Tile | Slot, *, out: Slot | None = None
) -> Tile:
    """A product of fp8 or fp4 tiles with a scale for each 32 elements (a5)."""
    outside("matmul_mx")


def matmul_mx_acc(
    acc: Tile | Slot,
    lhs: Tile | Slot,
    lhs_scale: Tile | Slot,
    rhs: Tile | Slot,
    rhs_scale: Tile | Slot,
    *,
    out: Slot | None = None,
) -> Tile:
    """Add a scaled product to `acc`, in place (a5)."""
    outside("matmul_mx_acc")


def matmul_mx_bias(
    lhs: Tile | Slot,
    lhs_scale: Tile | Slot,
    rhs: Tile | Slot,
    rhs_scale: Tile | Slot,
    bias: Tile | Slot,
    *,
    out: Slot | None = None,
) -> Tile:
    """A scaled product with a [1, N] bias, in Bias, added to every row (a5)."""
    outside("matmul_mx_bias")
