"""What is found out about a function is kept from pass to pass, and never longer than it is true."""

from collections.abc import Iterator
from dataclasses import astuple
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from pto_buf.fences.windows import Windows
from pto_buf.frontend import kernels, read
from pto_buf.hw import A2A3
from pto_buf.kept import Keeps, changed, keeping, kept
from pto_buf.lowering.canonicalize import CanonicalizePass
from pto_buf.lowering.global_windows import all_windows, windows_of
from pto_buf.lowering.pipeline import PipelineOptions, pipeline
from pto_buf.lowering.verify_slots import verdict_of
from pto_buf.passes import PassRun, available_passes, parse_passes, run_passes
from pto_buf.slots.build import build
from pto_buf.slots.leases import analyse
from pto_buf.universe import make_context
from pto_buf.walking import functions
from support.kernel_text import ir

MIXED = Path(__file__).parents[1] / "kernels" / "sources" / "mixed.py"

HEAD = """
@pl.jit.incore
def k(x: pl.Tensor[[128, 128], pl.FP32], y: pl.Out[pl.Tensor[[128, 128], pl.FP32]]):
"""

KERNELS = {
    "joined": """
    a = pl.load(x, [0, 0], [128, 128])
    b = pl.load(x, [0, 0], [128, 128])
    c = pl.add(a, b)
    pl.store(c, [0, 0], y)
""",
    "released": """
    ring = pl.create_tile_buffers(2, [16, 128], pl.FP32, pl.Mem.Vec)
    for i in pl.range(4):
        pl.tile.load_into(ring[i % 2], x, [i * 16, 0], [16, 128])
        pl.store(ring[i % 2], [i * 16, 0], y)
        pl.release(ring[i % 2])
""",
    "taken up": """
    ring = pl.create_tile_buffers(2, [16, 128], pl.FP32, pl.Mem.Vec)
    a = pl.load(x, [0, 0], [16, 128], out=ring[0])
    b = pl.load(x, [16, 0], [16, 128], out=ring[1])
    for i in pl.range(4):
        pl.store(a, [i * 16, 0], y)
        a, b = b, a
""",
    "unread": """
    a = pl.load(x, [0, 0], [16, 128])
    b = pl.load(x, [16, 0], [16, 128])
    c = pl.exp(b)
    pl.store(a, [0, 0], y)
""",
    "chosen again": """
    ring = pl.create_tile_buffers(2, [16, 128], pl.FP32, pl.Mem.Vec)
    for i in pl.range(4):
        pl.tile.load_into(ring[0], x, [i * 16, 0], [16, 128])
        pl.store(ring[0], [i * 16, 0], y)
""",
    "decided": """
    for i in pl.range(4):
        a = pl.load(x, [i * 16, 0], [16, 128])
        if i > 7:
            b = pl.load(x, [0, 0], [16, 128])
            pl.store(b, [0, 0], y)
        pl.store(a, [i * 16, 0], y)
""",
    "side by side": """
    ring = pl.create_tile_buffers(2, [16, 128], pl.FP32, pl.Mem.Vec)
    for i in pl.pipeline(4, stage=2):
        pl.tile.load_into(ring[i % 2], x, [i * 16, 0], [16, 128])
        pl.store(ring[i % 2], [i * 16, 0], y)
""",
}


@pytest.mark.parametrize(
    ("name", "options"),
    [*((name, PipelineOptions(check=False)) for name in KERNELS), ("side by side", PipelineOptions(1, check=False))],
    ids=[*KERNELS, "not side by side"],
)
def test_what_is_kept_is_what_would_be_found_anew(name: str, options: PipelineOptions):
    compare_behind_each(ir(HEAD + KERNELS[name]), options)


@pytest.mark.parametrize("name", kernels(str(MIXED)))
def test_parts_of_a_mixed_kernel_are_functions_of_their_own(name: str):
    compare_behind_each(read(str(MIXED), name, A2A3), PipelineOptions(check=False))


def compare_behind_each(module: ModuleOp, options: PipelineOptions) -> None:
    passes = parse_passes(pipeline(options), available_passes())
    fenced = next(number for number, one in enumerate(passes) if one.name == "ptobuf-insert-fences")
    compared: list[str] = []

    def compare(module: ModuleOp, run: PassRun) -> None:
        for function in functions(module):
            known, found = kept(function, build), build(function)
            assert (known.program, known.ops, known.indices, known.sets) == (
                found.program,
                found.ops,
                found.indices,
                found.sets,
            ), run.name
            assert kept(function, verdict_of) == analyse(found.program), run.name
            assert touched(kept(function, windows_of)) == touched(all_windows(found)), run.name
            compared.append(run.name)

    run_passes(make_context(), module, passes[:fenced], after=compare)
    assert len(compared) >= fenced


def touched(found: Windows) -> dict[int, list[tuple[object, ...]]]:
    """The windows, with what their views are: each reading has views of its own."""
    return {key: [(astuple(one.view), *one[1:]) for one in windows] for key, windows in found.items()}


# --- how long it is kept ---------------------------------------------------------------------------------------------


def counter() -> Iterator[int]:
    yield from range(100)


def test_outside_nothing_is_kept():
    (function,), numbers = functions(ir(HEAD + KERNELS["unread"])), counter()
    assert [kept(function, lambda _: next(numbers)) for _ in range(2)] == [0, 1]


def test_inside_it_is_kept_for_each_function_until_it_changes():
    (one,), (other,), numbers = (
        functions(ir(HEAD + KERNELS["unread"])),
        functions(ir(HEAD + KERNELS["joined"])),
        counter(),
    )

    def find(function: FuncOp) -> int:
        return next(numbers)

    with keeping() as forget:
        assert [kept(one, find), kept(other, find), kept(one, find)] == [0, 1, 0]
        changed(one)
        assert [kept(one, find), kept(other, find)] == [2, 1]
        forget()
        assert [kept(one, find), kept(other, find)] == [3, 4]
    assert kept(one, find) == 5


def test_what_raised_is_asked_again():
    (function,), asked = functions(ir(HEAD + KERNELS["unread"])), list[int]()

    def find(function: FuncOp) -> int:
        asked.append(1)
        if len(asked) == 1:
            raise KeyError("x")
        return 7

    with keeping():
        with pytest.raises(KeyError):
            kept(function, find)
        assert [kept(function, find), kept(function, find)] == [7, 7]
    assert len(asked) == 2


asked_of = list[str]()


def ask(function: FuncOp) -> None:
    asked_of.append(function.sym_name.data)


class Asks(ModulePass, Keeps):
    name = "test-asks"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op):
            kept(function, ask)


class Other(ModulePass):
    """A pass of somebody's who never heard of this."""

    name = "test-other"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pass


@pytest.mark.parametrize(("name", "times"), [("chosen again", 1), ("taken up", 2), ("decided", 2), ("unread", 2)])
def test_equal_choices_of_a_slot_become_one_without_a_change(name: str, times: int):
    asked_of.clear()
    run_passes(make_context(), ir(HEAD + KERNELS[name]), (Asks(), CanonicalizePass(), Asks()))
    assert asked_of == ["k"] * times


@pytest.mark.parametrize(("passes", "times"), [((Asks(), Asks()), 1), ((Asks(), Other(), Asks(), Asks()), 2)])
def test_any_other_pass_ends_it(passes: tuple[ModulePass, ...], times: int):
    asked_of.clear()
    run_passes(make_context(), ir(HEAD + KERNELS["unread"]), passes)
    assert asked_of == ["k"] * times
