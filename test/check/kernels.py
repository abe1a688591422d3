"""Writes small `pto` kernels for tests: index expressions in Python, one method for each op."""

import ast
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

_LAYOUTS = {
    "vec": "16x64xf32",
    "mat": "64x64xf32, blayout=col_major, slayout=row_major",
    "left": "16x64xf32, slayout=row_major",
    "right": "64x16xf32, slayout=col_major",
    "acc": "16x16xf32, blayout=col_major, slayout=row_major, fractal=1024",
}
_BYTES = {"vec": 4096, "mat": 16384, "left": 4096, "right": 4096, "acc": 1024}
_OPS = {ast.Add: "addi", ast.Sub: "subi", ast.Mult: "muli", ast.FloorDiv: "divui", ast.Mod: "remui", ast.BitAnd: "andi"}
_COMPARISONS = {ast.Lt: "slt", ast.LtE: "sle", ast.Gt: "sgt", ast.GtE: "sge", ast.Eq: "eq", ast.NotEq: "ne"}
_CLASSES = {"MTE2": "TLOAD", "V": "TVEC", "MTE3": "TSTORE_VEC"}
_CALLS = {"min": "minsi", "max": "maxsi", "rems": "remsi", "minu": "minui", "maxu": "maxui"}


@dataclass(frozen=True)
class _Pool:
    space: str
    base: int
    stride: int


