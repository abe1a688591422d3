"""Writes `ptobuf` kernels of any kind for tests: slots as `P[(i + 1) % 2]`, numbers as Python expressions."""

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from pto_buf.source import parse_text
from pto_buf.universe import make_context

FILE = "kernel.mlir"
ROWS = 16
"""Rows of every tile; row `r` of an array stands for the `ROWS` rows from `r * ROWS` on."""

_TILES = {
    "vec": "vec, 16x64xf32, blayout=row_major, slayout=none_box",
    "mat": "mat, 16x16xf16, blayout=col_major, slayout=row_major",
    "left": "left, 16x16xf16, blayout=row_major, slayout=row_major",
    "right": "right, 16x16xf16, blayout=row_major, slayout=col_major",
    "acc": "acc, 16x16xf32, blayout=col_major, slayout=row_major, fractal=1024",
    "whole": "vec, 16x64xi32, blayout=row_major, slayout=none_box",
    "line": "vec, 1x64xi32, blayout=row_major, slayout=none_box",
    "column": "vec, 16x1xf32, blayout=col_major, slayout=none_box",
    "half": "vec, 8x64xf32, blayout=row_major, slayout=none_box",
    "tall": "mat, 32x16xf16, blayout=col_major, slayout=row_major",
}
_VECTOR = ("vec", "whole", "line", "column", "half")
_LEFT_ON_A5 = "left, 16x16xf16, blayout=col_major, slayout=row_major"
_OPS = {ast.Add: "addi", ast.Sub: "subi", ast.Mult: "muli", ast.FloorDiv: "divui", ast.Mod: "remui", ast.BitAnd: "andi"}
_COMPARISONS = {ast.Lt: "slt", ast.LtE: "sle", ast.Gt: "sgt", ast.GtE: "sge", ast.Eq: "eq", ast.NotEq: "ne"}
_CALLS = {"min": "minsi", "max": "maxsi"}
_LONGEST = 65536


@dataclass(frozen=True)
class _Set:
    count: int
    space: str


