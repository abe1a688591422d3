"""What a row of the op table says, and how a use of an op is matched against it.

Pure data: the `pto` op classes, the `ptobuf` into-ops, the verifier, the fence engine, the checker, the simulator
and the docs all read rows. A use that no form of the row covers is an error, never a default.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

from pto_buf.dialect.table.vocabulary import OLDEST, Attr, Version
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

    def takes(self, value: "Value") -> bool:
        """Whether an operand of this kind can be `value`."""
        if isinstance(value, TileSpec):
            return self is Kind.TILE
        if isinstance(value, ViewSpec):
            return self is Kind.VIEW
        return value != "index" if self is Kind.SCALAR else self.value == value


class Role(StrEnum):
    """What an op does to a tile or view operand."""

    READ = "read"
    WRITE = "write"
    """Overwrites it; the old content is not looked at."""
    UPDATE = "update"
    """Reads and writes it in place (an accumulator, a partial write)."""
    SCRATCH = "scratch"
    """Working space: written, nothing of it is read afterwards."""

    def __init__(self, word: str):
        # Kept, since to look up a member in its class takes ten times as long as to look up an attribute.
        self.reads = word in ("read", "update")
        self.writes = word != "read"


@dataclass(frozen=True)
class ViewSpec:
    """Extents (None where known only at run time) and element type of a view of global memory."""

    shape: tuple[int | None, ...]
    dtype: str


@dataclass(frozen=True)
class Operand:
    """One operand of an op; `optional` ones may be left out of the text."""

    name: str
    kind: Kind = Kind.TILE
    role: Role = Role.READ
    optional: bool = False
    apart: bool = False
    """Spelt with its own type, behind the types of the others: `ins(%a : A, %x : X)`."""
    keyword: str | None = None
    """Spelt behind the others under this word: `ins(%a : A fp %x : X)`."""
    space: Space | None = None
    """Where it must be for this row to be meant, of rows that share a name."""
    since: Version = OLDEST
    """The first version of the assembler that has it."""
    needed_before: Version = OLDEST
    """Versions before this one do not know that it is optional."""

    def takes(self, value: "Value") -> bool:
        """Whether `value` can be this operand."""
        return self.kind.takes(value) and (self.space is None or getattr(value, "space", None) is self.space)

    @property
    def in_memory(self) -> bool:
        return self.kind in (Kind.TILE, Kind.VIEW)


@dataclass(frozen=True)
class Form:
    """One legal combination of spaces and element types, and the pipes that run it.

    `spaces` names every tile operand; optional tiles that are absent do not count, those in `needs` have to be there.
    `dtypes` lists, per target name, the allowed element types of the operands in `typed`, in that order.
    Several pipes mean that sources disagree on which one runs it: a fence has to cover each.
    """

    spaces: Mapping[str, Space]
    pipes: tuple[Pipe, ...]
    typed: tuple[str, ...]
    dtypes: Mapping[str, frozenset[tuple[str, ...]]]
    needs: tuple[str, ...] = ()
    since: Version = OLDEST

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(self.dtypes)


Value = TileSpec | ViewSpec | str
"""What is known of an operand before running: its geometry, or the type name of a scalar."""


@dataclass(frozen=True)
class Use:
    """One use of an op: operands by name (absent optionals left out), attributes as plain words, the target."""

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

    def view(self, name: str) -> ViewSpec:
        value = self.operands[name]
        assert isinstance(value, ViewSpec), name
        return value

    def attr(self, name: str) -> str | None:
        """The attribute as it is written, or its default."""
        if name in self.attrs:
            return self.attrs[name]
        return next((attr.default for attr in self.row.attrs if attr.name == name), None)


@dataclass(frozen=True)
class Request:
    """What the source says of a result beyond its inputs: `load` and `extract` name a shape, `cast` an element type."""

    shape: tuple[int, int] | None = None
    valid: tuple[int | None, int | None] | None = None
    dtype: str | None = None
    space: Space | None = None


NO_REQUEST = Request()


class TableError(Exception):
    """A use that the table does not allow. `kind` is the slug of the rule, `operand` the offender's name if one is."""

    def __init__(self, message: str, kind: str, operand: str | None = None):
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.operand = operand


Check = Callable[[Use], None]
"""A rule over shapes, layouts or attributes. Raises TableError."""

Deduce = Callable[[Use, Request], TileSpec]
"""The tile that an op yields, in its canonical layout, from the inputs (no output in `use.operands` yet)."""

