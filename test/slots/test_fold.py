"""Our fold of index arithmetic says what mlir-opt says."""

import random
import re
import subprocess

from pto_buf.slots.fold import INDEX_MAX, INDEX_MIN, fold, wrapped
from pto_buf.slots.terms import COMPARISONS, Fn

EDGES = [INDEX_MIN, INDEX_MIN + 1, -7, -3, -2, -1, 0, 1, 2, 3, 5, 8, 62, 63, 64, 128, INDEX_MAX - 1, INDEX_MAX]


def operation(number: int, fn: Fn, left: int, right: int) -> str:
    name = f"arith.cmpi {fn}," if fn in COMPARISONS else f"arith.{fn}"
    result = "i1" if fn in COMPARISONS else "i64"
    return (
        f"func.func @f{number}() -> {result} {{\n"
        f"  %a = arith.constant {left} : i64\n  %b = arith.constant {right} : i64\n"
        f"  %c = {name} %a, %b : i64\n  return %c : {result}\n}}\n"
    )


def test_same_as_mlir(mlir_opt: str) -> None:
    pairs = [(a, b) for a in EDGES for b in EDGES]
    rng = random.Random(7)
    pairs += [(rng.randint(INDEX_MIN, INDEX_MAX), rng.randint(-70, 70)) for _ in range(60)]
    cases = [(fn, a, b) for fn in Fn for a, b in pairs]
    text = "".join(operation(number, *case) for number, case in enumerate(cases))
    done = subprocess.run([mlir_opt, "-", "-canonicalize"], input=text, capture_output=True, text=True, check=True)
    bodies = re.split(r"func\.func @f\d+", done.stdout)[1:]
    assert len(bodies) == len(cases)
    decided = 0
    for (fn, left, right), body in zip(cases, bodies, strict=True):
        returned = re.search(r"return (%\S+) :", body)
        assert returned is not None
        constant = re.search(rf"{re.escape(returned[1])} = arith.constant (true|false|-?\d+)", body)
        ours = fold(fn, left, right)
        if constant is None:  # mlir-opt leaves what is undefined, and so do we
            assert ours is None or (fn is Fn.CEILDIVS and INDEX_MIN in (left, right)), (fn, left, right, ours)
            continue
        decided += 1
        theirs = {"true": 1, "false": 0}.get(constant[1])
        assert ours == (int(constant[1]) if theirs is None else theirs), (fn, left, right)
    assert decided > 0.8 * len(cases)


def test_wrapping_is_signed() -> None:
    assert wrapped(INDEX_MAX + 1) == INDEX_MIN
    assert fold(Fn.ADD, INDEX_MAX, 1) == INDEX_MIN
    assert fold(Fn.REMU, -1, 3) == 0  # 2^64 - 1 is a multiple of 3
    assert fold(Fn.REMS, -1, 3) == -1
