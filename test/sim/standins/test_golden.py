"""Specs and comparisons of what stands in for golden."""

import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from pto_buf.sim.standins.golden import (
    ScalarSpec,
    TensorSpec,
    ratio_allclose,
    ratio_reldiff,
    topk_pair_compare,
    validate_golden,
)
from pto_buf.sim.standins.golden.tensors import put, to_numpy
from pto_buf.sim.standins.imports import standing_in


@pytest.fixture
def torch() -> Iterator[Any]:
    with standing_in(["torch"]):
        yield importlib.import_module("torch")


def test_a_tensor_begins_as_its_spec_says(torch: Any) -> None:
    def first(init: Any) -> Any:
        return TensorSpec("x", [2, 2], torch.bfloat16, init_value=init).create_tensor()

    assert first(None).tolist() == [[0, 0], [0, 0]]
    assert first(3).dtype == torch.bfloat16
    assert first(torch.ones).tolist() == [[1, 1], [1, 1]]
    assert first(torch.randn).shape == (2, 2)
    assert first(torch.full([2, 2], 2.0)).dtype == torch.bfloat16
    assert first(lambda: torch.eye(2)).tolist() == [[1, 0], [0, 1]]
    with pytest.raises(TypeError, match="init_value of 'x' is a str"):
        first("zeros")
    assert ScalarSpec("n", torch.int32, 5).value.dtype == torch.int32


def test_tensors_go_to_numpy_and_back_in_every_type(torch: Any) -> None:
    for name in ("float32", "float16", "bfloat16", "int32", "int8", "float8_e4m3fn"):
        tensor = torch.arange(6).to(getattr(torch, name)).reshape(2, 3)
        array = to_numpy(tensor)
        assert array.astype(np.float64).tolist() == [[0, 1, 2], [3, 4, 5]]
        put(tensor, array[::-1].copy())
        assert tensor.tolist() == [[3, 4, 5], [0, 1, 2]]


def test_a_difference_is_named_with_the_first_elements(torch: Any, capsys: pytest.CaptureFixture[str]) -> None:
    right = torch.zeros(40)
    wrong = right.clone()
    wrong[30:] = 1
    validate_golden({"y": right}, {"y": right.clone()})
    with pytest.raises(AssertionError, match="'y' differs from the golden result") as caught:
        validate_golden({"x": right, "y": wrong}, {"x": right, "y": right})
    assert "10 of 40 elements, rtol 1e-05, atol 1e-05" in str(caught.value)
    assert "element 30: 1.0, expected 0.0" in str(caught.value)
    assert str(caught.value).count("element ") == 8
    shown = capsys.readouterr().out
    assert "x [40] torch.float32: as expected" in shown
    assert "y [40] torch.float32: WRONG" in shown


@pytest.mark.parametrize(("wrong", "passes"), [(0, True), (5, True), (6, False)])
def test_a_share_of_the_elements_may_differ(torch: Any, wrong: int, passes: bool) -> None:
    expected = torch.ones(100)
    actual = expected.clone()
    actual[:wrong] = 2
    for compare in (ratio_allclose(max_error_ratio=0.05), ratio_reldiff(pct_thd=0.05)):
        assert compare(actual, expected, rtol=1e-5, atol=1e-5)[0] is passes
    actual[0] = float("nan")
    assert "1 elements are NaN" in ratio_allclose(max_error_ratio=1.0)(actual, expected, rtol=1, atol=1)[1]
    assert not ratio_reldiff(pct_thd=1.0)(actual, expected)[0]


def test_one_element_must_not_be_too_far_off(torch: Any) -> None:
    expected, actual = torch.ones(100), torch.ones(100)
    actual[3] = 4
    assert ratio_reldiff(pct_thd=0.05)(actual, expected)[0]
    right, why = ratio_reldiff(pct_thd=0.05, max_diff_hd=0.5)(actual, expected)
    assert not right
    assert "the largest relative difference is 0.75, the limit 0.5" in why


def test_positions_of_equal_values_may_be_swapped(torch: Any) -> None:
    compare = topk_pair_compare("v")
    values = torch.tensor([[2.0, 2.0, 1.0]])
    swapped = {"actual_outputs": {"v": values}, "expected_outputs": {"v": values.clone()}, "rtol": 0, "atol": 0}
    assert compare(torch.tensor([[1, 0, 2]]), torch.tensor([[0, 1, 2]]), **swapped)[0]
    swapped["actual_outputs"] = {"v": torch.tensor([[2.0, 1.5, 1.0]])}
    assert not compare(None, None, **swapped)[0]


def test_the_parts_of_golden_can_be_imported() -> None:
    with standing_in(["golden", "pypto", "torch"]):
        for name in ("golden.spec", "golden.validation", "golden.runner"):
            importlib.import_module(name)
        assert importlib.import_module("golden.validation").ratio_reldiff is ratio_reldiff
        assert importlib.import_module("pypto.pypto_core.passes").MemoryPlanner.PYPTO
