"""`pto_buf.compile` and what it gives, as a user of the package sees them."""

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pto_buf
import pto_buf.language as pl
from check.mixed import handed_over
from pto_buf.errors import DiagnosticError, UsageError
from support.kernels_in_python import HALVE, ONE_PRODUCT, SEED
from support.streams import stream


def halved() -> dict[str, Any]:
    src = np.arange(96 * 64, dtype=np.float32).reshape(96, 64)
    return {"src": src, "dst": np.zeros_like(src), "tiles": 3}


def test_a_kernel_runs_on_arrays_and_leaves_them_alone():
    kernel = pto_buf.compile(HALVE)
    given = halved()
    for order in ("late", "early", "random:3"):
        found = kernel.run(**given, order=order)
        assert np.array_equal(found.arrays["dst"], given["src"] / 2)
    assert not given["dst"].any()


def test_it_can_be_looked_at():
    kernel = pto_buf.compile(SEED)
    assert (kernel.name, kernel.target.name, kernel.checked) == ("panels_by_blocks", "a2a3", True)
    assert repr(kernel) == "<Kernel panels_by_blocks for a2a3>"
    assert "func.func @panels_by_blocks(" in kernel.pto
    assert "proven: no race" in kernel.report
    assert "2 x 128 KiB" in kernel.report
    assert kernel.memory_map().startswith("memory map of panels_by_blocks for a2a3")
    assert kernel.memory_map(html=True).startswith("<!DOCTYPE html>")
    assert kernel.warnings == ()


def test_it_is_timed_and_explained():
    kernel = pto_buf.compile(ONE_PRODUCT, target="a5")
    profile = kernel.profile()
    assert profile.cycles > pto_buf.compile(SEED, target="a5").profile().cycles
    (free,) = [one for one in kernel.explain(line=24) if one.event is not None and "free" in one.event.name]
    assert free.cost is not None
    assert free.cost.cycles == profile.cycles
    assert free.cost.held > 0
    assert free.cost.without < free.cost.cycles
    assert str(free).startswith("fence 7: FIX -> M, id 0, products.free.FIX.M")
    assert [one.number for one in kernel.explain()] == list(range(1, 8))
    assert [one.number for one in kernel.explain(fence=2)] == [2]


def test_it_takes_numbers_and_extents_where_they_are_needed():
    kernel = pto_buf.compile(HALVE)
    short, long = kernel.profile(tiles=2, ROWS=64), kernel.profile(**halved())
    assert short.cycles < long.cycles
    assert {one.fence.times for one in kernel.explain(**halved(), line=15) if one.fence is not None} == {3, 5}
    with pytest.raises(UsageError, match="argument 'tiles' needs a number"):
        kernel.profile(ROWS=64)


def test_a_name_that_is_taken_goes_into_a_mapping():
    text = HALVE.replace("tiles", "order")
    kernel = pto_buf.compile(text)
    given = halved()
    given["order"] = given.pop("tiles")
    assert np.array_equal(kernel.run(given, order="early").arrays["dst"], given["src"] / 2)


def test_it_survives_pickling():
    kernel = pto_buf.compile(SEED, target="a5")
    again = pickle.loads(pickle.dumps(kernel))
    assert repr(again) == repr(kernel)
    assert again.pto == kernel.pto
    assert again.report == kernel.report
    assert [str(one) for one in again.explain()] == [str(one) for one in kernel.explain()]
    assert again.profile().cycles == kernel.profile().cycles
    given = pto_buf.compile(stream(2))
    assert pickle.loads(pickle.dumps(given)).pto == given.pto


def test_a_path_a_text_and_a_function_are_one_kernel(tmp_path: Path):
    file = tmp_path / "seed.py"
    file.write_text(SEED)
    text = pto_buf.compile(SEED).pto
    assert pto_buf.compile(file).pto == text
    assert pto_buf.compile(str(file), "panels_by_blocks").pto == text
    space: dict[str, Any] = {}
    exec(compile(SEED.replace("pypto.language", "pto_buf.language"), str(file), "exec"), space)
    assert pto_buf.compile(space["panels_by_blocks"]).pto == text


