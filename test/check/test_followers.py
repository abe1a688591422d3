"""Loops that run alike on several cores: what each core assigns by itself is not shared."""

import pytest

from check.programs import function_of
from pto_buf.check.checker import check
from pto_buf.check.findings import Status

ACC = "!pto.tile_buf<acc, 16x16xf32, blayout=col_major, slayout=row_major, fractal=1024>"
VEC = "!pto.tile_buf<vec, 16x16xf32>"
WINDOW = "!pto.partition_tensor_view<16x16xf32>"
ALL = "pto.barrier #pto.pipe<PIPE_ALL>"


def moved_in_a_trip(to: int) -> str:
    """Both cores carry a tile at address 0; each trip of the vector core moves its own, and fills it.

    Meanwhile the cube core writes to byte 4096 of the vector core's buffer.
    """
    return f"""module attributes {{pto.target_arch = "a5"}} {{
      func.func @kernel(%g: {WINDOW}, %n: index) attributes {{pto.entry}} {{
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %zero = arith.constant 0 : i64
        %there = arith.constant 4096 : i64
        %to = arith.constant {to} : i64
        pto.section.cube {{
          %shared = pto.alloc_tile addr = %there : {VEC}
          %acc = pto.alloc_tile addr = %zero : {ACC}
          %a = scf.for %i = %c0 to %n step %c1 iter_args(%one = %acc) -> ({ACC}) {{
            pto.sync.wait <PIPE_FIX>, 4
            pto.tmov ins(%acc : {ACC}) outs(%shared : {VEC})
            {ALL}
            pto.sync.set <PIPE_FIX>, 3
            scf.yield %one : {ACC}
          }}
          {ALL}
        }}
        pto.section.vector {{
          %tile = pto.alloc_tile addr = %zero : {VEC}
          %b = scf.for %j = %c0 to %n step %c1 iter_args(%one = %tile) -> ({VEC}) {{
            pto.sync.set <PIPE_MTE2>, 4
            %moved = pto.tassign %one, %to : {VEC} -> {VEC}
            pto.tload ins(%g : {WINDOW}) outs(%moved : {VEC})
            {ALL}
            pto.sync.wait <PIPE_MTE2>, 3
            {ALL}
            scf.yield %one : {VEC}
          }}
          {ALL}
        }}
        return
      }}
    }}"""


@pytest.mark.parametrize(("to", "status"), [(4096, Status.WRONG), (8192, Status.PROVEN)])
def test_a_tile_that_a_trip_moves_lies_elsewhere_than_the_leaders(to: int, status: Status):
    assert check(function_of(moved_in_a_trip(to))).status is status
