"""The programs that are timed are right, and the figures are JSON."""

import json

import pytest

from pto_buf.tools import bench_command


def test_every_figure_is_there(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    real = bench_command.ptobuf_text
    monkeypatch.setattr(bench_command, "ptobuf_text", lambda ops: real(ops // 100))
    assert bench_command.run((30,)) == 0
    found = json.loads(capsys.readouterr().out)
    assert [set(row) for row in found["text"]] == [{"ops", "parse_us_per_op", "verify_us_per_op", "print_us_per_op"}]
    assert all("ptobuf-convert-to-pto" in row["passes_s"] for row in found["pipeline"])
