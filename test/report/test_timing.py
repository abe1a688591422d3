"""Views of a timed kernel, as text and on a terminal."""

from io import StringIO

from rich.console import Console

from pto_buf.hw import Space
from pto_buf.report.parts import Lanes, plain_text
from pto_buf.report.table import Table, plain
from pto_buf.report.terminal import draw
from pto_buf.report.timing import Shown, Window, step_table, swimlane, view
from pto_buf.sim.naming import SlotRange, names_of
from support.streams import BYTES
from support.timed import timed_stream

SETS = (SlotRange("in", Space.VEC, 0, BYTES, BYTES, 2), SlotRange("out", Space.VEC, 2 * BYTES, BYTES, BYTES, 2))


def test_the_summary_with_one_slot():
    found = timed_stream(1, 2)
    assert (
        plain_text(view(found, shown=Shown(steps=2, stalls=2, width=31)))
        == """\
k on a2a3: 310 cycles (0.31 us at 1000 MHz), bound 280 by MTE2: 90 %

pipe  ops  busy  share  data  slot
MTE2    2   200   65 %     0    30
V       2    60   19 %   200     0
MTE3    2   100   32 %   210     0
S             0    0 %

      0                           310
MTE2  ##########sss##########........
V     ..........###..........###.....
MTE3  .............#####........#####
0 1 2 .. the slot of its set that an op writes (or reads, if it writes none), # an only one, - less than half
busy; not busy: . no data yet, s slot in use, f flag, b barrier, i not issued, q queue full

longest stalls:
cycles  pipe  before            waits for
   130  MTE3  store at line 33  data from V: add at line 29
   100  V     add at line 29    data from MTE2: load at line 25

start  end  MTE2             V               MTE3
    0  100  load at line 25
  100  130                   add at line 29
  ...       4 more
"""
    )


def test_slots_are_named_and_marked():
    found = timed_stream(2, 3)
    names = names_of(SETS, found.slowest.slices)
    text = plain_text(view(found, names, Shown(steps=9, width=38)))
    assert "in: V reads one while MTE2 writes another for 60 of the 90 cycles that it reads\n" in text
    rows = [row for row in step_table(found.slowest, names=names).rows if row[2]]
    assert [row[2] for row in rows] == ["load in[0] :28", "load in[1] :28", "load in[0] :28"]


def test_lanes_show_slots_column_by_column():
    found = timed_stream(2, 3)
    lanes = swimlane(found.slowest, 38, names=names_of(SETS, found.slowest.slices))
    assert (lanes.start, lanes.end) == (0, 380)
    assert lanes.rows == (
        ("MTE2", "0" * 10 + "1" * 10 + "0" * 10 + "." * 8),
        ("V", "." * 10 + "000" + "." * 7 + "111" + "." * 7 + "000" + "." * 5),
        ("MTE3", "." * 13 + "00000" + "." * 5 + "11111" + "." * 5 + "00000"),
    )


def test_a_window_shows_part_of_the_run():
    timeline = timed_stream(2, 3).slowest
    lanes = swimlane(timeline, 10, window=Window(90, 190))
    assert [marks for _, marks in lanes.rows] == ["##########", ".###......", "....#####."]
    rows = step_table(timeline, window=Window(130, 180)).rows
    assert [row[:2] for row in rows] == [("100", "200"), ("130", "180")]


def test_a_column_that_is_busy_for_less_than_half_is_marked_so():
    assert swimlane(timed_stream(1, 2).slowest, 3).rows == (("MTE2", "##-"), ("V", "---"), ("MTE3", ".--"))


def test_a_kernel_without_ops_has_no_lanes():
    assert plain_text(view(timed_stream(2, 0), shown=Shown(steps=5))).splitlines()[0] == (
        "k on a2a3: 0 cycles (0.00 us at 1000 MHz), bound 0 by nothing: -"
    )


def test_a_table_lines_up_words_on_the_left_and_numbers_on_the_right():
    table = Table(("what", "n"), (("a", "1"), ("long one", "12345")), title="things")
    assert plain(table) == "things\nwhat          n\na             1\nlong one  12345\n"


def test_the_terminal_shows_the_same_words():
    found = timed_stream(2, 3)
    names = names_of(SETS, found.slowest.slices)
    stream = StringIO()
    parts = list(view(found, names, Shown(steps=9, width=60)))
    draw([*parts, "[bold]not markup[/bold]", Lanes(0, 1, (("V", "#"),))], Console(file=stream, width=100))
    text = stream.getvalue()
    assert "[bold]not markup[/bold]" in text
    for words in ("bound 380 by MTE2: 100 %", "load in[1] :28", "data from MTE2: load at line 28"):
        assert words in text
    lanes = next(part for part in parts if isinstance(part, Lanes))
    for _, marks in lanes.rows:
        assert marks in text


def test_the_terminal_colours_slots_apart():
    stream = StringIO()
    draw([Lanes(0, 4, (("V", "00.1"),))], Console(file=stream, width=80, force_terminal=True, color_system="256"))
    line = stream.getvalue().splitlines()[1]
    assert line.count("\x1b[0m") == 3
    assert "00" in line
