"""A file is written whole or not at all."""

import os
from pathlib import Path

import pytest

from pto_buf.errors import DiagnosticError
from pto_buf.output import write_output


def test_a_new_file_and_one_that_exists(tmp_path: Path):
    file = tmp_path / "out.pto"
    for text in ("first\n", "π\n"):
        write_output(str(file), text)
        assert file.read_text(encoding="utf-8") == text
    assert list(tmp_path.iterdir()) == [file]


def test_a_link_stays_a_link(tmp_path: Path):
    (tmp_path / "real").write_text("old")
    link = tmp_path / "link"
    link.symlink_to("real")
    write_output(str(link), "new")
    assert link.is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_device_is_written_through(capfd: pytest.CaptureFixture[str]):
    write_output(os.devnull, "text")
    write_output("-", "text")
    assert capfd.readouterr().out == "text"
    assert Path(os.devnull).is_char_device()


def test_what_cannot_be_written_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(DiagnosticError) as caught:
        write_output(str(tmp_path / "none" / "out"), "text")
    assert str(caught.value).endswith("out: error: cannot write the file: no such file or directory [unwritable-file]")
    with pytest.raises(DiagnosticError, match="is a directory"):
        write_output(str(tmp_path), "text")

    def full_disk(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    (tmp_path / "out").write_text("old")
    monkeypatch.setattr(Path, "replace", full_disk)
    with pytest.raises(DiagnosticError, match="no space left on device"):
        write_output(str(tmp_path / "out"), "new")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out").read_text() == "old"
