"""What the names of the `pl` namespace stand for. Pure: no IR.

A name that is neither an element type nor a memory space stays a `Symbol`: what it means is decided where it is used.
"""

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pto_buf.hw import Space

ROOTS = ("pypto.language", "pto_buf.language")
"""Modules that hold the DSL."""


@dataclass(frozen=True)
class Symbol:
    """A name of the DSL by its path below `pl`, like `tile.load`; the empty path is the namespace itself."""

    path: str


@dataclass(frozen=True)
class DType:
    """An element type: `name` as in `pto` (`bf16`), `index`, or `i1` for a truth value."""

    name: str


@dataclass(frozen=True)
class DynVar:
    """A dimension that is known only at run time, made by `pl.dynamic`."""

    name: str


@dataclass(frozen=True)
class DynExpr:
    """An extent worked out of dimensions known only at run time, such as `M * 2`."""

    op: type[ast.operator]
    left: "DynVar | DynExpr | int"
    right: "DynVar | DynExpr | int"

    @property
    def dimensions(self) -> tuple[str, ...]:
        """The names in it, from left to right."""
        found: list[str] = []
        for side in (self.left, self.right):
            if not isinstance(side, int):
                found += side.dimensions if isinstance(side, DynExpr) else [side.name]
        return tuple(found)

    @property
    def subtracts(self) -> bool:
        """Whether it may be less than zero on the way."""
        sides = (self.left, self.right)
        return self.op is ast.Sub or any(isinstance(side, DynExpr) and side.subtracts for side in sides)


DYNAMIC_OPS = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)
"""What an extent may be worked out with."""


@dataclass(frozen=True, eq=False)
class MemRefDecl:
    """A declared allocation, `pl.MemRef("name", slots=2)`: by its name, else by the variable that holds it."""

    name: str | None
    slots: int


@dataclass(frozen=True, eq=False)
class Record:
    """An object of constants: a module beside the file, or an instance of a class of the file's.

    `get` yields a member's value and raises KeyError for one that is not constant. `replaced` makes another instance.
    """

    what: str
    get: Callable[[str], object]
    replaced: "Callable[[Mapping[str, object]], Record] | None" = None


@dataclass(frozen=True, eq=False)
class Applied:
    """What may be called while reading: a class of records, a function of constants, one of `math`.

    `get` is as in `Record`. `call` raises TypeError or ValueError.
    """

    what: str
    call: Callable[[Sequence[object], Mapping[str, object]], object]
    get: Callable[[str], object]


DTYPES: Mapping[str, DType] = {
    name: DType(spelling)
    for name, spelling in {
        "BOOL": "i1",
        **{f"INT{bits}": f"i{bits}" for bits in (8, 16, 32, 64)},
        **{f"UINT{bits}": f"ui{bits}" for bits in (8, 16, 32, 64)},
        "FP16": "f16",
        "BF16": "bf16",
        "FP32": "f32",
        "FP4": "f4E2M1x2",
        "FP8E4M3FN": "f8E4M3FN",
        "FP8E5M2": "f8E5M2",
        "FP8E8M0": "f8E8M0",
        "HF8": "hif8",
        "INDEX": "index",
    }.items()
}

SPACES: Mapping[str, Space] = {
    "DDR": Space.GM,
    "Vec": Space.VEC,
    "Mat": Space.MAT,
    "Left": Space.LEFT,
    "Right": Space.RIGHT,
    "Acc": Space.ACC,
    "Bias": Space.BIAS,
    "LeftScale": Space.SCALING,
    "RightScale": Space.SCALING,
    "Scaling": Space.SCALING,
}

_SPACE_ENUMS = ("Mem", "MemorySpace")


def member(path: str) -> object:
    """What `pl.<path>` stands for: a `DType`, a `Space`, or a `Symbol`.

    A path from the top of a package starts with `^`, as in `^pypto.language.jit`, until it has passed the namespace.
    """
    if path.startswith("^"):
        root = next((root for root in ROOTS if path[1:] == root or path.startswith(f"^{root}.")), None)
        return Symbol(path) if root is None else member(path[len(root) + 2 :])
    head, _, tail = path.rpartition(".")
    if head in ("", "DataType") and tail in DTYPES:
        return DTYPES[tail]
    if head in _SPACE_ENUMS and tail in SPACES:
        return SPACES[tail]
    return Symbol(path)


def spelling(space: Space) -> str:
    """The user's name of a space: `Mat` for L1."""
    return next(name for name, value in SPACES.items() if value is space)
