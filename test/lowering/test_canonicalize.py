"""Canonicalisation changes nothing that can be seen: the same verdict, the same rows stored, for all numbers."""

import random
from collections.abc import Mapping

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from pto_buf.lowering.canonicalize import CanonicalizePass
from pto_buf.slots.build import build
from pto_buf.slots.leases import analyse
from pto_buf.universe import make_context
from pto_buf.verification import verify_module
from support.vec_text import kernel
from support.walk import walk

pytestmark = pytest.mark.campaign

NUMBERS = [{"n": n, "m": m, "flag": flag} for n, m, flag in [(0, 3, 0), (1, 5, 1), (2, 0, 0), (5, 4, 1), (7, 9, 0)]]


class Soup:
    """A kernel of index arithmetic that decides slots, rows, branches and trips."""

    def __init__(self, seed: int):
        self._random = random.Random(seed)
        self._values = ["%c0", "%c1", "%c3", "%n", "%m"]
        self._fresh = 0
        self.count = self._random.choice([1, 2, 3])
        self.text = f"set ring {self.count} 1x128\n" + "\n".join(self._block(2))

    def _new(self) -> str:
        self._fresh += 1
        return f"%v{self._fresh}"

    def _value(self) -> str:
        return self._random.choice(self._values)

    def _constant(self, number: int) -> tuple[str, str]:
        name = self._new()
        return name, f"{name} = arith.constant {number} : index"

    def _arithmetic(self) -> list[str]:
        result, choose = self._new(), self._random.choice
        kind = choose(["two", "two", "divided", "chosen"])
        if kind == "two":
            op = choose(["addi", "subi", "muli", "minsi", "maxsi", "minui", "maxui", "andi", "ori", "xori"])
            lines = [f"{result} = arith.{op} {self._value()}, {self._value()} : index"]
        elif kind == "divided":
            divisor, line = self._constant(choose([1, 2, 3, 4, 5]))
            op = choose(["divsi", "divui", "remsi", "remui", "floordivsi", "ceildivsi", "shrsi", "shrui"])
            lines = [line, f"{result} = arith.{op} {self._value()}, {divisor} : index"]
        else:
            bit, op = self._new(), choose(["eq", "ne", "slt", "sle", "sgt", "ult", "uge"])
            lines = [
                f"{bit} = arith.cmpi {op}, {self._value()}, {self._value()} : index",
                f"{result} = arith.select {bit}, {self._value()}, {self._value()} : index",
            ]
        self._values.append(result)
        return lines

    def _block(self, depth: int) -> list[str]:
        lines: list[str] = []
        visible = len(self._values)
        for _ in range(self._random.randint(2, 6)):
            kind = self._random.random()
            if kind < 0.55 or depth == 0:
                lines += self._arithmetic()
            elif kind < 0.7:
                bit = self._new()
                lines.append(f"{bit} = arith.cmpi slt, {self._value()}, {self._value()} : index")
                lines += [f"scf.if {bit} {{", *self._block(depth - 1), "} else {", *self._block(depth - 1), "}"]
            else:
                lines += self._loop(depth)
            lines += self._touch()
        del self._values[visible:]
        return lines

    def _loop(self, depth: int) -> list[str]:
        counter, choose = f"%i{self._fresh}", self._random.choice
        self._fresh += 1
        bound, line = self._constant(choose([0, 1, 2, 3]))
        upper = choose([bound, bound, "%n"])
        self._values.append(counter)
        inner = self._block(depth - 1)
        self._values.remove(counter)
        return [line, f"scf.for {counter} = {choose(['%c0', '%c1'])} to {upper} step %c1 {{", *inner, "}"]

    def _touch(self) -> list[str]:
        if self._random.random() < 0.5:
            return []
        size, slot, many, row = self._new(), self._new(), self._new(), self._new()
        self._fresh += 1
        tile = f"x{self._fresh}"
        lines = [
            f"{size} = arith.constant {self.count} : index",
            f"{slot} = arith.remui {self._value()}, {size} : index",
            f"{many} = arith.constant 64 : index",
            f"{row} = arith.remui {self._value()}, {many} : index",
            f"{tile} = load ring[{slot}] @{row}",
        ]
        if self._random.random() < 0.8:
            lines.append(f"store {tile} @{row}")
        if self._random.random() < 0.3:
            lines.append(f"release {tile}")
        return lines


def verdict(module: ModuleOp) -> list[tuple[str, str]]:
    (function,) = (op for op in module.walk() if isinstance(op, FuncOp))
    return sorted((error.kind or "", str(error.place)) for error in analyse(build(function).program).errors)


def rows(module: ModuleOp, numbers: Mapping[str, int]) -> Mapping[object, int]:
    """What each row of the tensors holds in the end."""
    held = walk(module, numbers).holds
    return {key: value for key, value in held.items() if isinstance(key, tuple)}


@pytest.mark.parametrize("seed", range(30))
def test_random_kernels(seed: int) -> None:
    text = Soup(seed).text
    before, after = kernel(text), kernel(text)
    CanonicalizePass().apply(make_context(), after)
    verify_module(after)
    assert verdict(before) == verdict(after)
    for numbers in NUMBERS:
        assert rows(before, numbers) == rows(after, numbers), numbers
    once = str(after)
    CanonicalizePass().apply(make_context(), after)
    assert str(after) == once
    assert sum(1 for _ in after.walk()) <= sum(1 for _ in before.walk())
