"""What a name of the user's kernel can stand for while it is read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias, cast

from xdsl.ir import SSAValue

from pto_buf.dialect.ptobuf import SlotSelectOp
from pto_buf.dialect.types import tile_of
from pto_buf.errors import Place
from pto_buf.frontend.names import MemRefDecl
from pto_buf.tile import TileSpec

if TYPE_CHECKING:
    from pto_buf.frontend.buffers.placement import OwnedSet


@dataclass(frozen=True)
class Static:
    """Known while reading: a number, a truth value, text, None, an element type, a memory space, a name of `pl`."""

    value: object


@dataclass(frozen=True)
class Scalar:
    """A number known only at run time. `lo` and `hi` bound an integer (both included) where a bound is known."""

    ssa: SSAValue
    dtype: str
    lo: int | None = None
    hi: int | None = None


Number: TypeAlias = Static | Scalar


@dataclass(frozen=True)
class Tensor:
    """A tensor in global memory; `shape` holds ints and run-time extents."""

    name: str
    view: SSAValue
    shape: tuple[Number, ...]
    dtype: str
    written: bool
    """Declared `pl.Out` or `pl.InOut`."""


@dataclass(eq=False)
class SlotSet:
    """A set of the user's, made by `pl.create_tile_buffers` or `pl.MemRef(slots=N)`."""

    name: str
    count: int
    tile: TileSpec
    ssa: SSAValue
    place: Place


@dataclass(frozen=True)
class Slot:
    """One slot of the user's."""

    slots: SlotSet
    index: Number
    ssa: SSAValue


@dataclass(frozen=True)
class Tile:
    """A tile: `ssa` is the value of the lease that an op began, or the slot itself for "whatever it holds".

    `slot` is where it lies. Exactly one of `home` (the user's slot) and `owned` (a set of ours) is given.
    `valid` holds the run-time extents, one for each unknown one of the type. `folded` holds all extents of the user's
    where several dimensions are folded into the rows.
    """

    ssa: SSAValue
    slot: SSAValue
    home: Slot | None
    owned: "OwnedSet | None"
    valid: tuple[SSAValue, ...] = ()
    place: Place | None = None
    folded: tuple[int, ...] = ()

    @property
    def spec(self) -> TileSpec:
        spec = tile_of(self.ssa.type)
        assert spec is not None
        return spec

    @property
    def held(self) -> TileSpec:
        """What its slot is seen as: `spec` where the op that wrote it filled all of it."""
        spec = tile_of(self.slot.type)
        assert spec is not None
        return spec

    @property
    def select(self) -> SlotSelectOp:
        """The op that selected its slot."""
        return cast(SlotSelectOp, self.slot.owner)


@dataclass(frozen=True)
class Window:
    """A window of a tile in Mat, which the op that moves it reads: nothing there copies it."""

    tile: Tile
    row: Number
    col: Number
    shape: tuple[int, int]
    place: Place


@dataclass(frozen=True)
class Tuple:
    """A tuple or list of values that are not all static."""

    items: "tuple[Value, ...]"


@dataclass(frozen=True)
class Poison:
    """What an erroneous statement would have bound: uses of it say nothing more."""


@dataclass(frozen=True)
class Unbound:
    """A name whose value does not survive the loop or branch that bound it."""

    place: Place
    why: str
    lever: str | None = None


@dataclass(frozen=True)
class Nothing:
    """The value of a call that yields none."""

    what: str


Value: TypeAlias = Static | Scalar | Tensor | SlotSet | Slot | Tile | Window | Tuple | Poison | Unbound | Nothing


class PoisonedError(Exception):
    """A statement uses what an earlier error would have bound; it is skipped without a word."""


_KINDS: Mapping[type[object], str] = {
    Scalar: "a scalar",
    Tensor: "a tensor in global memory",
    SlotSet: "a slot set",
    Slot: "a slot",
    Tile: "a tile",
    Window: "a window of a tile in Mat",
    Tuple: "a tuple",
}


def describe(value: Value) -> str:
    """What a value is, in the words of a message."""
    if isinstance(value, Static) and isinstance(value.value, MemRefDecl):
        return "a declaration of slots (pl.MemRef)"
    if isinstance(value, Static):
        return f"the constant {value.value!r}" if isinstance(value.value, (int, float, str)) else "a constant"
    if isinstance(value, Nothing):
        return f"nothing ({value.what} yields no value)"
    return _KINDS.get(type(value), "unknown")


@dataclass
class Scope:
    """The names of one kernel and what they stand for now."""

    bindings: dict[str, Value] = field(default_factory=dict[str, Value])

    def copy(self) -> "Scope":
        return Scope(dict(self.bindings))