@pl.jit.incore
def doubled(src: pl.Tensor[[32, 64], pl.FP32], dst: pl.Tensor[[32, 64], pl.FP32]):
    tile = pl.load(src, [0, 0], [32, 64])
    return pl.store(pl.add(tile, tile), [0, 0], dst)


def test_a_function_of_a_test_file():
    src = np.ones((32, 64), np.float32)
    assert (pto_buf.compile(doubled).run(src=src, dst=np.zeros_like(src)).arrays["dst"] == 2).all()


def test_a_function_that_was_typed_in():
    code = (
        "import linecache, pto_buf, pto_buf.language as pl\n"
        f"text = {SEED.replace('pypto.language', 'pto_buf.language')!r}\n"
        "linecache.cache['<cell 1>'] = len(text), None, text.splitlines(True), '<cell 1>'\n"
        "space = {}\n"
        "exec(compile(text, '<cell 1>', 'exec'), space)\n"
        "print(pto_buf.compile(space['panels_by_blocks']))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "<Kernel panels_by_blocks for a2a3>\n", done.stderr


def test_pto_and_ptobuf_are_taken_too(tmp_path: Path):
    given = pto_buf.compile(stream(2))
    assert (given.name, given.checked, given.parts) == ("k", False, ())
    x = np.ones((64, 64), np.float32)
    assert (given.run(x=x, z=np.zeros_like(x), n=4).arrays["z"] == 2).all()
    assert [one.event for one in given.explain(n=4)] == [None] * 4
    with pytest.raises(UsageError, match="'k' was given as pto"):
        _ = given.report
    file = tmp_path / "kernel.pto"
    file.write_text(stream(2))
    assert pto_buf.compile(file).pto == given.pto


def test_mistakes_are_told_apart_from_misuse(tmp_path: Path):
    with pytest.raises(DiagnosticError, match=r"<source>:22:34: error: slot index"):
        pto_buf.compile(SEED.replace("blocks[block & 1], w", "blocks[block], w"))
    with pytest.raises(DiagnosticError, match="no such file"):
        pto_buf.compile(tmp_path / "none.pto")
    with pytest.raises(UsageError, match="42 is no kernel"):
        pto_buf.compile(42)
    with pytest.raises(UsageError, match="there is no target 'a4'"):
        pto_buf.compile(SEED, target="a4")
    with pytest.raises(UsageError, match="gm_raw is 'maybe'"):
        pto_buf.compile(SEED, gm_raw="maybe")
    with pytest.raises(UsageError, match="is for a2a3, not for a5"):
        pto_buf.compile(stream(2), target="a5")
    two = SEED + SEED[SEED.index("\n@pl.jit") :].replace("panels_by_blocks", "other")
    with pytest.raises(UsageError, match="has 2 kernels"):
        pto_buf.compile(two)
    assert pto_buf.compile(two, "other").name == "other"


def test_options_are_the_compilers():
    plain, beside = pto_buf.compile(SEED, check=False), pto_buf.compile(SEED, check=False, interleave=2)
    assert plain.pto != beside.pto
    assert not plain.checked
    assert "not proven" in plain.report


def test_the_package_offers_what_it_says_and_loads_it_late():
    code = "import sys, pto_buf; print('xdsl' in sys.modules, 'numpy' in sys.modules, pto_buf.__all__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False False ['Kernel', 'compile', 'from_pypto']\n"
    with pytest.raises(AttributeError, match="module 'pto_buf' has no attribute 'nothing'"):
        getattr(pto_buf, "nothing".lower())


def test_the_fences_of_both_kinds_of_core_are_explained():
    kernel = pto_buf.compile(handed_over(slots=2))
    found = kernel.explain(n=4, x=1.5)
    assert {str(one.core) for one in found} == {"cube", "vector"}
    assert [one.number for one in found] == list(range(1, len(found) + 1))
    costs = [one.cost for one in found if one.cost is not None]
    assert len(costs) == len(found)
    assert all(cost.held <= cost.cycles and cost.without <= cost.cycles for cost in costs)
