"""The memory map as a real browser shows it."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

import pto_buf
from support.kernels_in_python import SEED
from support.png import pixels

WIDTH, HEIGHT = 1300, 360
USER, PAPER = (0x25, 0x63, 0xA8), (255, 255, 255)


def browse(chromium: str, page: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """One run of the browser, alone: no sandbox within a container, no network, a profile of its own."""
    command = [
        *(chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--enable-logging=stderr"),
        *("--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={page.parent / 'profile'}"),
        *("--force-color-profile=srgb", f"--window-size={WIDTH},{HEIGHT}", *options, page.as_uri()),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "CONSOLE" not in done.stderr
    return done


@pytest.fixture
def page(tmp_path: Path) -> Path:
    file = tmp_path / "map.html"
    file.write_text(pto_buf.compile(SEED, check=False).memory_map(html=True))
    return file


def test_the_browser_reads_the_page_as_it_was_meant(chromium: str, page: Path):
    dom = browse(chromium, page, "--dump-dom").stdout
    assert "<title>Memory map of panels_by_blocks</title>" in dom
    assert dom.count("<svg ") == page.read_text().count("<svg ") == 4
    assert dom.count("<rect ") == page.read_text().count("<rect ")
    assert "products[1] [16, 128] f32: bytes 8,192 to 16,384" in dom


def test_lanes_are_drawn_where_the_addresses_are(chromium: str, page: Path, tmp_path: Path):
    """The first picture is that of L1: two slots of 128 KiB side by side, then 4 KiB, then nothing."""
    shot = tmp_path / "map.png"
    browse(chromium, page, f"--screenshot={shot}")
    picture = pixels(shot.read_bytes())
    assert picture.shape == (HEIGHT, WIDTH, 3)
    blue = np.abs(picture.astype(int) - np.array(USER)).sum(axis=2)
    across = picture.astype(int)
    tinted = (across[:, :, 2] - across[:, :, 0] > 60).sum(axis=1)
    widest = int(np.argmax(tinted[:240]))  # the row of the load into `panels`, which fills both slots
    columns = np.flatnonzero(across[widest, :, 2] - across[widest, :, 0] > 60)
    first, last = int(columns[0]), int(columns[-1])
    svg_left, gutter, wide = 24, 300, 860
    assert abs(first - (svg_left + gutter)) <= 2
    assert abs(last - (svg_left + gutter + wide // 2)) <= 3
    assert tuple(picture[widest, last + 60]) in (PAPER, (0xF5, 0xF7, 0xF9))
    assert blue.min() < 60
