"""Lives of slot sets as the plan sees them in whole kernels, and who may take over whose bytes."""

import pytest

from pto_buf.errors import DiagnosticError
from pto_buf.lowering.plan_memory import plan_of, source_pairs, tenants
from pto_buf.memory.lives import lives, private_loops
from pto_buf.slots.build import build
from pto_buf.walking import functions
from support.vec_text import kernel


def alive(text: str) -> dict[str, tuple[int, int]]:
    """Lives by set name, positions counted in tile ops, loops and branches from 0; only of sets that are used."""
    (func,) = functions(kernel(text))
    built = build(func)
    found = lives(built.program)
    number = {key: count for count, key in enumerate(sorted(built.ops))}
    return {
        one.name: (number[found[one.key].start], number[found[one.key].end])
        for one in built.program.sets
        if found[one.key].first is not None
    }


LOOP = "scf.for %i = %c0 to %n step %c1 {"
SETS = "set a 1 owned\nset b 1 owned\nset c 1 owned\n"


def test_straight_line():
    found = alive(SETS + "x = load a[%c0]\ny = exp b[%c0] x\nz = exp c[%c0] y\nstore z")
    assert found == {"a": (0, 1), "b": (1, 2), "c": (2, 3)}


def test_a_tile_read_in_a_loop_lives_through_it():
    text = f"{SETS}x = load a[%c0]\n{LOOP}\ny = exp b[%c0] x\nz = load c[%c0]\nstore z\n}}"
    # 0 load a, 1 loop, 2 exp b, 3 load c, 4 store
    assert alive(text) == {"a": (0, 4), "b": (2, 2), "c": (3, 4)}


def test_a_tile_of_one_trip_lives_within_it():
    text = f"{SETS}{LOOP}\nx = load a[%c0]\ny = exp b[%c0] x\nstore y\n}}\nz = load c[%c0]\nstore z"
    assert alive(text) == {"a": (1, 2), "b": (2, 3), "c": (4, 5)}


def test_a_read_of_whatever_the_slot_holds_finds_the_write_before_it():
    text = f"{SETS}{LOOP}\nx = load a[%c0]\ny = exp b[%c0] a[%c0]\nstore b[%c0]\n}}\nz = load c[%c0]\nstore z"
    assert alive(text) == {"a": (1, 2), "b": (2, 3), "c": (4, 5)}


def test_what_an_earlier_trip_left_lives_through_the_loop():
    text = f"{SETS}x = load a[%c0]\n{LOOP}\nw = load c[%c0]\ny = exp b[%c0] a[%c0]\nz = exp a[%c0] y\n}}"
    # 0 load a, 1 loop, 2 load c, 3 exp b, 4 exp a
    assert alive(text) == {"a": (0, 4), "b": (3, 4), "c": (2, 2)}


def test_a_write_in_one_arm_is_no_write_before_a_read_behind():
    text = f"{SETS}{LOOP}\nw = load c[%c0]\nscf.if %flag {{\nx = load a[%c0]\n}}\ny = exp b[%c0] a[%c0]\nstore y\n}}"
    # 0 loop, 1 load c, 2 if, 3 load a, 4 exp b, 5 store
    assert alive(text) == {"a": (0, 5), "b": (4, 5), "c": (1, 1)}


def test_the_result_of_a_branch_lives_until_its_last_read():
    text = (
        f"{SETS}%r = scf.if %flag -> (!pto.tile_buf<vec, 64x128xf32, blayout=row_major, slayout=none_box>) {{\n"
        "x = load a[%c0]\nscf.yield %x : !pto.tile_buf<vec, 64x128xf32, blayout=row_major, slayout=none_box>\n"
        "} else {\ny = load a[%c0]\n"
        "scf.yield %y : !pto.tile_buf<vec, 64x128xf32, blayout=row_major, slayout=none_box>\n}\n"
        "z = load b[%c0]\nstore z\n"
        "%v = pto.partition_view %whole_dst, offsets = [%c0, %c0], sizes = [%c64, %c128] : "
        "!pto.tensor_view<256x256xf32> -> !pto.partition_tensor_view<64x128xf32>\n"
        "ptobuf.store ins(%r : !pto.tile_buf<vec, 64x128xf32, blayout=row_major, slayout=none_box>) "
        "outs(%v : !pto.partition_tensor_view<64x128xf32>)"
    )
    # 0 if, 1 load a, 2 load a, 3 load b, 4 store b, 5 store r
    found = alive(text)
    assert found["a"] == (1, 5)
    assert found["b"] == (3, 4)