class Kernel:
    """`text()` is the kernel. Index expressions name loop counters, integer arguments and `let` values."""

    def __init__(self, args: str = "n", arch: str = "a3", kind: str | None = "vector", arrays: str = "g h"):
        self._arrays = arrays.split()
        names = [f"%{name}: !pto.ptr<f32>" for name in self._arrays]
        names += [f"%{name}: index" for name in args.split()] + ["%x: f32", "%table: !pto.ptr<i32>"]
        self._head = (
            f'module attributes {{pto.target_arch = "{arch}"}} {{\n  func.func @kernel({", ".join(names)}) '
            f"attributes {{pto.entry{'' if kind is None else f', pto.kernel_kind = #pto.kernel_kind<{kind}>'}}} {{\n"
        )
        self._pools: dict[str, _Pool] = {}
        self._next: dict[str, int] = {}
        self._lines: list[str] = []
        self._depth = 2
        self._count = 0
        self._values: list[dict[str, str]] = [{}]
        self._sizes: dict[str, int] = {}
        for name in args.split():
            self._values[0][name] = f"%{name}"
        for name in self._arrays:
            rows, cols, one = self.index("1048576"), self.index("64"), self.index("1")
            self._emit(
                f"%v_{name} = pto.make_tensor_view %{name}, shape = [{rows}, {cols}], strides = [{cols}, {one}] "
                ": !pto.tensor_view<?x?xf32>"
            )

    def text(self) -> str:
        return self._head + "".join(f"{line}\n" for line in [*self._lines, "    return", "  }", "}"])

    def _emit(self, line: str) -> None:
        self._lines.append("  " * self._depth + line)

    def _name(self) -> str:
        self._count += 1
        return f"%t{self._count}"

    # --- numbers ---

    def index(self, expression: str | int) -> str:
        return self._expression(ast.parse(str(expression), mode="eval").body)

    def _make(self, line: str) -> str:
        name = self._name()
        self._emit(f"{name} = {line}")
        return name

    def _expression(self, node: ast.expr) -> str:
        match node:
            case ast.Constant(value=int(value)):
                return self._make(f"arith.constant {value} : index")
            case ast.Name(id=name):
                return self._value(name)
            case ast.BinOp(left=left, op=op, right=right):
                a, b = self._expression(left), self._expression(right)
                return self._make(f"arith.{_OPS[type(op)]} {a}, {b} : index")
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                a, b = self._expression(left), self._expression(right)
                return self._make(f"arith.cmpi {_COMPARISONS[type(op)]}, {a}, {b} : index")
            case ast.Call(func=ast.Name(id="select"), args=[c, a, b]):
                yes, no = self._expression(a), self._expression(b)
                return self._make(f"arith.select {self._expression(c)}, {yes}, {no} : index")
            case ast.Call(func=ast.Name(id="unknown"), args=[ast.Name(id=counter)]):
                wide = self._make(f"arith.index_cast {self._expression(ast.Name(counter))} : index to i64")
                number = self._make(f"arith.sitofp {wide} : i64 to f32")
                return self._make(f"arith.cmpf olt, {number}, %x : f32")
            case ast.Call(func=ast.Name(id=name), args=[a, b]):
                return self._make(f"arith.{_CALLS[name]} {self._expression(a)}, {self._expression(b)} : index")
            case ast.BoolOp(op=ast.And(), values=[a, b]):
                return self._make(f"arith.andi {self._expression(a)}, {self._expression(b)} : i1")
            case _:
                raise ValueError(ast.unparse(node))

    def let(self, name: str, expression: str) -> None:
        self._values[-1][name] = self.index(expression)

    def read(self, name: str, offset: str | int) -> None:
        """A number of the table in global memory: it may be anything, but stays what it is."""
        word = self._make(f"pto.load_scalar %table[{self.index(offset)}] : !pto.ptr<i32> -> i32")
        self._values[-1][name] = self._make(f"arith.index_cast {word} : i32 to index")

    def write(self, offset: str | int) -> None:
        """Stores there, as the scalar unit does."""
        word = self._make(f"arith.index_cast {self.index(1)} : index to i32")
        self._emit(f"pto.store_scalar {word}, %table[{self.index(offset)}] : !pto.ptr<i32>, i32")

    def ids(self, name: str, size: int) -> None:
        """An array of event ids, for `put` and `get`."""
        self._sizes[name] = size
        self._values[-1][name] = self._make(f"pto.declare_eventid_array -> !pto.eventid_array<{size}>")

    def put(self, array: str, at: str | int, value: str | int) -> None:
        where = f"{self._value(array)}[{self.index(at)}]"
        self._emit(f"pto.eventid_array_set {where}, {self.index(value)} : !pto.eventid_array<{self._sizes[array]}>")

    def get(self, name: str, array: str, at: str | int) -> None:
        where = f"{self._value(array)}[{self.index(at)}]"
        self._values[-1][name] = self._make(f"pto.eventid_array_get {where} : !pto.eventid_array<{self._sizes[array]}>")

    def _value(self, name: str) -> str:
        return next(scope[name] for scope in reversed(self._values) if name in scope)

    # --- memory ---

    def slots(self, name: str, count: int = 1, space: str = "vec", base: int | None = None, stride: int | None = None):
        """`count` tiles behind those of the same space so far, or from `base` on."""
        stride = stride or _BYTES[space]
        start = self._next.get(space, 0) if base is None else base
        self._pools[name] = _Pool(space, start, stride)
        self._next[space] = max(self._next.get(space, 0), start + count * stride)

    def _type(self, space: str) -> str:
        return f"!pto.tile_buf<{space}, {_LAYOUTS[space]}>"

    def _tile(self, slot: str) -> tuple[str, str]:
        """`P[i % 2]`, or `P` for its first slot, and perhaps `@row` for 8 rows of it: the tile and its type."""
        slot, _, row = slot.partition("@")
        if row:
            tile, type = self._tile(slot)
            part = type.replace("16x64", "8x64")
            start, zero = self.index(row), self.index(0)
            return self._make(f"pto.subview {tile}[{start}, {zero}] sizes [8, 64] : {type} -> {part}"), part
        name, _, rest = slot.partition("[")
        pool = self._pools[name]
        at = self.index(f"({rest.removesuffix(']') or '0'}) * {pool.stride} + {pool.base}")
        address = self._make(f"arith.index_cast {at} : index to i64")
        return self._make(f"pto.alloc_tile addr = {address} : {self._type(pool.space)}"), self._type(pool.space)

    def _window(self, array: str, row: str | int, shape: str, column: int = 0) -> tuple[str, str]:
        offset, zero = self.index(row), self.index(column)
        rows, cols = (self.index(extent) for extent in shape.split("x"))
        type = f"!pto.partition_tensor_view<{shape}xf32>"
        name = self._make(
            f"pto.partition_view %v_{array}, offsets = [{offset}, {zero}], sizes = [{rows}, {cols}] "
            f": !pto.tensor_view<?x?xf32> -> {type}"
        )
        return name, type

    def _op(self, name: str, ins: list[tuple[str, str]], out: tuple[str, str]) -> None:
        values, types = ", ".join(value for value, _ in ins), ", ".join(type for _, type in ins)
        self._emit(f"pto.{name} ins({values} : {types}) outs({out[0]} : {out[1]})")

    def load(self, slot: str, array: str = "g", row: str | int = 0) -> None:
        self._op("tload", [self._window(array, row, self._extent(slot))], self._tile(slot))

    def store(self, slot: str, array: str = "h", row: str | int = 0, column: int = 0) -> None:
        tile = self._tile(slot)
        self._op("tstore", [tile], self._window(array, row, self._extent(slot), column))

    def _extent(self, slot: str) -> str:
        shapes = {"mat": "64x64", "acc": "16x16", "vec": "8x64" if "@" in slot else "16x64"}
        return shapes[self._pools[slot.partition("[")[0].partition("@")[0]].space]

    def vector(self, out: str, *ins: str) -> None:
        tiles = [self._tile(slot) for slot in ins]
        self._op("texp" if len(ins) == 1 else "tadd", tiles, self._tile(out))

    def fill(self, out: str) -> None:
        """A vector op that reads only what it writes over."""
        self.vector(out, out)

    def extract(self, out: str, slot: str) -> None:
        zero = self.index(0)
        self._op("textract", [self._tile(slot), (zero, "index"), (zero, "index")], self._tile(out))

    def matmul(self, out: str, left: str, right: str, acc: bool = False) -> None:
        into = self._tile(out)
        operands = [self._tile(left), self._tile(right)]
        self._op("tmatmul.acc" if acc else "tmatmul", [into, *operands] if acc else operands, into)

    # --- fences ---

    def _flag(self, what: str, pair: str, lane: str | int) -> None:
        src, dst = (f"<PIPE_{pipe}>" for pipe in pair.split(">"))
        if isinstance(lane, int) or lane.isdigit():
            self._emit(f"pto.{what}[{src}, {dst}, <EVENT_ID{lane}>]")
        else:
            self._emit(f"pto.{what}_dyn[{src}, {dst}, {self.index(lane)}]")

    def set(self, pair: str, lane: str | int = 0) -> None:
        """`pair` is like `V>MTE3`."""
        self._flag("set_flag", pair, lane)

    def wait(self, pair: str, lane: str | int = 0) -> None:
        self._flag("wait_flag", pair, lane)

    def fence(self, pair: str, lane: str | int = 0) -> None:
        self.set(pair, lane)
        self.wait(pair, lane)

    def prime(self, pair: str, lanes: int = 1) -> None:
        for lane in range(lanes):
            self.set(pair, lane)

    def drain(self, pair: str, lanes: int = 1) -> None:
        for lane in range(lanes):
            self.wait(pair, lane)

    def barrier(self, pipe: str = "ALL") -> None:
        self._emit(f"pto.barrier #pto.pipe<PIPE_{pipe}>")

    def record(self, pair: str, lane: int = 0) -> None:
        """A set that names classes of ops."""
        self._event("record_event", pair, lane)

    def recorded(self, pair: str, lane: int = 0) -> None:
        """The wait for it."""
        self._event("wait_event", pair, lane)

    def _event(self, what: str, pair: str, lane: int) -> None:
        src, dst = (f"#pto.pipe_event_type<{_CLASSES[pipe]}>" for pipe in pair.split(">"))
        self._emit(f"pto.{what}[{src}, {dst}, #pto.event<EVENT_ID{lane}>]")

    def class_barrier(self, pipe: str) -> None:
        self._emit(f"pto.barrier_sync[<{_CLASSES[pipe]}>]")

    def lock(self, pipe: str, id: str | int) -> None:
        """The pipe takes a buffer lock (a5)."""
        self._lock("get_buf", pipe, id)

    def unlock(self, pipe: str, id: str | int) -> None:
        self._lock("rls_buf", pipe, id)

    def _lock(self, what: str, pipe: str, id: str | int) -> None:
        known = isinstance(id, int) or id.isdigit()
        number = str(id) if known else self.index(id)
        self._emit(f"pto.{what}{'' if known else '_dyn'} [#pto.pipe_event_type<{_CLASSES[pipe]}>, {number}]")

    def turn(self, fill: str, use: str, read: str | None = None) -> None:
        """MTE2 fills a slot of P, V uses one (or reads another), each under the flags of its slot."""
        self.wait("V>MTE2", fill)
        self.load(f"P[{fill}]")
        self.set("MTE2>V", fill)
        self.wait("MTE2>V", use)
        self.barrier("V")
        self.vector("Y", f"P[{read or use}]")
        self.set("V>MTE2", use)

    # --- several cores ---

    @contextmanager
    def section(self, core: str, asks: bool = True) -> Iterator[None]:
        """`cube` or `vector`, of a kernel whose kind is None. A vector core `asks` which one it is: `sub`."""
        with self._block(f"pto.section.{core} {{", {}):
            if core == "vector" and asks:
                wide = self._make("pto.get_subblock_idx")
                self._values[-1]["sub"] = self._make(f"arith.index_cast {wide} : i64 to index")
            yield

    def signal(self, pipe: str, id: str | int) -> None:
        self._between("set", pipe, id)

    def hear(self, pipe: str, id: str | int) -> None:
        self._between("wait", pipe, id)

    def _between(self, what: str, pipe: str, id: str | int) -> None:
        number = str(id) if isinstance(id, int) or id.isdigit() else self.index(id)
        self._emit(f"pto.sync.{what} <PIPE_{pipe}>, {number}")

    # --- control flow ---

    @contextmanager
    def _block(self, head: str, names: dict[str, str]) -> Iterator[None]:
        self._emit(head)
        self._depth += 1
        self._values.append(names)
        yield
        self._values.pop()
        self._depth -= 1
        self._emit("}")

    @contextmanager
    def loop(self, name: str, lower: str | int, upper: str | int, step: str | int = 1) -> Iterator[None]:
        bounds = [self.index(bound) for bound in (lower, upper, step)]
        counter = self._name()
        with self._block(f"scf.for {counter} = {bounds[0]} to {bounds[1]} step {bounds[2]} {{", {name: counter}):
            yield

    @contextmanager
    def carrying(
        self, name: str, lower: str | int, upper: str | int, carried: str, start: str | int, after: str, step: int = 1
    ) -> Iterator[None]:
        """A loop that hands a number on from trip to trip; `after` is what it becomes, in terms of itself."""
        bounds = [self.index(bound) for bound in (lower, upper, step, start)]
        counter, value, result = self._name(), self._name(), self._name()
        head = (
            f"{result} = scf.for {counter} = {bounds[0]} to {bounds[1]} step {bounds[2]} "
            f"iter_args({value} = {bounds[3]}) -> (index) {{"
        )
        with self._block(head, {name: counter, carried: value}):
            yield
            self._emit(f"scf.yield {self.index(after)} : index")
        self._values[-1][carried] = result

    @contextmanager
    def repeat(
        self, name: str, start: str | int, condition: str, after: str, reads: Mapping[str, str] | None = None
    ) -> Iterator[None]:
        """A while loop over a number that starts so, is asked the condition, and becomes `after`.

        `reads`: numbers of the table that the condition is about too, by where they are.
        """
        first, value, passed, result = self.index(start), self._name(), self._name(), self._name()
        with self._block(f"{result} = scf.while ({value} = {first}) : (index) -> index {{", {name: value}):
            for word, offset in (reads or {}).items():
                self.read(word, offset)
            self._emit(f"scf.condition({self.index(condition)}) {value} : index")
        self._lines.pop()
        with self._block("} do {", {name: passed}):
            self._emit(f"^bb0({passed}: index):")
            yield
            self._emit(f"scf.yield {self.index(after)} : index")
        self._values[-1][name] = result

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        with self._block(f"scf.if {self.index(condition)} {{", {}):
            yield

    def choose(self, name: str, condition: str, yes: str, no: str) -> None:
        """A number that one arm of a branch makes, or the other one."""
        result = self._name()
        with self._block(f"{result} = scf.if {self.index(condition)} -> (index) {{", {}):
            self._emit(f"scf.yield {self.index(yes)} : index")
        with self.otherwise():
            self._emit(f"scf.yield {self.index(no)} : index")
        self._values[-1][name] = result

    @contextmanager
    def otherwise(self) -> Iterator[None]:
        assert self._lines[-1].strip() == "}"
        self._lines.pop()
        with self._block("} else {", {}):
            yield
