"""What stands in for torch: values and element types as torch has them."""

import ml_dtypes
import numpy as np
import pytest

from pto_buf.sim.standins import torch
from pto_buf.sim.standins.missing import Missing
from pto_buf.sim.standins.torch.tensor import Tensor

t = torch.tensor


def values(tensor: Tensor) -> list[float]:
    return tensor.float().flatten().tolist()


def test_new_tensors_have_the_usual_types() -> None:
    assert t([1, 2]).dtype == torch.int64
    assert t([1.0]).dtype == torch.float32
    assert t([True]).dtype == torch.bool
    assert torch.zeros(2, 3).dtype == torch.float32
    assert torch.arange(3).dtype == torch.int64
    assert torch.arange(0, 1, 0.5).dtype == torch.float32
    assert torch.full([2], 7, dtype=torch.int32).tolist() == [7, 7]
    assert torch.randint(0, 5, (4,)).dtype == torch.int64
    assert torch.randn([2, 3], dtype=torch.bfloat16).dtype == torch.bfloat16
    assert torch.ones_like(torch.zeros(2, dtype=torch.float16)).dtype == torch.float16


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("int32", "float16", "float16"),
        ("float16", "bfloat16", "float32"),
        ("bfloat16", "float32", "float32"),
        ("uint8", "int8", "int16"),
        ("bool", "int8", "int8"),
        ("int64", "float32", "float32"),
    ],
)
def test_two_types_yield_the_one_that_holds_both_kinds(left: str, right: str, expected: str) -> None:
    one, other = torch.ones(2, dtype=getattr(torch, left)), torch.ones(2, dtype=getattr(torch, right))
    assert repr((one + other).dtype) == f"torch.{expected}"
    assert repr((other + one).dtype) == f"torch.{expected}"


def test_numbers_and_scalars_do_not_widen_their_own_kind() -> None:
    half = torch.ones(2, dtype=torch.bfloat16)
    assert (half * 2.5).dtype == torch.bfloat16
    assert (2 - half).dtype == torch.bfloat16
    assert (half * t(2.0)).dtype == torch.bfloat16
    assert (torch.ones(2, dtype=torch.int32) * 1.5).dtype == torch.float32
    assert (torch.ones(2, dtype=torch.int8) + 1).dtype == torch.int8


def test_narrow_floats_are_computed_wide_and_rounded_once() -> None:
    x = torch.full((1, 3), 1.0, dtype=torch.bfloat16)
    y = t([[1.0], [2.0**-8], [2.0**-8]]).bfloat16()
    assert values(x @ y) == [1.0078125]  # one rounding of 1 + 2**-7; each addend alone would be lost
    assert (x @ y).dtype == torch.bfloat16
    assert values(t([1.0, 2.0**-8, 2.0**-8]).bfloat16().sum()) == [1.0078125]


