"""Ops that other tools spell `pto.` and that are not tile-level: those on registers, masks and single transfers."""

import re

INSIDE = ("bind_tile", "pointer_cast", "declare_tile_memref")
"""Ops that versions before v0.56 of the assembler use inside themselves, in place of `alloc_tile`."""

_FAMILIES = re.compile(
    r"""
    v[a-z]+\d*\w*                                   # vector registers: vadd, vlds, vsts, vcvt, vmrgsort4
    | p(?:and|or|xor|not|sel|pack|unpack|bitcast)|punpack|ppack
    | p(?:set|ge|lt|ltm|intlv|dintlv)_b(?:8|16|32)  # masks
    | p(?:ldi|lds|sti|sts|stu)
    | (?:mte|copy|load_cbuf|redux|shuffle|sprst|atomic|vote|raw|mul)_\w+
    | (?:mad|uv|ub\.|vmi\.|simt_|section\.simt|strict_)\w*
    | set_(?:loop|atomic|mov|pad|quant_pre|fpc|fix|channel|store|relu|mte2|ctrl|mask)\w*
    | get_(?:tid|grid_dim|block_dim|block_idx_|clock|lane|ctrl|vms4|veccore)\w*
    | (?:create_cbuf_matrix|dcci|dsb|init_align|keep|resume|membar|mem_bar|syncthreads|threadfence\w*|prmt|mulhi)
    | (?:ldg|stg|ld_dev|st_dev|fma|fmax|fmin|absf|sin|cos|exp|log|pow|sqrt|rint|round|floor|ceil|convert)
    | (?:chistv2|dhistv2|sprclr|sbitset[01]|store_vfsimt_info|fusion_region|yield|tensor_view_addr|store|load)
    """,
    re.VERBOSE,
)


def is_register_level(name: str) -> bool:
    """Whether an op of this name, dialect left out, belongs to the register-level dialects."""
    return _FAMILIES.fullmatch(name) is not None