Window = Callable[[Use, str], tuple[int, int] | None]
"""The bytes [start, stop) of an operand that the op touches, or None for the whole tile."""

Scratch = Callable[[Use], TileSpec | None]
"""The scratch tile that a use wants (its output is in `use.operands`), None where it wants none."""

Hidden = Callable[[Use], tuple[int, int] | None]
"""The bytes [start, stop) of UB that the library writes and reads inside a use of the op, None where it needs none."""

Compute = Callable[[Mapping[str, Any], Mapping[str, str]], Any]
"""Numpy semantics: operands by name (tiles as arrays of their valid extent, numbers as they are) and attributes as
plain words, defaults filled in, to the array that the output tile holds; a tuple of arrays where there are several
outputs, scratch and absent ones left out. Of a tile x the attributes `x.cols` (physical) and `x.pad` may be given, for
ops that depend on them. Each output is in the operands too, with what it held before: only an UPDATE looks at more than
its shape and element type. The caller converts to the output's element type and cuts to its extent."""


def no_check(use: Use) -> None:
    """The rule of an op whose forms say everything."""


@dataclass(frozen=True)
class OldSpelling:
    """What versions before `before` call an op where it is used in the way that `when` tells."""

    mnemonic: str
    before: Version
    order: tuple[str, ...]
    """The inputs as they are spelt, in one go."""
    when: Callable[[Use], bool] | None = None
    """Absent where it is only read: today's spelling does for all versions."""
    without: frozenset[str] = frozenset()
    """Attributes that it cannot have."""


def has(name: str) -> Callable[[Use], bool]:
    """Whether the optional operand is there."""
    return lambda use: name in use.operands


