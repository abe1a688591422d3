"""The reports as text, from plain data."""

from pto_buf.hw import A2A3, Space
from pto_buf.report.allocation import Resident, allocation_text, size_text
from pto_buf.report.fences import EventLine, Executed, fences_text
from pto_buf.report.order import Issue, Nest, order_text


def resident(name: str, space: Space, count: int, size: int, address: int, owned: bool = False) -> Resident:
    return Resident(name, space, count, 16, size // 64, "f32", size, size, address, owned)


def test_sizes_are_whole_kib_or_bytes():
    assert [size_text(size) for size in (1024, 131072, 64, 1056)] == ["1 KiB", "128 KiB", "64 B", "1,056 B"]


def test_allocation_goes_space_by_space_and_by_address():
    text = allocation_text(
        [
            resident("sums", Space.ACC, 2, 8192, 0),
            resident("q", Space.MAT, 1, 4096, 262144, owned=True),
            resident("wide", Space.MAT, 2, 131072, 0),
        ],
        A2A3,
    )
    assert text.splitlines() == [
        "  Mat (L1)     260 KiB of 512 KiB",
        "    2 x 128 KiB    at 0       wide [16, 2048] f32 (slots)",
        "    1 x 4 KiB      at 262144  q [16, 64] f32 (compiler's tile)",
        "  Acc (L0C)    16 KiB of 128 KiB",
        "    2 x 8 KiB      at 0       sums [16, 128] f32 (slots)",
    ]


def test_an_unused_space_is_left_out():
    assert allocation_text([], A2A3) == ""


def test_order_shows_loops_around_ops():
    extract, store = Issue("extract", ("MTE1",), "thin[k]"), Issue("store", ("FIX",), "sums[k]")
    text = order_text([Issue("move", ("MTE1", "FIX"), "table"), Nest("for k in range(0, n, 2):", (extract, store))])
    assert text.splitlines() == [
        "  MOVE         MTE1/FIX table",
        "  for k in range(0, n, 2):",
        "    EXTRACT      MTE1  thin[k]",
        "    STORE        FIX   sums[k]",
    ]


def test_fences_show_ids_and_reasons():
    event = EventLine("wide.ready", "MTE2", "MTE1", (0, 1), 2, 3, "RAW on wide")
    assert fences_text([event], 4, Executed(79, 0)).splitlines() == [
        "   1  MTE2 -> MTE1  ids 0, 1  wide.ready",
        "      RAW on wide",
        "  barriers on one pipe: 4; and the last one over all pipes",
        "  a run executes 79 set/wait pairs and 0 barriers on one pipe",
    ]
    assert "a run" not in fences_text([event], 4, None)
