"""The words of the dialect's enumerations, and the attributes that ops carry. Pure data."""

from collections.abc import Mapping
from dataclasses import dataclass

from pto_buf.hw import Pipe

Version = tuple[int, int]
"""Of the assembler: v0.48 is (0, 48)."""

OLDEST: Version = (0, 48)
NEWEST: Version = (0, 60)
SCRATCH_DEMANDED: Version = (0, 58)
"""From here on the assembler makes scratch tiles by itself, and demands them where addresses are given."""

_PRECISION = ("default", "high_precision")
PIPE_OF_CLASS: Mapping[str, Pipe] = {
    "TLOAD": Pipe.MTE2,
    "TSTORE_ACC": Pipe.FIX,
    "TSTORE_VEC": Pipe.MTE3,
    "TMOV_M2L": Pipe.MTE1,
    "TMOV_M2S": Pipe.FIX,
    "TMOV_M2B": Pipe.MTE1,
    "TMOV_M2V": Pipe.V,
    "TMOV_V2M": Pipe.FIX,
    "TMATMUL": Pipe.M,
    "TVEC": Pipe.V,
    "TVECWAIT_EVENT": Pipe.V,
}
"""Classes of ops, as the event ops and the buffer locks name them, and the pipe of each."""

ENUMS: Mapping[str, tuple[str, ...]] = {
    "address_space": ("zero", "gm", "mat", "left", "right", "acc", "vec", "bias", "scaling"),
    "acc_phase": ("unspecified", "partial", "final"),
    "acc_to_vec_mode": ("single_mode_vec0", "single_mode_vec1", "dual_mode_split_m", "dual_mode_split_n"),
    "atomic_type": ("atomic_none", "atomic_add"),
    "blayout": ("row_major", "col_major"),
    "cmp": ("eq", "ne", "lt", "le", "gt", "ge"),
    "div_precision": _PRECISION,
    "coalesce": ("row", "elem"),
    "compact_mode": ("null", "normal", "row_plus_one"),
    "exp_precision": _PRECISION,
    "fence_scope": ("local_memory", "gm", "all"),
    "fmod_precision": _PRECISION,
    "gather_oob": ("undefined", "clamp", "wrap", "zero"),
    "layout": ("nd", "dn", "nz", "mx_a_zz", "mx_b_nn"),
    "log_precision": _PRECISION,
    "mask_pattern": ("P0101", "P1010", "P0001", "P0010", "P0100", "P1000", "P1111"),
    "mx_group_axis": ("axis0", "axis1"),
    "notify_op": ("atomic_add", "set"),
    "pad_value": ("null", "zero", "max", "min"),
    "padmode": ("PadNull", "PadFirstElem", "PadValue"),
    "pipe_event_type": tuple(PIPE_OF_CLASS),
    "pow_precision": _PRECISION,
    "print_format": ("width8_precision4", "width8_precision2", "width10_precision6"),
    "quant_scale_alg": ("ocp", "nv"),
    "quant_type": ("INT8_SYM", "INT8_ASYM", "MXFP8", "MXFP4_E2M1"),
    "recip_precision": _PRECISION,
    "reduce_op": ("sum", "max", "min"),
    "relu_pre_mode": ("no_relu", "normal_relu", "scalar_relu", "vector_relu", "pwl"),
    "rem_precision": _PRECISION,
    "round_mode": ("NONE", "RINT", "ROUND", "FLOOR", "CEIL", "TRUNC", "ODD", "CAST_RINT"),
    "rsqrt_precision": _PRECISION,
    "saturation_mode": ("ON", "OFF"),
    "scatter_atomic_op": ("none", "add", "max", "min"),
    "scatter_conflict": ("default", "last"),
    "scatter_oob": ("undefined", "skip", "clamp", "wrap"),
    "slayout": ("none_box", "row_major", "col_major"),
    "sqrt_precision": _PRECISION,
    "st_phase": ("unspecified", "partial", "final"),
    "sync_all_mode": ("hard", "soft"),
    "sync_core_type": ("aiv_only", "aic_only", "mix"),
    "sync_op_type": tuple(PIPE_OF_CLASS),
    "tinsert_mode": ("split2", "split4"),
    "vec_store_mode": ("nd", "nz"),
    "wait_cmp": ("eq", "ne", "gt", "ge", "lt", "le"),
}
"""By the name that stands after `#pto`."""

BRACKETED = frozenset(
    {
        "acc_to_vec_mode",
        "address_space",
        "blayout",
        "compact_mode",
        "fence_scope",
        "layout",
        "mask_pattern",
        "pad_value",
        "padmode",
        "pipe_event_type",
        "slayout",
        "sync_all_mode",
        "sync_core_type",
        "sync_op_type",
        "tinsert_mode",
    }
)
"""Enumerations spelt `#pto.name<word>`; the others are `#pto<name word>`."""


@dataclass(frozen=True)
class Attr:
    """An attribute that an op may carry.

    `type` is the name of an enumeration, or `bool`, `int`, `string`, `unit`, `any`; `alias` another name that is read.
    Versions before `since` do not have it and mean `meant` (the default, if nothing else is said).
    """

    name: str
    type: str
    default: str | None = None
    required: bool = False
    alias: str | None = None
    since: Version = OLDEST
    meant: str | None = None