def test_a_carried_tile_lives_through_its_loop():
    tile = "!pto.tile_buf<vec, 64x128xf32, blayout=row_major, slayout=none_box>"
    text = (
        f"{SETS}x = load a[%c0]\n"
        f"%r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %x) -> ({tile}) {{\n"
        "w = load c[%c0]\nstore w\ny = exp a[%c0] a[%c0]\n"
        f"scf.yield %y : {tile}\n}}\nstore a[%c0]"
    )
    # 0 load a, 1 loop, 2 load c, 3 store c, 4 exp a, 5 store a
    assert alive(text) == {"a": (0, 5), "c": (2, 3)}


def test_nested_loops():
    text = (
        f"{SETS}{LOOP}\nx = load a[%c0]\nscf.for %j = %c0 to %m step %c1 {{\ny = exp b[%c0] x\nstore y\n}}\n"
        "z = load c[%c0]\nstore z\n}"
    )
    # 0 loop, 1 load a, 2 loop, 3 exp b, 4 store b, 5 load c, 6 store c
    assert alive(text) == {"a": (1, 4), "b": (3, 4), "c": (5, 6)}


def test_rotating_slots_are_matched_by_their_terms():
    text = (
        f"set ring 2 owned\nset other 1 owned\n{LOOP}\n%k = arith.remui %i, %c2 : index\n"
        "x = load ring[%k]\ny = exp other[%c0] ring[%k]\nstore y\n}"
    )
    assert alive(text)["ring"] == (1, 2)
    lagging = text.replace("other[%c0] ring[%k]", "other[%c0] ring[%c0]")
    assert alive(lagging)["ring"] == (0, 3)


def test_while_is_a_loop():
    text = (
        f"{SETS}x = load a[%c0]\n"
        "scf.while () : () -> () {\nscf.condition(%flag)\n} do {\nw = load c[%c0]\ny = exp b[%c0] x\nscf.yield\n}"
    )
    # 0 load a, 1 while, 2 load c, 3 exp b
    assert alive(text) == {"a": (0, 3), "b": (3, 3), "c": (2, 2)}


def test_in_a_tight_space_only_lives_apart_share():
    sets = "set a 1 owned 80x256\nset b 1 owned 80x256\nset c 1 owned 80x256\n"
    text = f"{sets}x = load a[%c0]\nstore x\ny = load b[%c0]\nz = exp c[%c0] y\nstore z"
    (func,) = functions(kernel(text))
    assert plan_of(func)[1].shared == ((0, 2),)
    # carried into a loop in which the others are used, `a` has to keep its bytes
    (func,) = functions(
        kernel(f"{sets}x = load a[%c0]\n{LOOP}\nstore x\ny = load b[%c0]\nstore y\n}}\nz = load c[%c0]")
    )
    assert plan_of(func)[1].shared == ((0, 2),)
    with pytest.raises(DiagnosticError, match="'c' does not fit in vec"):
        (func,) = functions(kernel(f"{sets}x = load a[%c0]\n{LOOP}\ny = load b[%c0]\nz = exp c[%c0] y\nstore x\n}}"))
        plan_of(func)


def test_sets_that_are_private_to_the_trips_of_a_loop():
    text = f"""
{SETS}
w = load c[%c0]
{LOOP}
x = load a[%c0]
scf.for %j = %c0 to %m step %c1 {{
y = exp b[%c0] x
store y
store c[%c0]
}}
}}
"""
    (func,) = functions(kernel(text))
    built = build(func)
    loops = [key for key, op in sorted(built.ops.items()) if op.name == "scf.for"]
    found = {one.name: private_loops(built.program)[one.key] for one in built.program.sets}
    assert found == {"a": frozenset(loops[:1]), "b": frozenset(loops), "c": frozenset()}
    (func,) = functions(kernel(f"{SETS}{LOOP}\ny = exp b[%c0] a[%c0]\nz = exp a[%c0] y\n}}"))
    built = build(func)
    assert private_loops(built.program)[0] == frozenset()


@pytest.mark.parametrize(("op", "pairs"), [("add", 1), ("exp", 0)])
def test_pairs_of_sources(op: str, pairs: int):
    sources = "x y" if op == "add" else "x"
    (func,) = functions(kernel(f"{SETS}x = load a[%c0]\ny = load b[%c0]\nz = {op} c[%c0] {sources}\nstore z"))
    assert len(source_pairs(build(func).program)) == pairs


def test_one_slot_read_twice_is_no_pair():
    (func,) = functions(kernel(f"{SETS}x = load a[%c0]\nz = add c[%c0] x a[%c0]\nstore z"))
    assert source_pairs(build(func).program) == []


def test_a_compiler_tile_is_placed_where_it_is_made():
    (func,) = functions(kernel(f"{SETS}x = load a[%c0]\nstore x"))
    built = build(func)
    (a, b, _) = tenants(built)
    assert a.place == a.life.first != b.place
