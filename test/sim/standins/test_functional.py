"""`torch.nn.functional`, `torch.testing` and the functions of `more`, against values worked out by hand or numpy."""

import math

import numpy as np
import pytest

from pto_buf.sim.standins import torch
from pto_buf.sim.standins.missing import Missing
from pto_buf.sim.standins.torch import functional as F

t = torch.tensor
X = np.linspace(-3, 3, 12).reshape(3, 4).astype(np.float32)


def near(found, expected) -> bool:
    return np.allclose(found.float().numpy(), expected, atol=1e-5)


def test_activations() -> None:
    x = torch.from_numpy(X)
    assert near(F.silu(x), X / (1 + np.exp(-X)))
    assert near(F.relu(x), np.maximum(X, 0))
    assert near(F.leaky_relu(x, 0.5), np.where(X < 0, X / 2, X))
    assert near(F.softplus(x), np.log1p(np.exp(X)))
    assert near(F.gelu(t([1.0])), [0.841345])
    assert near(F.gelu(t([1.0]), approximate="tanh"), [0.841192])
    assert F.silu(x.to(torch.bfloat16)).dtype == torch.bfloat16


def test_normalisations() -> None:
    x = torch.from_numpy(X)
    centred = X - X.mean(axis=1, keepdims=True)
    expected = centred / np.sqrt(X.var(axis=1, keepdims=True) + 1e-5)
    assert near(F.layer_norm(x, [4]), expected)
    assert near(F.layer_norm(x, [4], t([2.0] * 4), t([1.0] * 4)), expected * 2 + 1)
    scale = np.sqrt((X * X).mean(axis=1, keepdims=True) + 1e-6)
    assert near(F.rms_norm(x, [4], t([3.0] * 4), eps=1e-6), X / scale * 3)
    assert near(F.log_softmax(x, dim=-1).exp(), F.softmax(x, dim=-1).numpy())
    assert near(F.normalize(t([[3.0, 4.0]])), [[0.6, 0.8]])


def test_products_and_losses() -> None:
    a, w, b = t([[1.0, 2.0]]), t([[3.0, 4.0], [5.0, 6.0]]), t([10.0, 20.0])
    assert F.linear(a, w, b).tolist() == [[21, 37]]
    assert F.mse_loss(t([1.0, 3.0]), t([0.0, 0.0])).item() == 5
    assert near(F.cosine_similarity(t([[1.0, 0.0]]), t([[1.0, 1.0]])), [math.sqrt(0.5)])
    assert F.pad(t([[1, 2]]), (1, 0, 0, 1), value=9).tolist() == [[9, 1, 2], [9, 9, 9]]
    assert F.one_hot(t([0, 2])).tolist() == [[1, 0, 0], [0, 0, 1]]


def test_attention() -> None:
    q = torch.from_numpy(X)
    scores = X @ X.T / 2
    keep = np.tri(3) > 0
    weights = np.where(keep, np.exp(scores), 0)
    expected = weights / weights.sum(axis=1, keepdims=True) @ X
    assert near(F.scaled_dot_product_attention(q, q, q, is_causal=True), expected)
    assert near(F.scaled_dot_product_attention(q, q, q, attn_mask=torch.from_numpy(keep)), expected)
    with pytest.raises(Missing, match=r"dropout .* install torch"):
        F.scaled_dot_product_attention(q, q, q, dropout_p=0.1)


def test_what_a_tensor_holds() -> None:
    x = t([[0, 3], [3, 5]])
    assert x.nonzero().tolist() == [[0, 1], [1, 0], [1, 1]]
    assert [one.tolist() for one in torch.nonzero(x, as_tuple=True)] == [[0, 1, 1], [1, 0, 1]]
    assert torch.count_nonzero(x).item() == 3
    assert torch.unique(x).tolist() == [0, 3, 5]
    assert torch.unique(x, return_counts=True)[1].tolist() == [1, 2, 1]
    assert torch.bincount(t([0, 2, 2]), minlength=4).tolist() == [1, 0, 2, 0]
    assert torch.isin(x, t([3])).tolist() == [[False, True], [True, False]]
    assert near(torch.logsumexp(t([[0.0, 0.0]]), 1), [math.log(2)])
    assert near(t([3.0, 4.0]).norm(), 5)


def test_how_tensors_are_put_together() -> None:
    x = torch.arange(6).reshape(2, 3)
    assert torch.diag(t([1, 2])).tolist() == [[1, 0], [0, 2]]
    assert x.diagonal().tolist() == [0, 4]
    assert x.narrow(1, 1, 2).tolist() == [[1, 2], [4, 5]]
    assert [one.tolist() for one in x.unbind(1)] == [[0, 3], [1, 4], [2, 5]]
    assert x.flip(0).tolist() == x.flip([0]).tolist() == [[3, 4, 5], [0, 1, 2]]
    assert torch.movedim(x, 0, 1).tolist() == x.swapaxes(0, 1).tolist() == [[0, 3], [1, 4], [2, 5]]
    assert torch.addmm(t([1.0]), t([[1.0, 2.0]]), t([[3.0], [4.0]])).tolist() == [[12]]
    assert torch.lerp(t([0.0]), t([4.0]), 0.25).tolist() == [1]
    assert torch.searchsorted(t([1, 3, 5]), t([3, 6]), right=True).tolist() == [2, 3]


def test_parts_are_set_by_index() -> None:
    x = torch.zeros(2, 3)
    assert x.scatter(1, t([[2], [0]]), t([[7.0], [8.0]])).tolist() == [[0, 0, 7], [8, 0, 0]]
    assert x.tolist() == [[0, 0, 0], [0, 0, 0]]
    assert x.scatter_(1, t([[1], [1]]), 5.0) is x
    assert x.tolist() == [[0, 5, 0], [0, 5, 0]]
    assert x.index_copy(1, t([2]), t([[1.0], [2.0]])).tolist() == [[0, 5, 1], [0, 5, 2]]
    assert x.index_fill(0, t([1]), 9).tolist() == [[0, 5, 0], [9, 9, 9]]


def test_closeness_is_asserted_with_the_tolerance_of_the_type() -> None:
    torch.testing.assert_close(t([1.0]), t([1.0 + 1e-6]))
    with pytest.raises(AssertionError, match=r"1 of 2 elements differ, by up to 0\.0999999"):
        torch.testing.assert_close(t([1.0, 2.0]), t([1.0, 2.1]))
    with pytest.raises(AssertionError, match=r"expected torch\.int64 \[1\]"):
        torch.testing.assert_close(t([1.0]), t([1]))


def test_what_is_not_there_is_named() -> None:
    with pytest.raises(Missing, match=r"torch\.nn\.functional\.conv2d .* install torch"):
        F.conv2d()
    with pytest.raises(Missing, match=r"torch\.nn\.Linear"):
        torch.nn.Linear(2, 2)