def test_division_of_integers_gives_f32_and_sums_of_integers_i64() -> None:
    assert (t([3]) / 2).dtype == torch.float32
    assert values(t([3]) / 2) == [1.5]
    assert torch.ones(3, dtype=torch.int8).sum().dtype == torch.int64
    assert (t([7]) // 2).tolist() == [3]


def test_slices_are_views_and_assignment_rounds() -> None:
    out = torch.zeros(4, 2, dtype=torch.bfloat16)
    out[1:3] = t([[1.00390625, 2.0], [3.0, 4.0]])
    assert values(out) == [0, 0, 1, 2, 3, 4, 0, 0]
    part = out[0]
    part[:] = 9
    assert values(out[0]) == [9, 9]
    out[torch.arange(2)] += 1
    assert values(out[:2]) == [10, 10, 2, 3]


def test_shapes_change_as_asked() -> None:
    x = torch.arange(24).reshape(2, 3, 4)
    assert x.permute(2, 0, 1).shape == (4, 2, 3)
    assert x.transpose(0, 2).shape == (4, 3, 2)
    assert x.flatten(1).shape == (2, 12)
    assert x.unsqueeze(0).squeeze(0).shape == x.shape
    assert x[:, :1].expand(-1, 3, -1).shape == (2, 3, 4)
    assert x.view(6, -1).size(1) == 4
    assert torch.cat([x, x], dim=1).shape == (2, 6, 4)
    assert torch.stack([x, x]).shape == (2, 2, 3, 4)


def test_bits_can_be_seen_as_another_type() -> None:
    assert t([1.0]).bfloat16().view(torch.int16).tolist() == [0x3F80]


def test_reductions_along_a_dimension() -> None:
    x = t([[1.0, 5.0], [7.0, 3.0]])
    best = x.max(dim=1)
    assert (best.values.tolist(), best.indices.tolist()) == ([5.0, 7.0], [1, 0])
    assert x.amax(dim=0, keepdim=True).shape == (1, 2)
    assert x.mean().item() == 4.0
    assert torch.softmax(x, dim=-1).sum(dim=1).tolist() == pytest.approx([1, 1])
    assert x.topk(1).indices.tolist() == [[1], [0]]
    assert x.argmax(dim=0).tolist() == [1, 0]


def test_spread_counts_one_element_less_unless_told() -> None:
    x = t([[1.0, 3.0], [2.0, 2.0]])
    assert x.var(dim=1).tolist() == [2.0, 0.0]
    assert x.var(dim=-1, keepdim=True, unbiased=False).tolist() == [[1.0], [0.0]]
    assert x.var(dim=1, correction=0).tolist() == [1.0, 0.0]
    assert x.std(dim=1, unbiased=False).tolist() == [1.0, 0.0]


def test_elements_can_be_repeated() -> None:
    x = t([[1, 2]])
    assert x.repeat_interleave(2, dim=1).tolist() == [[1, 1, 2, 2]]
    assert x.repeat(2, 2).tolist() == [[1, 2, 1, 2]] * 2
    assert x.expand_as(torch.zeros(3, 2)).shape == (3, 2)


def test_elementwise_functions_and_methods_are_the_same() -> None:
    x = t([0.25, 4.0])
    assert values(torch.rsqrt(x)) == values(x.rsqrt()) == [2.0, 0.5]
    assert values(torch.clamp(x, min=1.0)) == values(x.clamp(1.0)) == [1.0, 4.0]
    assert torch.where(x > 1, x, 0.0).tolist() == [0.0, 4.0]
    assert torch.where(x > 1)[0].tolist() == [1]
    assert (-x).abs().tolist() == [0.25, 4.0]
    assert x.exp_().tolist() == pytest.approx(np.exp([0.25, 4.0]).tolist())


def test_comparisons() -> None:
    x = t([1.0, 2.0])
    assert torch.allclose(x, x + 1e-7)
    assert not torch.allclose(x, x + 1e-2)
    assert torch.equal(x, x.clone())
    assert torch.isclose(x, t([1.0, 3.0])).tolist() == [True, False]
    assert bool((x == x).all())


def test_random_numbers_repeat_for_a_seed() -> None:
    torch.manual_seed(4)
    first = torch.randn(3)
    torch.manual_seed(4)
    assert torch.equal(first, torch.randn(3))
    one, other = (torch.Generator().manual_seed(9) for _ in range(2))
    assert torch.equal(torch.rand(2, generator=one), torch.rand(2, generator=other))


def test_numpy_and_back() -> None:
    array = np.ones((2, 2), ml_dtypes.bfloat16)
    tensor = torch.from_numpy(array)
    tensor[0, 0] = 5
    assert array[0, 0] == 5
    assert np.asarray(tensor).dtype == ml_dtypes.bfloat16


def test_a_saved_tensor_comes_back(tmp_path: object) -> None:
    file = f"{tmp_path}/x.pt"
    x = torch.randn(2, 3, dtype=torch.bfloat16)
    torch.save(x, file)
    assert torch.equal(torch.load(file, weights_only=True), x)
    assert torch.load(file).shape == (2, 3)


@pytest.mark.parametrize("use", ["torch.optim", "torch.compile", "torch.zeros(1).backward", "torch.device('cuda')"])
def test_anything_else_names_the_package_to_install(use: str) -> None:
    with pytest.raises(Missing, match="install torch to use it"):
        eval(use, {"torch": torch})
    assert not hasattr(torch, "optim")


def test_limits() -> None:
    assert torch.finfo(torch.bfloat16).max == pytest.approx(3.3895314e38)
    assert torch.iinfo(torch.int8).min == -128
