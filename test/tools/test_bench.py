"""The benchmark runs, and each of its programs is one that the checker proves."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from pto_buf.tools import bench_command


def test_it_measures_every_step(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    def here(measure: Callable[[Any], dict[str, Any]], size: int | str) -> dict[str, Any]:
        return measure(size)

    monkeypatch.setattr(bench_command, "apart", here)
    monkeypatch.setattr(bench_command, "MATRIX", 128)
    monkeypatch.setattr(bench_command, "FILE_LINES", 40)
    assert bench_command.run(["examples/two_level_slots.py"], sizes=(30,), straight=(30,)) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["start", "toy", "text", "straight", "read", "rotation", "product", "files"]
    for one in (*found["toy"], *found["text"]):
        assert one["ops"] == 30
        assert all(one[f"{step}_us_per_op"] > 0 for step in ("parse", "verify", "print"))
    (straight,) = found["straight"]
    assert "ptobuf-insert-fences" in straight["passes_s"]
    assert straight["peak_mb"] > 0
    proofs = [straight, found["rotation"], *found["files"]["examples/two_level_slots.py"].values()]
    assert [one["check_sync"] for one in proofs] == ["proven"] * len(proofs)


def test_a_measurement_has_a_process_of_its_own():
    assert bench_command.apart(bench_command.toy, 10)["ops"] == 10
