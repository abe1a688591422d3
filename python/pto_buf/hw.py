"""Pipes, memory spaces and targets of Ascend NPUs: plain facts, no IR.

Sizes are bytes. Sources: the vendor's platform files and PTO libraries as collected for the project;
the UB figures leave the 8 KiB free that library code may use as scratch (a2a3) or that the runtime takes (a5).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Space(StrEnum):
    """A memory space, spelt as the `pto` dialect spells it."""

    GM = "gm"
    MAT = "mat"
    LEFT = "left"
    RIGHT = "right"
    ACC = "acc"
    VEC = "vec"
    BIAS = "bias"
    SCALING = "scaling"

    @property
    def buffer(self) -> str:
        """The hardware's own name of the buffer, as people on this hardware say it."""
        return _BUFFER_NAMES[self]


_BUFFER_NAMES: Mapping[Space, str] = {
    Space.GM: "GM",
    Space.MAT: "L1",
    Space.LEFT: "L0A",
    Space.RIGHT: "L0B",
    Space.ACC: "L0C",
    Space.VEC: "UB",
    Space.BIAS: "BT",
    Space.SCALING: "FB",
}


class Pipe(StrEnum):
    """An in-order instruction queue of one core. `ALL` only names the barrier over every pipe."""

    S = "S"
    MTE2 = "MTE2"
    MTE1 = "MTE1"
    M = "M"
    V = "V"
    FIX = "FIX"
    MTE3 = "MTE3"
    ALL = "ALL"

    @property
    def pto(self) -> str:
        return f"PIPE_{self}"


class Core(StrEnum):
    """The kind of core that a kernel or a section of it runs on."""

    CUBE = "cube"
    VECTOR = "vector"


EVENT_IDS = 8
"""Event ids for each ordered pair of pipes."""

BUFFER_IDS = 32
"""Buffer locks of one a5 core."""

CORE_SIGNALS: Mapping[str, int] = {"a2a3": 16, "a5": 32}
"""Signals between cores, by target name; on a5 the upper 16 are those of the second vector core."""

MAX_SLOTS = 16
"""Largest number of slots in one set."""


@dataclass(frozen=True)
class Target:
    """What a chip family has: `name` is ours and pypto's, `pto_arch` is the assembler's."""

    name: str
    pto_arch: str
    capacity: Mapping[Space, int]
    """Usable bytes of each space."""
    alignment: Mapping[Space, int]
    """Every slot starts at a multiple of this, and the slot stride is rounded up to it."""
    physical: Mapping[Space, int]
    """Bytes that exist, those that others use included."""
    ordered_pipes: frozenset[Pipe]
    """Pipes on which a dependent operation needs no barrier behind the one it depends on.

    S on both. On a5 V, whose own order the assembler relies on, and M: hand-written a5 kernels have no barrier between
    accumulations, and of the assembler's two fence inserters the solver leaves both pipes out on a5; the other one has
    a barrier on M.
    """
    reserved_ids: frozenset[tuple[Pipe, Pipe, int]] = frozenset()
    """Flags (source, destination, id) that the target takes for itself and no fence may use."""

    def address_step(self, space: Space) -> int:
        """What the assembler wants every constant address to be a multiple of, in bytes."""
        return 512 if space in (Space.LEFT, Space.RIGHT, Space.ACC) else 32

    def stride(self, space: Space, footprint: int) -> int:
        """Distance in bytes of two neighbouring slots of `footprint` bytes each."""
        alignment = self.alignment[space]
        return -(-footprint // alignment) * alignment


_KIB = 1024

_ALIGNMENT: Mapping[Space, int] = {
    Space.MAT: 32,
    Space.LEFT: 512,
    Space.RIGHT: 512,
    Space.ACC: 1024,
    Space.VEC: 32,
    Space.BIAS: 64,
    Space.SCALING: 128,
}

A2A3 = Target(
    name="a2a3",
    pto_arch="a3",
    capacity={
        Space.MAT: 512 * _KIB,
        Space.LEFT: 64 * _KIB,
        Space.RIGHT: 64 * _KIB,
        Space.ACC: 128 * _KIB,
        Space.VEC: 184 * _KIB,
        Space.BIAS: 1 * _KIB,
        Space.SCALING: 2 * _KIB,
    },
    alignment=_ALIGNMENT,
    physical={
        Space.MAT: 512 * _KIB,
        Space.LEFT: 64 * _KIB,
        Space.RIGHT: 64 * _KIB,
        Space.ACC: 128 * _KIB,
        Space.VEC: 192 * _KIB,
        Space.BIAS: 1 * _KIB,
        Space.SCALING: 2 * _KIB,
    },
    ordered_pipes=frozenset({Pipe.S}),
)

A5 = Target(
    name="a5",
    pto_arch="a5",
    capacity={
        Space.MAT: 512 * _KIB,
        Space.LEFT: 64 * _KIB,
        Space.RIGHT: 64 * _KIB,
        Space.ACC: 256 * _KIB,
        Space.VEC: 240 * _KIB,
        Space.BIAS: 4 * _KIB,
        Space.SCALING: 4 * _KIB,
    },
    alignment=_ALIGNMENT,
    physical={
        Space.MAT: 512 * _KIB,
        Space.LEFT: 64 * _KIB,
        Space.RIGHT: 64 * _KIB,
        Space.ACC: 256 * _KIB,
        Space.VEC: 248 * _KIB,
        Space.BIAS: 4 * _KIB,
        Space.SCALING: 4 * _KIB,
    },
    ordered_pipes=frozenset({Pipe.S, Pipe.V, Pipe.M}),
)

TARGETS: Mapping[str, Target] = {target.name: target for target in (A2A3, A5)}
_BY_ARCH: Mapping[str, Target] = {"a2": A2A3, "a3": A2A3, "a2a3": A2A3, "a5": A5}


def target_of_arch(arch: str) -> Target:
    """The target that a module's `pto.target_arch` names. Raises KeyError for an unknown name."""
    return _BY_ARCH[arch.lower()]
