"""Stands in for `torch.nn.functional`: activations, normalisations and losses, worked out in f32."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pto_buf.sim.standins.missing import Missing
from pto_buf.sim.standins.torch import more
from pto_buf.sim.standins.torch.tensor import OPS, Tensor, computed

relu = OPS["relu"]
sigmoid = OPS["sigmoid"]
tanh = OPS["tanh"]
softmax = OPS["softmax"]
log_softmax = more.log_softmax


_add, _sub, _mul, _matmul, _mean = (OPS[name] for name in ("add", "sub", "mul", "matmul", "mean"))


_erf: Any = np.vectorize(math.erf, otypes=[float])


def _silu(x: Any) -> Any:
    return x / (1 + np.exp(-x))


def _gelu(x: Any) -> Any:
    return x / 2 * (1 + _erf(x / math.sqrt(2)))


def _gelu_tanh(x: Any) -> Any:
    return x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def silu(input: Tensor) -> Tensor:
    return computed(_silu, input)


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    return computed(_gelu_tanh if approximate == "tanh" else _gelu, input)


def leaky_relu(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    def run(x: Any) -> Any:
        return np.maximum(x, 0) + negative_slope * np.minimum(x, 0)

    return computed(run, input)


def softplus(input: Tensor) -> Tensor:
    def run(x: Any) -> Any:
        return np.logaddexp(x, 0)

    return computed(run, input)


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`input` times the transposed weight."""
    return _scaled(_matmul(input, weight.transpose(-1, -2)), None, bias)


def _scaled(value: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    scaled = value if weight is None else _mul(value, weight)
    return scaled if bias is None else _add(scaled, bias)


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    axes = tuple(range(-len(normalized_shape), 0))

    def run(x: Any) -> Any:
        centred = x - x.mean(axis=axes, keepdims=True)
        return centred / np.sqrt((centred * centred).mean(axis=axes, keepdims=True) + eps)

    return _scaled(computed(run, input), weight, bias)


def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    axes = tuple(range(-len(normalized_shape), 0))
    least = float(np.finfo(np.float32).eps) if eps is None else eps

    def run(x: Any) -> Any:
        return x / np.sqrt((x * x).mean(axis=axes, keepdims=True) + least)

    return _scaled(computed(run, input), weight, None)


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    classes = int(tensor.array.max()) + 1 if num_classes < 0 else num_classes
    return Tensor(np.eye(classes, dtype=np.int64)[tensor.array])


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float = 0) -> Tensor:
    """Pairs of widths, the last dimension first."""
    if mode != "constant":
        raise Missing("torch", f"pad with mode '{mode}'")
    pairs = [(pad[at], pad[at + 1]) for at in range(0, len(pad), 2)]
    widths = [(0, 0)] * (input.ndim - len(pairs)) + pairs[::-1]
    return Tensor(np.pad(input.array, widths, constant_values=value))


def mse_loss(input: Tensor, target: Tensor) -> Tensor:
    apart = _sub(input, target)
    return _mean(_mul(apart, apart))


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    def run(x: Any, y: Any) -> Any:
        lengths = [np.maximum(np.sqrt((one * one).sum(axis=dim)), eps) for one in (x, y)]
        return (x * y).sum(axis=dim) / (lengths[0] * lengths[1])

    return computed(run, x1, x2)


def normalize(input: Tensor, p: float = 2, dim: int = 1, eps: float = 1e-12) -> Tensor:
    def run(x: Any) -> Any:
        return x / np.maximum(np.sum(np.abs(x) ** p, axis=dim, keepdims=True) ** (1 / p), eps)

    return computed(run, input)


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    if dropout_p:
        raise Missing("torch", "dropout")
    scores = _mul(_matmul(query, key.transpose(-1, -2)), scale or 1 / math.sqrt(query.shape[-1]))
    if is_causal:
        scores = _kept(scores, Tensor(np.tri(*scores.shape[-2:], dtype=bool)))
    if attn_mask is not None:
        is_bool = repr(attn_mask.dtype) == "torch.bool"
        scores = _kept(scores, attn_mask) if is_bool else _add(scores, attn_mask)
    return _matmul(softmax(scores, -1), value)


def _kept(scores: Tensor, keep: Tensor) -> Tensor:
    return OPS["masked_fill"](scores, OPS["logical_not"](keep), -math.inf)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise Missing("torch", f"torch.nn.functional.{name}")
