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
    atol: float | None = None, rtol: float | None = None, max_error_ratio: float = 0.005, max_show: int = _SHOWN
) -> Compare:
    """A comparison that allows a share of the elements to differ, but neither NaN nor infinity."""

    def compare(actual: Any, expected: Any, **given: Any) -> tuple[bool, str]:
        if (why := _not_finite(actual)) is not None:
            return False, why
        tolerances = {"rtol": given["rtol"] if rtol is None else rtol, "atol": given["atol"] if atol is None else atol}
        near = torch().isclose(actual, expected, **tolerances)
        far = near.numel() - int(near.sum())
        return far <= max_error_ratio * near.numel(), (
            f"  {far} of {near.numel()} elements differ, allowed are {max_error_ratio:.4%}"
        )

    return compare


_SMALL = 1.0 / (1 << 14)
"""Magnitudes are counted as at least this, divided by the threshold."""


def ratio_reldiff(
    diff_thd: float = 0.01, pct_thd: float = 0.05, max_diff_hd: float = float("inf"), max_show: int = _SHOWN
) -> Compare:
    """A comparison by relative difference: a share `pct_thd` may be above `diff_thd`, none may reach `max_diff_hd`.

    The difference is relative to the larger magnitude of the two; one below `diff_thd` itself counts as it is.
    """

    def compare(actual: Any, expected: Any, **given: Any) -> tuple[bool, str]:
        if (why := _not_finite(actual)) is not None:
            return False, why
        t = torch()
        found, wanted = actual.float(), expected.float()
        apart = (found - wanted).abs()
        size = t.clamp(t.maximum(found.abs(), wanted.abs()), min=_SMALL / diff_thd) + 1e-9
        relative = t.where(apart < diff_thd, apart, apart / size)
        far, worst = int((relative > diff_thd).sum()), float(relative.max())
        right = far <= pct_thd * relative.numel() and (worst < max_diff_hd or worst <= diff_thd)
        return right, (
            f"  {far} of {relative.numel()} elements differ by more than {diff_thd}, allowed are {pct_thd:.4%}; "
            f"the largest relative difference is {worst:.4g}, the limit {max_diff_hd:g}"
        )

    return compare


def _not_finite(actual: Any) -> str | None:
    finite = torch().isfinite(actual.float())
    if bool(finite.all()):
        return None
    return f"  {actual.numel() - int(finite.sum())} elements are NaN or infinite"


def topk_pair_compare(vals_name: str) -> Compare:
    """A comparison for positions of largest values: they may differ where the values at them are the same."""

    def compare(actual: Any, expected: Any, **given: Any) -> tuple[bool, str]:
        t = torch()
        pair = [t.sort(given[side][vals_name].float(), dim=-1)[0] for side in ("actual_outputs", "expected_outputs")]
        right = bool(t.allclose(pair[0], pair[1], rtol=given["rtol"], atol=given["atol"]))
        return right, f"  the values in '{vals_name}' differ"

    return compare
