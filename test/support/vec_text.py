"""Short texts for kernels on UB tiles: `%a = load`, `%b = exp %a`, `store %b`, loops and branches, as ptobuf text.

Each line of a kernel is one of
    set NAME N [owned] [addr=A] [share=NAME] [ROWSxCOLS]
    NAME = load SET[INDEX] [@ROW] [of TENSOR]     (TENSOR is src or dst, ROW its first row)
    NAME = OP SET[INDEX] SRC [SRC]                (a SRC is a value, or SET[INDEX] itself)
    store SRC [@ROW] [of TENSOR]
    release SRC
or ends in `{` and opens a region, as MLIR has it, or is MLIR already.
"""

import re
from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp

from pto_buf.source import parse_text
from pto_buf.universe import make_context

_LAYOUT = "blayout=row_major, slayout=none_box"
_SET = re.compile(r"set (\w+) (\d+)((?: \S+)*)$")
_OP = re.compile(r"(\w+) = (\w+) (\w+)\[(%\w+)\]((?: \S+)*)$")
_SLOT = re.compile(r"(\w+)\[(%\w+)\]$")
_HEAD = """\
module attributes {{pto.target_arch = "{arch}"}} {{
func.func @kernel(%src: !pto.ptr<f32>, %dst: !pto.ptr<f32>, %n: index, %m: index, %flag: i1) {{
%c0 = arith.constant 0 : index
%c1 = arith.constant 1 : index
%c2 = arith.constant 2 : index
%c3 = arith.constant 3 : index
%c64 = arith.constant 64 : index
%c128 = arith.constant 128 : index
%c256 = arith.constant 256 : index
%whole_src = pto.make_tensor_view %src, shape = [%c256, %c256], strides = [%c256, %c1] : !pto.tensor_view<256x256xf32>
%whole_dst = pto.make_tensor_view %dst, shape = [%c256, %c256], strides = [%c256, %c1] : !pto.tensor_view<256x256xf32>
"""


class _Writer:
    def __init__(self) -> None:
        self.tiles: dict[str, str] = {}
        self.counts: dict[str, int] = {}
        self.values: dict[str, str] = {}
        self.fresh = 0

    def lines(self, text: str) -> Iterator[str]:
        for line in text.strip().splitlines():
            yield from self.line(line.strip())

    def line(self, line: str) -> Iterator[str]:
        if made := _SET.match(line):
            yield self.set(made[1], int(made[2]), made[3].split())
        elif done := _OP.match(line):
            yield from self.op(done[1], done[2], done[3], done[4], done[5].split())
        elif line.startswith(("store ", "release ")):
            word, source, *rest = line.split()
            yield from self.use(word, source, rest)
        else:
            yield line

    def set(self, name: str, count: int, rest: list[str]) -> str:
        shape, attributes = "64x128", list[str]()
        for word in rest:
            if word == "owned":
                attributes.append("owned")
            elif word.startswith("addr="):
                attributes.append(f"addr = {word[5:]} : i64")
            elif word.startswith("share="):
                attributes.append(f'share = ["{word[6:]}"]')
            else:
                shape = word
        self.tiles[name], self.counts[name] = f"vec, {shape}xf32, {_LAYOUT}", count
        braces = f" {{{', '.join(attributes)}}}" if attributes else ""
        return f'%{name} = ptobuf.alloc_slots "{name}"{braces} : !ptobuf.slots<{count}, {self.tiles[name]}>'

    def slot(self, name: str, index: str) -> tuple[str, str, str]:
        self.fresh += 1
        tile = self.tiles[name]
        value = f"%slot{self.fresh}"
        text = f"{value} = ptobuf.slot_select %{name}[{index}] : !ptobuf.slots<{self.counts[name]}, {tile}>"
        return value, f"!ptobuf.slot<{tile}>", text

    def source(self, word: str) -> tuple[str, str, list[str]]:
        if slot := _SLOT.match(word):
            value, type, text = self.slot(slot[1], slot[2])
            return value, type, [text]
        return f"%{word}", f"!pto.tile_buf<{self.values[word]}>", []

    def view(self, tile: str, tensor: str, words: list[str]) -> tuple[str, str, str]:
        self.fresh += 1
        row = next((word[1:] for word in words if word.startswith("@")), "%c0")
        tensor = words[-1] if words[-2:-1] == ["of"] else tensor
        rows, cols, _ = tile.split(", ")[1].split("x")
        type = f"!pto.partition_tensor_view<{rows}x{cols}xf32>"
        value = f"%view{self.fresh}"
        text = (
            f"%r{self.fresh} = arith.constant {rows} : index\n%k{self.fresh} = arith.constant {cols} : index\n"
            f"{value} = pto.partition_view %whole_{tensor}, offsets = [{row}, %c0], "
            f"sizes = [%r{self.fresh}, %k{self.fresh}] : !pto.tensor_view<256x256xf32> -> {type}"
        )
        return value, type, text

    def op(self, result: str, word: str, name: str, index: str, sources: list[str]) -> Iterator[str]:
        out, out_type, text = self.slot(name, index)
        found = [] if word == "load" else [self.source(source) for source in sources]
        for _, _, texts in found:
            yield from texts
        yield text
        if word == "load":
            value, type, text = self.view(self.tiles[name], "src", sources)
            yield text
            found = [(value, type, [])]
        ins = f"{', '.join(value for value, _, _ in found)} : {', '.join(type for _, type, _ in found)}"
        self.values[result] = self.tiles[name]
        yield f"%{result} = ptobuf.{word}_into ins({ins}) outs({out} : {out_type}) -> !pto.tile_buf<{self.tiles[name]}>"

    def use(self, word: str, source: str, rest: list[str]) -> Iterator[str]:
        value, type, texts = self.source(source)
        yield from texts
        if word == "release":
            yield f"ptobuf.release {value} : {type}"
            return
        view, view_type, text = self.view(type.partition("<")[2][:-1], "dst", rest)
        yield text
        yield f"ptobuf.store ins({value} : {type}) outs({view} : {view_type})"


def kernel(text: str, arch: str = "a3") -> ModuleOp:
    """The module with one function `kernel` of these lines; `%n`, `%m`, `%flag`, `%c0` to `%c3` are there."""
    body = "\n".join(_Writer().lines(text))
    return parse_text(make_context(), f"{_HEAD.format(arch=arch)}{body}\nreturn\n}}\n}}\n", "k.mlir")
