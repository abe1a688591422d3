"""What a row of the op table says, and how a use of an op is matched against it.

Pure data: the `pto` op classes, the `ptobuf` into-ops, the verifier, the fence engine, the checker, the simulator
and the docs all read rows. A use that no form of the row covers is an error, never a default.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pto_buf.hw import Pipe, Space, Target
from pto_buf.tile import TileSpec


class Kind(StrEnum):
    """What an operand is."""

    TILE = "tile"
    VIEW = "view"
    """A partition of a global tensor."""
    SCALAR = "scalar"
    """A number of the element type."""
    INDEX = "index"
    I64 = "i64"


class Role(StrEnum):
    """What an op does to a tile or view operand."""

    READ = "read"
    WRITE = "write"
    """Overwrites it; the old content is not looked at."""
    UPDATE = "update"
    """Reads and writes it in place (an accumulator, a partial write)."""
    SCRATCH = "scratch"
    """Working space: written, nothing of it is read afterwards."""

    @property
    def reads(self) -> bool:
        return self in (Role.READ, Role.UPDATE)

    @property
    def writes(self) -> bool:
        return self is not Role.READ


@dataclass(frozen=True)
class ViewSpec:
    """Extents (None where known only at run time) and element type of a view of global memory."""

    shape: tuple[int | None, ...]
    dtype: str


@dataclass(frozen=True)
class Operand:
    name: str
    kind: Kind = Kind.TILE
    role: Role = Role.READ
    optional: bool = False

    @property
    def in_memory(self) -> bool:
        return self.kind in (Kind.TILE, Kind.VIEW)


@dataclass(frozen=True)
class Form:
    """One legal combination of spaces and element types, and the pipes that run it.

    `spaces` names every tile operand; optional tiles that are absent do not count. `dtypes` lists, per target name,
    the allowed element types of the operands in `typed`, in that order.
    Several pipes mean that sources disagree on which one runs it: a fence has to cover each.
    """

    spaces: Mapping[str, Space]
    pipes: tuple[Pipe, ...]
    typed: tuple[str, ...]
    dtypes: Mapping[str, frozenset[tuple[str, ...]]]

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(self.dtypes)


Value = TileSpec | ViewSpec | str
"""What is known of an operand before running: its geometry, or the type name of a scalar."""


@dataclass(frozen=True)
class Use:
    """One use of an op: operands by name (absent optionals left out), attributes as plain text, the target."""

    row: "OpRow"
    operands: Mapping[str, Value]
    attrs: Mapping[str, str]
    target: Target
    constants: Mapping[str, int] = field(default_factory=dict[str, int])
    """Values of the index operands that are constants."""

    def tile(self, name: str) -> TileSpec:
        value = self.operands[name]
        assert isinstance(value, TileSpec), name
        return value


class TableError(Exception):
    """A use that the table does not allow. `kind` is the slug of the rule, `operand` the offender's name if one is."""

    def __init__(self, message: str, kind: str, operand: str | None = None):
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.operand = operand


Check = Callable[[Use], None]
"""A rule over shapes, layouts or attributes. Raises TableError."""

Array = NDArray[Any]
Compute = Callable[[Mapping[str, Any], Mapping[str, str]], Array]
"""Numpy semantics: operands by name (tiles as arrays of their valid extent, numbers as they are) and attributes
to the array that the output tile holds. The caller converts to the output's element type."""


def no_check(use: Use) -> None:
    """The rule of an op whose forms say everything."""


@dataclass(frozen=True)
class OpRow:
    """One tile op.

    `mnemonic` is its name in `pto`, `dsl` its name in pypto (`pl.tile.<dsl>`) and, with `_into`, in `ptobuf`.
    """

    mnemonic: str
    dsl: str
    ins: tuple[Operand, ...]
    out: Operand
    forms: tuple[Form, ...]
    compute: Compute
    check: Check = no_check
    attrs: tuple[str, ...] = ()
    """Attributes that the op may carry, in the order in which they are printed."""
    inner_attrs: bool = False
    """The attribute dictionary is printed inside `ins(...)`, before the colon (tcmp, tcvt)."""
    in_place: frozenset[str] = frozenset()
    """The inputs whose bytes the output may share."""
    accumulates: str | None = None
    """The input that is the output itself; the into form leaves it out."""

    @property
    def operands(self) -> tuple[Operand, ...]:
        return (*self.ins, self.out)

    @property
    def into_ins(self) -> tuple[Operand, ...]:
        """The inputs that the `ptobuf` form spells."""
        return tuple(operand for operand in self.ins if operand.name != self.accumulates)

    def form(self, use: Use) -> Form:
        """The form that covers `use`, its rules checked too. Raises TableError."""
        tiles = {name: value for name, value in use.operands.items() if isinstance(value, TileSpec)}
        at_target = [form for form in self.forms if use.target.name in form.targets]
        if not at_target:
            raise TableError(f"'{self.mnemonic}' does not exist on {use.target.name}", "unsupported-op")
        in_spaces = [
            form for form in at_target if all(form.spaces.get(name) is tile.space for name, tile in tiles.items())
        ]
        if not in_spaces:
            raise self._space_error(tiles, at_target)
        for form in in_spaces:
            if self._typed(form, use) in form.dtypes[use.target.name]:
                self.check(use)
                return form
        raise self._dtype_error(in_spaces, use)

    @staticmethod
    def _typed(form: Form, use: Use) -> tuple[str, ...]:
        return tuple(_dtype(use.operands[name]) for name in form.typed if name in use.operands)

    def _space_error(self, tiles: Mapping[str, TileSpec], forms: Sequence[Form]) -> TableError:
        """Names the first operand that no form allows where it is, or the whole combination."""
        for name, tile in tiles.items():
            allowed = list(dict.fromkeys(form.spaces[name].value for form in forms if name in form.spaces))
            if tile.space.value not in allowed:
                return TableError(
                    f"'{self.mnemonic}': {name} is in {tile.space}, must be in {' or '.join(allowed)}",
                    "memory-space",
                    name,
                )
        found = ", ".join(f"{name} in {tile.space}" for name, tile in tiles.items())
        known = "; ".join(", ".join(f"{n} in {s}" for n, s in form.spaces.items() if n in tiles) for form in forms)
        return TableError(f"'{self.mnemonic}': no path with {found}; there is: {known}", "memory-space")

    def _dtype_error(self, forms: Sequence[Form], use: Use) -> TableError:
        form = forms[0]
        found = ", ".join(f"{n} {_dtype(use.operands[n])}" for n in form.typed if n in use.operands)
        known = sorted({" ".join(entry) for form in forms for entry in form.dtypes[use.target.name]})
        return TableError(
            f"'{self.mnemonic}': element types {found} do not go together on {use.target.name}; "
            f"allowed for {' '.join(form.typed)}: {', '.join(known)}",
            "shape-or-dtype",
        )


def _dtype(value: Value) -> str:
    return value if isinstance(value, str) else value.dtype


def both(*entries: Sequence[str]) -> Mapping[str, frozenset[tuple[str, ...]]]:
    """The same element types on both targets."""
    allowed = frozenset(tuple(entry) for entry in entries)
    return {"a2a3": allowed, "a5": allowed}


def alike(count: int, names: str) -> frozenset[tuple[str, ...]]:
    """`count` operands of one element type, for each type in `names`."""
    return frozenset((name,) * count for name in names.split())


def as_float(array: Array) -> Array:
    """Widened to f32 when it is a float narrower than that, as the compute units do."""
    return array.astype(np.float32) if array.dtype.itemsize < 4 and array.dtype.kind not in "iub" else array