@dataclass(frozen=True)
class OpRow:
    """One tile op.

    `mnemonic` is its name in `pto`, `dsl` its name in pypto (`pl.tile.<dsl>`) and, with `_into`, in `ptobuf`.
    Rows that share a mnemonic are told apart by what their operands are.
    """

    mnemonic: str
    dsl: str
    ins: tuple[Operand, ...]
    out: Operand
    forms: tuple[Form, ...]
    check: Check = no_check
    attrs: tuple[Attr, ...] = ()
    """Attributes that the op may carry, in the order in which they are printed."""
    inner_attrs: bool = False
    """The attribute dictionary is printed inside `ins(...)`, before the colon (tcmp, tcvt)."""
    tail_attr: str | None = None
    """A string attribute that is printed behind the types of `ins(...)`, after a comma (tgather by a mask)."""
    in_place: frozenset[str] = frozenset()
    """The inputs whose bytes the output may share."""
    accumulates: str | None = None
    """The input that is the output itself; the into form leaves it out."""
    deduce: Deduce | None = None
    """Absent where the output is global memory."""
    scratch: Scratch | None = None
    """Absent where the op has no scratch operand `tmp`."""
    scratch_optional: bool = False
    """The library does without, in another way (a2a3 row broadcasts)."""
    scratch_since: Version = OLDEST
    """Versions before this one take it without scratch at given addresses, and the library does without then."""
    hidden: Hidden | None = None
    """Absent where the library works in the operands alone."""
    window: Window | None = None
    """Absent where every operand is touched as a whole."""
    more_outs: tuple[Operand, ...] = ()
    """Outputs beside the main one."""
    whole: frozenset[str] = frozenset()
    """Operands that `compute` takes in their physical extent, because the op counts elements in it."""
    internal_flags: frozenset[tuple[Pipe, Pipe, int]] = frozenset()
    """Flags (source, destination, id) that the library raises inside the op: none may be pending around it."""
    refused: Mapping[str, str] = field(default_factory=dict[str, str])
    """Operands that the assembler takes and the hardware's library does not, with what to say."""
    generic: tuple[str, ...] = ()
    """The operands in the order of the assembler's generic form, where that is not `ins` and then `outs`."""
    since: Version = OLDEST
    old: tuple[OldSpelling, ...] = ()

    @property
    def compute(self) -> Compute:
        """The op in numpy. Kept apart, by the row's name, so that only who runs programs loads numpy."""
        from pto_buf.dialect.table.semantics import COMPUTE

        return COMPUTE[self.dsl]

    @property
    def operands(self) -> tuple[Operand, ...]:
        return (*self.ins, *self.outs)

    @cached_property
    def outs(self) -> tuple[Operand, ...]:
        return (self.out, *self.more_outs)

    @cached_property
    def into_ins(self) -> tuple[Operand, ...]:
        """The inputs that the `ptobuf` form spells."""
        return tuple(operand for operand in self.ins if operand.name != self.accumulates)

    @property
    def into_name(self) -> str:
        """The name of the `ptobuf` form: pypto's `and_` is `and_into`."""
        return f"{self.dsl.rstrip('_')}_into"

    def result(
        self,
        operands: Mapping[str, Value],
        target: Target,
        request: Request = NO_REQUEST,
        attrs: Mapping[str, str] | None = None,
    ) -> TileSpec:
        """The tile that the op yields for these inputs, in the layout its space wants. Raises TableError."""
        if self.deduce is None:
            raise TableError(f"'{self.mnemonic}' yields no tile", "unsupported-op")
        return self.deduce(Use(self, operands, attrs or {}, target), request)

    def extent(self, use: Use, name: str) -> tuple[int, int]:
        """The bytes [start, stop) of tile operand `name` that the op touches, counted from the tile's start."""
        window = self.window(use, name) if self.window is not None else None
        return window if window is not None else (0, use.tile(name).footprint)

    def form(self, use: Use) -> Form:
        """The form that covers `use`, its rules checked too. Raises TableError."""
        for name, why in self.refused.items():
            if name in use.operands:
                raise TableError(f"'{self.mnemonic}': {why}", "unsupported-op", name)
        tiles = {name: value for name, value in use.operands.items() if isinstance(value, TileSpec)}
        at_target = [form for form in self.forms if use.target.name in form.targets]
        if not at_target:
            raise TableError(f"'{self.mnemonic}' does not exist on {use.target.name}", "unsupported-op")
        in_spaces = [form for form in at_target if self._fits(form, use, tiles)]
        if not in_spaces:
            raise self._space_error(tiles, at_target)
        for form in in_spaces:
            if self._typed(form, use) in form.dtypes[use.target.name]:
                self.check(use)
                return form
        raise self._dtype_error(in_spaces, use)

    def _fits(self, form: Form, use: Use, tiles: Mapping[str, TileSpec]) -> bool:
        """Whether the tiles are where the form has them and the optional operands are those that it knows."""
        return (
            all(form.spaces.get(name) is tile.space for name, tile in tiles.items())
            and all(name in use.operands for name in form.needs)
            and all(
                name in form.needs or name in form.typed or not isinstance(use.operands[name], str)
                for name in self._optional_names
                if name in use.operands
            )
        )

    @property
    def _optional_names(self) -> tuple[str, ...]:
        return tuple(operand.name for operand in self.ins if operand.optional)

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
        paths = dict.fromkeys(", ".join(f"{name} in {space}" for name, space in form.spaces.items()) for form in forms)
        return TableError(f"'{self.mnemonic}': no path with {found}; there is: {'; '.join(paths)}", "memory-space")

    def _dtype_error(self, forms: Sequence[Form], use: Use) -> TableError:
        """Names the operand that alone is wrong, or else the whole combination."""
        typed = [name for name in forms[0].typed if name in use.operands]
        found = [_dtype(use.operands[name]) for name in typed]
        known = sorted({entry for form in forms for entry in form.dtypes[use.target.name]})
        alone = {
            name: list(dict.fromkeys(entry[at] for entry in known if _differ_at(entry, found, at)))
            for at, name in enumerate(typed)
        }
        wrong = [name for name, others in alone.items() if others]
        shown = ", ".join(f"{name} {dtype}" for name, dtype in zip(typed, found, strict=True))
        if len(wrong) == 1:
            (name,) = wrong
            words = f"{name} is {_dtype(use.operands[name])}, must be {' or '.join(alone[name])} on {use.target.name}"
            return TableError(f"'{self.mnemonic}': {words}, in {shown}", "shape-or-dtype", name)
        return TableError(
            f"'{self.mnemonic}': element types {shown} do not go together on {use.target.name}; "
            f"allowed for {' '.join(forms[0].typed)}: {', '.join(' '.join(entry) for entry in known)}",
            "shape-or-dtype",
        )


def _differ_at(entry: Sequence[str], found: Sequence[str], at: int) -> bool:
    """Whether the types are alike but for this one."""
    if len(entry) != len(found):
        return False
    return [position for position, pair in enumerate(zip(entry, found, strict=True)) if len(set(pair)) == 2] == [at]


def _dtype(value: Value) -> str:
    return value if isinstance(value, str) else value.dtype
