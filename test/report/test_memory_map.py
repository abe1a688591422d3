"""The memory map: lives, accesses and shared bytes, as text and as a page."""

from html.parser import HTMLParser

from pto_buf.hw import A2A3, Space
from pto_buf.lowering.plan_memory import PlanMemoryPass
from pto_buf.report.allocation import Resident
from pto_buf.report.collect_map import memory_map_of, plan_notes
from pto_buf.report.memory_html import memory_map_html
from pto_buf.report.memory_map import MemoryMap, Step, Tenancy, Touch, memory_map_text
from pto_buf.universe import make_context
from pto_buf.walking import functions
from support.vec_text import kernel

LOOP = """
set ring 2
set big 1 owned 80x256
set sum 1 owned
set late 1 owned 80x256
b = load big[%c0]
store b
scf.for %i = %c0 to %n step %c1 {
%k = arith.remui %i, %c2 : index
x = load ring[%k]
y = add sum[%c0] x x
store y
}
l = load late[%c0]
scf.if %flag {
store l
} else {
store l
}
"""


def mapped(text: str) -> MemoryMap:
    module = kernel(text)
    PlanMemoryPass().apply(make_context(), module)
    (function,) = functions(module)
    return memory_map_of(function)


def test_the_text_shows_lanes_lives_and_accesses():
    assert (
        memory_map_text(mapped(LOOP))
        == """\
memory map of kernel for a2a3

Vec (UB)  176 KiB of 184 KiB
  A  [0, 65536)  2 x 32 KiB  ring [64, 128] f32 (slots)
  B  [65536, 147456)  1 x 80 KiB  big [80, 256] f32 (compiler's tile, has bytes of late)
  C  [65536, 147456)  1 x 80 KiB  late [80, 256] f32 (compiler's tile, has bytes of big)
  D  [147456, 180224)  1 x 32 KiB  sum [64, 128] f32 (compiler's tile)
                            AA B C D
                            01 0 0 0
  LOAD                      .. W
  STORE                     .. R
  for i in range(0, n, 1):  ..
    LOAD                    ww
    ADD                     rr     W
    STORE                   ..     R
  LOAD                      ..   W
  if flag:                  ..   |
    STORE                   ..   R
  else:                     ..   |
    STORE                   ..   R

late takes over bytes of big: the one waits for the other

W written  R read  X both  (w r x: one of the slots in turn)  | needed  . kept, but not needed
"""
    )


def test_constant_slots_are_told_apart():
    text = memory_map_text(mapped("set ring 3\nx = load ring[%c1]\ny = exp ring[%c2] x\nstore ring[%c2]"))
    assert [line.split()[-1] for line in text.splitlines() if line.startswith(("  LOAD", "  EXP", "  STORE"))] == [
        "|W|",
        "|RW",
        "||R",
    ]


def test_a_slot_that_is_read_and_written_by_one_op():
    text = memory_map_text(mapped("set a 1\nx = load a[%c0]\ny = add a[%c0] x x"))
    assert [line.split() for line in text.splitlines() if line.startswith("  ADD")] == [["ADD", "X"]]


def test_what_a_plan_costs_is_said():
    module = kernel("set xs 2 46x256\nset ys 2 46x256\nx = load xs[%c0]\ny = add ys[%c0] x ys[%c0]")
    PlanMemoryPass().apply(make_context(), module)
    (function,) = functions(module)
    (note,) = plan_notes(function)
    assert note == (
        "the vector op at line 21 runs at half speed: on a2a3 its sources xs and ys should lie 256 bytes apart, "
        "modulo 512"
    )
    roomy = kernel("set xs 2\nset ys 2\nset z 1 owned\nx = load xs[%c0]\ny = add z[%c0] x ys[%c0]")
    PlanMemoryPass().apply(make_context(), roomy)
    (function,) = functions(roomy)
    assert plan_notes(function) == ("256 B of UB are left free to keep the sources of vector ops apart",)


def test_many_slots_go_into_several_panels():
    sets = "\n".join(f"set s{n} 16 1x128" for n in range(6))
    text = memory_map_text(mapped(f"{sets}\nx = load s5[%c3]\nstore x"))
    lines = text.splitlines()
    assert max(map(len, lines)) < 110
    assert sum(line.lstrip().startswith("LOAD") for line in lines) == 2
    assert sum("slots)" in line for line in lines) == 6


class _Page(HTMLParser):
    """Checks that tags are closed, and collects texts and attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def page(*maps: MemoryMap) -> _Page:
    found = _Page()
    found.feed(memory_map_html(maps))
    found.close()
    assert found.open == []
    return found


def test_the_page_is_whole_and_needs_nothing_else():
    found = page(mapped(LOOP), mapped("set a 1\nx = load a[%c0]"))
    assert not {"script", "link", "img", "iframe"} & set(found.tags)
    assert not [value for name, value in found.attributes if name in ("src", "href")]
    assert found.tags.count("h1") == 2
    assert found.tags.count("svg") == 2
    assert "late takes over bytes of big: the one waits for the other" in found.texts
    assert "ring[1] [64, 128] f32: bytes 32,768 to 65,536" in found.texts
    assert "big [80, 256] f32: bytes 65,536 to 147,456; shares bytes with late" in found.texts


def test_lanes_lie_where_their_addresses_are():
    text = memory_map_html([mapped("set a 1 46x256\nset b 1 46x256\nset c 1 46x256\nset d 1 46x256\nx = load d[%c0]")])
    boxes = [line for line in text.splitlines() if line.startswith('<rect class="user kept"')]
    assert [box.split('x="')[1].split('"')[0] for box in boxes] == ["300.0", "515.0", "730.0", "945.0"]


def test_a_name_that_does_not_fit_stands_beside_its_lanes_if_there_is_room():
    text = memory_map_html([mapped("set a 2 8x64\nset big 1 46x256\nx = load a[%c0]\ny = load big[%c0]")])
    assert '">a[0..1]</text>' not in text  # `big` lies there
    text = memory_map_html([mapped("set a 2 8x64\nx = load a[%c0]")])
    assert text.count('">a[0..1]</text>') == 1


def test_names_cannot_break_the_page():
    one = Resident("<b>&\"'", Space.VEC, 1, 8, 128, "f32", 4096, 4096, 0, False)
    drawn = MemoryMap(
        "k<i>", A2A3, (Step("<u>", 0, 'f".py:1'),), (Tenancy(one, 0, 0, (Touch(0, 0, False, True),)),), ("<s>",)
    )
    found = page(drawn)
    assert not {"b", "i", "u", "s"} & set(found.tags)
    assert "<u>" in found.texts


def test_an_empty_kernel_has_an_empty_map():
    found = mapped("")
    assert found.steps == ()
    assert page(found).tags.count("svg") == 0
