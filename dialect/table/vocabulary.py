"""The words of the dialect's enumerations, and the attributes that ops carry. Pure data."""

from collections.abc import Mapping
from dataclasses import dataclass

_PRECISION = ("default", "high_precision")

ENUMS: Mapping[str, tuple[str, ...]] = {
    "acc_phase": ("unspecified", "partial", "final"),
    "acc_to_vec_mode": ("single_mode_vec0", "single_mode_vec1", "dual_mode_split_m", "dual_mode_split_n"),
    "atomic_type": ("atomic_none", "atomic_add"),
    "cmp": ("eq", "ne", "lt", "le", "gt", "ge"),
    "div_precision": _PRECISION,
    "exp_precision": _PRECISION,
    "fmod_precision": _PRECISION,
    "log_precision": _PRECISION,
    "pow_precision": _PRECISION,
    "recip_precision": _PRECISION,
    "relu_pre_mode": ("no_relu", "normal_relu", "scalar_relu", "vector_relu", "pwl"),
    "rem_precision": _PRECISION,
    "round_mode": ("NONE", "RINT", "ROUND", "FLOOR", "CEIL", "TRUNC", "ODD", "CAST_RINT"),
    "rsqrt_precision": _PRECISION,
    "saturation_mode": ("ON", "OFF"),
    "sqrt_precision": _PRECISION,
    "st_phase": ("unspecified", "partial", "final"),
    "tinsert_mode": ("split2", "split4"),
}
"""By the name that stands after `#pto`."""

BRACKETED = frozenset({"acc_to_vec_mode", "tinsert_mode"})
"""Enumerations spelt `#pto.name<word>`; the others are `#pto<name word>`."""


@dataclass(frozen=True)
class Attr:
    """An attribute that an op may carry: one word of an enumeration, or a plain `bool`, `int` or `string`."""

    name: str
    type: str
    default: str | None = None
    required: bool = False

    def allows(self, word: str) -> bool:
        """Whether the value, as a plain word, is one that the attribute can have."""
        if self.type in ENUMS:
            return word in ENUMS[self.type]
        if self.type == "bool":
            return word in ("true", "false")
        return self.type == "string" or word.lstrip("-").isdigit()
