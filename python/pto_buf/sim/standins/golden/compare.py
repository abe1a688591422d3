"""Comparing what a kernel wrote with what it should have written."""

from collections.abc import Callable, Mapping
from typing import Any

from pto_buf.sim.standins.golden.tensors import torch

Compare = Callable[..., tuple[bool, str]]
"""`compare(actual, expected, actual_outputs=, expected_outputs=, inputs=, rtol=, atol=)`: right, and if not, why."""

_SHOWN = 8


def validate_golden(
    outputs: Mapping[str, Any],
    golden: Mapping[str, Any],
    rtol: float = 1e-5,
    atol: float = 1e-5,
    compare_fn: Mapping[str, Compare] | None = None,
    inputs: Mapping[str, Any] | None = None,
) -> None:
    """Raises AssertionError naming each output that differs and where."""
    wrong: list[str] = []
    for name, actual in outputs.items():
        compare = (compare_fn or {}).get(name, _close)
        right, why = compare(
            actual,
            golden[name],
            actual_outputs=outputs,
            expected_outputs=golden,
            inputs=inputs or {},
            rtol=rtol,
            atol=atol,
        )
        print(f"[RUN]   {name} {list(actual.shape)} {actual.dtype}: {'as expected' if right else 'WRONG'}")
        if not right:
            wrong.append(f"'{name}' differs from the golden result\n{why}")
    if wrong:
        raise AssertionError("\n".join(wrong))


def _close(actual: Any, expected: Any, *, rtol: float, atol: float, **others: Any) -> tuple[bool, str]:
    t = torch()
    near = t.isclose(actual, expected, rtol=rtol, atol=atol)
    if bool(near.all()):
        return True, ""
    far = t.where(~near.flatten())[0]
    found, wanted = actual.flatten(), expected.flatten()
    rows = [f"    element {int(at)}: {found[int(at)].item()}, expected {wanted[int(at)].item()}" for at in far[:_SHOWN]]
    head = f"  {far.numel()} of {actual.numel()} elements, rtol {rtol}, atol {atol}"
    return False, "\n".join([head, *rows, *(["    ..."] if far.numel() > _SHOWN else [])])


def ratio_allclose(
    atol: float | None = None, rtol: float | None = None, max_error_ratio: float = 0.0, **options: Any
) -> Compare:
    """A comparison that allows a share of the elements to differ."""

    def compare(actual: Any, expected: Any, **given: Any) -> tuple[bool, str]:
        tolerances = {"rtol": given["rtol"] if rtol is None else rtol, "atol": given["atol"] if atol is None else atol}
        near = torch().isclose(actual, expected, **tolerances)
        share = 1.0 - float(near.float().mean())
        return share <= max_error_ratio, f"  {share:.4%} of the elements differ, allowed are {max_error_ratio:.4%}"

    return compare


def topk_pair_compare(vals_name: str) -> Compare:
    """A comparison for positions of largest values: they may differ where the values at them are the same."""

    def compare(actual: Any, expected: Any, **given: Any) -> tuple[bool, str]:
        t = torch()
        pair = [t.sort(given[side][vals_name].float(), dim=-1)[0] for side in ("actual_outputs", "expected_outputs")]
        right = bool(t.allclose(pair[0], pair[1], rtol=given["rtol"], atol=given["atol"]))
        return right, f"  the values in '{vals_name}' differ"

    return compare