class SlotText:
    """A kernel over arrays `g` and `h` (read) and `y`, `z` (written); `text()` is it in the `ptobuf` dialect.

    `sets`: the number of slots of each set, in UB, or `(number, space)`. `addresses` pins sets, `share` names the sets
    whose bytes one may have. `args` are index arguments; expressions name these, loop counters, and what `let` defines.
    `wide`: how many tiles lie side by side in an array.
    """

    def __init__(
        self,
        args: str = "n",
        *,
        arch: str = "a3",
        addresses: Mapping[str, int] | None = None,
        share: Mapping[str, str] | None = None,
        wide: int = 1,
        **sets: int | tuple[int, str],
    ):
        self._arch = arch
        self._wide = wide
        self._sets = {
            name: _Set(count, "vec") if isinstance(count, int) else _Set(*count) for name, count in sets.items()
        }
        self._cube = any(one.space not in _VECTOR for one in self._sets.values())
        self._args = args.split()
        self._addresses = addresses or {}
        self._share = share or {}
        self._lines: list[str] = []
        self._count = 0
        self._constants: dict[int, str] = {}
        self._values: list[dict[str, str]] = [{name: f"%{name}" for name in self._args}]

    def _name(self) -> str:
        self._count += 1
        return f"%t{self._count}"

    def emit(self, line: str) -> None:
        self._lines.append(line)

    def _make(self, line: str) -> str:
        name = self._name()
        self.emit(f"{name} = {line}")
        return name

    # --- numbers ---

    def number(self, expression: str | int) -> str:
        """The SSA name of an expression's value."""
        return self._expression(ast.parse(str(expression), mode="eval").body)

    def let(self, name: str, expression: str) -> None:
        self._values[-1][name] = self.number(expression)

    def define(self, name: str, value: str) -> None:
        """Lets expressions name an SSA value."""
        self._values[-1][name] = value

    def _constant(self, value: int) -> str:
        return self._constants.setdefault(value, f"%c{value}")

    def _expression(self, node: ast.expr) -> str:
        match node:
            case ast.Constant(value=int(value)):
                return self._constant(value)
            case ast.Name(id=name):
                return next(scope[name] for scope in reversed(self._values) if name in scope)
            case ast.BinOp(left=left, op=op, right=right):
                a, b = self._expression(left), self._expression(right)
                return self._make(f"arith.{_OPS[type(op)]} {a}, {b} : index")
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                a, b = self._expression(left), self._expression(right)
                return self._make(f"arith.cmpi {_COMPARISONS[type(op)]}, {a}, {b} : index")
            case ast.Call(func=ast.Name(id="select"), args=[c, a, b]):
                yes, no = self._expression(a), self._expression(b)
                return self._make(f"arith.select {self._expression(c)}, {yes}, {no} : index")
            case ast.Call(func=ast.Name(id="unknown"), args=[counter]):
                """A condition that nothing is known of, one for each value of `counter`."""
                wide = self._make(f"arith.index_cast {self._expression(counter)} : index to i64")
                real = self._make(f"arith.sitofp {wide} : i64 to f32")
                return self._make(f"arith.cmpf olt, {real}, %real : f32")
            case ast.Call(func=ast.Name(id=name), args=[a, b]):
                return self._make(f"arith.{_CALLS[name]} {self._expression(a)}, {self._expression(b)} : index")
            case _:
                raise ValueError(ast.unparse(node))

    # --- slots ---

    def slot(self, slot: str) -> tuple[str, str]:
        """`P[i % 2]`, or `P` for its first slot: the SSA name and the type of the slot."""
        name, _, rest = slot.partition("[")
        one, tile = self._sets[name], self._tile(name)
        index = self.number(rest.removesuffix("]") or "0")
        made = self._make(f"ptobuf.slot_select %{name}[{index}] : !ptobuf.slots<{one.count}, {tile}>")
        return made, f"!ptobuf.slot<{tile}>"

    def _tile(self, name: str) -> str:
        space = self._sets[name].space
        return _LEFT_ON_A5 if (space, self._arch) == ("left", "a5") else _TILES[space]

    def _into(self, op: str, ins: Sequence[tuple[str, str]], out: str) -> str:
        values, types = ", ".join(value for value, _ in ins), ", ".join(type for _, type in ins)
        into, type = self.slot(out)
        tile = type.replace("!ptobuf.slot<", "!pto.tile_buf<")
        return self._make(f"ptobuf.{op}_into ins({values} : {types}) outs({into} : {type}) -> {tile}")

    def load(self, slot: str, array: str = "g", row: str | int = 0) -> str:
        """MTE2 writes the slot."""
        space = self._sets[slot.partition("[")[0]].space
        return self._into("load", [self._window(array, row, "16x64xf32" if space == "vec" else "16x16xf16")], slot)

    def store(self, slot: str, array: str = "y", row: str | int = 0, column: str | int = 0) -> None:
        """MTE3 (from UB) or FIX (from L0C) reads the slot."""
        value, type = self.slot(slot)
        space = self._sets[slot.partition("[")[0]].space
        window, part = self._window(array, row, "16x64xf32" if space == "vec" else "16x16xf32", column)
        self.emit(f"ptobuf.store ins({value} : {type}) outs({window} : {part})")

    def vector(self, out: str, *ins: str) -> None:
        """V reads `ins` (one or two) and writes `out`."""
        operands = [self.slot(slot) for slot in ins]
        if len(operands) == 1:
            operands.append(("%one", "f32"))
        self._into("add" if len(ins) == 2 else "adds", operands, out)

    def fill(self, out: str) -> None:
        """V writes `out` and reads nothing."""
        self._into("expands", [("%one", "f32")], out)

    def call(self, op: str, out: str, *ins: str | tuple[str, str]) -> None:
        """Any other op, on slots or on numbers with their types."""
        self._into(op, [self.slot(one) if isinstance(one, str) else one for one in ins], out)

    def extract(self, out: str, slot: str, row: int = 0) -> None:
        """MTE1 moves a slot of L1, or what it holds from a row on, to L0; V moves a part of a tile in UB."""
        self._into("extract", [self.slot(slot), *self._corner(row)], out)

    def insert(self, out: str, slot: str, row: int = 0) -> None:
        """FIX (from L0C) or V (from UB) writes a part of `out`, from a row on."""
        self._into("insert", [self.slot(slot), *self._corner(row)], out)

    def _corner(self, row: int) -> tuple[tuple[str, str], tuple[str, str]]:
        return (self._constant(row), "index"), (self._constant(0), "index")

    def matmul(self, out: str, left: str, right: str, acc: bool = False) -> None:
        """M multiplies, or adds the product to what `out` holds."""
        self._into("matmul_acc" if acc else "matmul", [self.slot(left), self.slot(right)], out)

    def move(self, out: str, slot: str) -> None:
        """FIX (from L0C) or MTE1 (from L1) moves a slot."""
        self._into("move", [self.slot(slot)], out)

    def _window(self, array: str, row: str | int, shape: str, column: str | int = 0) -> tuple[str, str]:
        columns = shape.split("x")[1]
        first, from_ = self.number(f"({row}) * {ROWS}"), self.number(column)
        sizes = f"{self._constant(ROWS)}, {self._constant(int(columns))}"
        type = f"!pto.partition_tensor_view<{shape}>"
        tensor = f"!pto.tensor_view<{_LONGEST}x{int(columns) * self._wide}x{shape.split('x')[2]}>"
        made = self._make(
            f"pto.partition_view %view_{array}, offsets = [{first}, {from_}], sizes = [{sizes}] : {tensor} -> {type}"
        )
        return made, type

    def release(self, slot: str) -> None:
        value, type = self.slot(slot)
        self.emit(f"ptobuf.release {value} : {type}")

    # --- control flow ---

    @contextmanager
    def _block(self, head: str, names: dict[str, str], end: str = "}") -> Iterator[None]:
        self.emit(head)
        self._values.append(names)
        yield
        self._values.pop()
        self.emit(end)

    @contextmanager
    def loop(self, name: str, lower: str | int, upper: str | int, step: str | int = 1) -> Iterator[None]:
        bounds = [self.number(bound) for bound in (lower, upper, step)]
        counter = self._name()
        with self._block(f"scf.for {counter} = {bounds[0]} to {bounds[1]} step {bounds[2]} {{", {name: counter}):
            yield

    @contextmanager
    def carrying(self, name: str, lower: str | int, upper: str | int, init: str, **next: str) -> Iterator[None]:
        """A loop that hands one number from trip to trip: `next` names it and says what it is in the next trip."""
        ((carried, following),) = next.items()
        first, bounds = self.number(init), [self.number(bound) for bound in (lower, upper, 1)]
        counter, held, last = self._name(), self._name(), self._name()
        head = f"{last} = scf.for {counter} = {bounds[0]} to {bounds[1]} step {bounds[2]} iter_args({held} = {first})"
        with self._block(f"{head} -> (index) {{", {name: counter, carried: held}):
            yield
            self.emit(f"scf.yield {self.number(following)} : index")
        self.define(carried, last)

    @contextmanager
    def repeat(self, name: str, condition: str, before: Callable[[], None]) -> Iterator[None]:
        """A while loop whose counter starts at 0: `before` runs, then, if the condition holds, what stands inside."""
        first, held, inside, last = self.number(0), self._name(), self._name(), self._name()
        with self._block(f"{last} = scf.while ({held} = {first}) : (index) -> index {{", {name: held}, "} do {"):
            before()
            self.emit(f"scf.condition({self.number(condition)}) {held} : index")
        with self._block(f"^bb0({inside}: index):", {name: inside}):
            yield
            self.emit(f"scf.yield {self.number(f'{name} + 1')} : index")

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        with self._block(f"scf.if {self.number(condition)} {{", {}):
            yield

    @contextmanager
    def otherwise(self) -> Iterator[None]:
        assert self._lines[-1] == "}"
        self._lines.pop()
        with self._block("} else {", {}):
            yield

    # --- the whole ---

    def text(self) -> str:
        element, width = ("f16", 16 * self._wide) if self._cube else ("f32", 64 * self._wide)
        arrays = {"g": (element, width), "h": (element, width), "y": ("f32", width), "z": ("f32", width)}
        arguments = ", ".join(
            [f"%{name}: !pto.ptr<{type}>" for name, (type, _) in arrays.items()]
            + [f"%{name}: index" for name in self._args]
            + ["%real: f32"]
        )
        kind = f"#pto.kernel_kind<{'cube' if self._cube else 'vector'}>"
        views = [
            f"%view_{name} = pto.make_tensor_view %{name}, shape = [{self._constant(_LONGEST)}, {self._constant(wide)}]"
            f", strides = [{self._constant(wide)}, {self._constant(1)}] : !pto.tensor_view<{_LONGEST}x{wide}x{type}>"
            for name, (type, wide) in arrays.items()
        ]
        sets = [
            f'%{name} = ptobuf.alloc_slots "{name}"{self._place(name)} : !ptobuf.slots<{one.count}, {self._tile(name)}>'
            for name, one in self._sets.items()
        ]
        constants = [f"{name} = arith.constant {value} : index" for value, name in sorted(self._constants.items())]
        return "\n".join(
            [
                f'module attributes {{pto.target_arch = "{self._arch}"}} {{',
                f"func.func @kernel({arguments}) attributes {{pto.entry, pto.kernel_kind = {kind}}} {{",
                *constants,
                "%one = arith.constant 1.0 : f32",
                *views,
                *sets,
                *self._lines,
                "return",
                "}",
                "}",
            ]
        )

    def _place(self, name: str) -> str:
        known = [f"addr = {self._addresses[name]} : i64"] if name in self._addresses else []
        known += [f'share = ["{self._share[name]}"]'] if name in self._share else []
        return f" {{{', '.join(known)}}}" if known else ""

    def module(self) -> ModuleOp:
        """The parsed and verified kernel."""
        module = parse_text(make_context(), self.text(), FILE)
        module.verify()
        return module
