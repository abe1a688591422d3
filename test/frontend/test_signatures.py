"""The parameters of every op of pypto's, by name and by position, are those that the reader takes.

Of each op: its parameters in order, those behind `*` by keyword only; as pypto had them in August 2026, and where they
differed in July. Ops that are refused are refused by name.
"""

from collections.abc import Iterator

import pytest

from pto_buf.frontend.ops.calls import parameters_of
from pto_buf.frontend.refusals import why_not

TILES = """
    create create_tile: shape dtype target_memory transpose * flat_layout
    read: tile indices
    write: tile indices value
    load: tensor offsets shapes valid_shape target_memory clamp
    store: tile offsets output_tensor shapes * atomic
    assemble: target source offset
    extract: src index_row index_col shape * target_memory
    move: tile target_memory blayout slayout
    full: shape dtype value
    ci arange: start shape dtype descending
    tri: diagonal shape valid_shape dtype upper
    random: key0 key1 counter0 counter1 counter2 counter3 shape valid_shape dtype rounds
    fillpad fillpad_inplace: tile pad_value
    fillpad_expand: tile shape pad_value
    get_block_idx get_subblock_idx get_block_num:
    add sub mul maximum minimum fmod and_ or_ shl shr: lhs rhs
    adds subs muls divs fmods ands ors shls shrs maximums minimums: lhs rhs
    div: lhs rhs high_precision
    neg exp sqrt abs relu not_ col_max col_min col_prod transpose_view: tile
    rsqrt: tile tmp
    recip log: tile high_precision
    cast: tile target_type mode
    matmul: lhs rhs
    matmul_acc: acc lhs rhs init_cond
    matmul_bias: lhs rhs bias
    matmul_mx: lhs lhs_scale rhs rhs_scale
    matmul_mx_acc: acc lhs lhs_scale rhs rhs_scale
    matmul_mx_bias: lhs lhs_scale rhs rhs_scale bias
    gemv: lhs rhs acc_phase
    gemv_acc: acc lhs rhs acc_phase
    gemv_bias: lhs rhs bias acc_phase
    row_max row_min row_sum row_prod row_argmax row_argmin col_sum col_argmax col_argmin: tile tmp_tile
    row_expand: target row_vec
    row_expand_sub row_expand_div row_expand_mul row_expand_max row_expand_min row_expand_expdif: tile row_vec
    row_expand_add: tile row_vec tmp
    col_expand: target col_vec
    col_expand_add col_expand_sub col_expand_mul col_expand_div: tile col_vec
    col_expand_max col_expand_min col_expand_expdif: tile col_vec
    expands: target scalar
    cmp cmps: lhs rhs cmp_type
    slice: tile shape offset valid_shape drop_dims pad_value
    reshape: tile shape
    reinterpret_view: data dtype * shape
    transpose: tile axis1 axis2 tmp_tile
    set_validshape: tile valid_rows valid_cols
    rem rems xor xors: lhs rhs tmp
    prelu: tile slope tmp
    lrelu: tile slope
    addc subc addsc subsc: lhs rhs rhs2
    concat part_add part_mul part_max part_min: src0 src1
    sel: mask lhs rhs tmp
    sels: mask src tmp scalar
    sort32: src idx
    mrgsort: src0 src1 src2 src3 tmp exhausted * block_len
    gather: src indices tmp
    gatherb: src offset * output_dtype
    gather_mask: src mask_pattern * output_dtype
    gather_compare: src kvalue tmp * cmp_mode offset out_cols count_dtype
    scatter: dst src indexes
    scatter_mask: dst src mask_pattern
    mscatter: src idx output_tensor
    mgather: mem idx coalesce * gather_oob target_memory scratch valid_shape
"""
EITHER = """
    add sub mul fmod fmods maximum minimum and_ ands or_ ors shl shls shr shrs: lhs rhs
    part_add part_mul part_max part_min: lhs rhs
    row_expand row_expand_sub row_expand_mul row_expand_div row_expand_max row_expand_min row_expand_expdif: lhs rhs
    col_expand col_expand_add col_expand_sub col_expand_mul col_expand_div: lhs rhs
    col_expand_max col_expand_min col_expand_expdif: lhs rhs
    div: lhs rhs high_precision
    exp neg abs sqrt not_ col_max col_min col_prod: input
    log recip rsqrt: input high_precision
    row_expand_add xor xors: lhs rhs tmp
    expands: target scalar
    reshape: input shape
    reinterpret_view: data dtype * shape
    transpose: input axis1 axis2
    concat: src0 src1
    slice: input shape offset valid_shape drop_dims pad_value clamp
    fillpad: value pad_value
    fillpad_expand: value shape pad_value
    matmul: lhs rhs out_dtype a_trans b_trans c_matrix_nz
    matmul_acc: acc lhs rhs a_trans b_trans init_cond
    row_max row_min row_sum row_prod row_argmax row_argmin col_sum col_argmax col_argmin: input tmp_tile
    cast: input target_type mode
    cmp: lhs rhs cmp_type
    set_validshape: input valid_rows valid_cols
    read: src offset
    write: dst offset value
    assemble: target source offset * atomic
    sort32: src idx
    mrgsort: src0 src1 src2 src3 tmp * exhausted block_len
"""
OLDER = """
    load: tensor offsets shapes valid_shapes target_memory clamp * transpose
    matmul_acc: acc lhs rhs
    gemv: lhs rhs
    gemv_acc: acc lhs rhs
    gemv_bias: lhs rhs bias
    sels_whole: lhs rhs select_mode
    div: lhs rhs
    log recip: tile
    row_expand_add: tile row_vec
"""
REFUSED = """
    gather_row scatter_update aiv_shard aic_gather sin cos batch_matmul batch_matmul_acc tpush_to_aiv tpush_to_aic
    tpop_from_aic tpop_from_aiv tfree_to_aic tfree_to_aiv reserve_buffer import_peer_buffer
"""


def rows(text: str, prefix: str) -> Iterator[tuple[str, list[str]]]:
    for line in text.strip().splitlines():
        names, _, wanted = line.partition(":")
        for name in names.split():
            yield prefix + name, wanted.split()


ROWS = [*rows(TILES, "tile."), *rows(OLDER, "tile."), *rows(EITHER, "")]


@pytest.mark.parametrize(("path", "wanted"), ROWS, ids=[path for path, _ in ROWS])
def test_parameters(path: str, wanted: list[str]):
    found = parameters_of(path)
    assert found is not None
    by_position = wanted[: wanted.index("*")] if "*" in wanted else wanted
    assert [found.aliases.get(name) for name in by_position] == list(found.names[: len(by_position)])
    assert len(by_position) <= found.positional
    assert [name for name in wanted if name != "*" and name not in found.aliases] == []


@pytest.mark.parametrize("name", REFUSED.split())
def test_what_is_refused_is_refused_by_name(name: str):
    assert parameters_of(f"tile.{name}") is None
    assert "there is no op" not in why_not(f"tile.{name}")
