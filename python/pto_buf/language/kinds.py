"""Element types, memory spaces and the other enumerations of the DSL."""

from dataclasses import dataclass
from enum import Enum, auto

__all__ = [
    "BF16",
    "BOOL",
    "DN",
    "FP4",
    "FP8E4M3FN",
    "FP8E5M2",
    "FP8E8M0",
    "FP16",
    "FP32",
    "HF8",
    "INDEX",
    "INT8",
    "INT16",
    "INT32",
    "INT64",
    "ND",
    "NZ",
    "UINT8",
    "UINT16",
    "UINT32",
    "UINT64",
    "AtomicType",
    "DataType",
    "FunctionType",
    "Level",
    "MaskPattern",
    "Mem",
    "MemorySpace",
    "PadValue",
    "PipeType",
    "TensorLayout",
]


@dataclass(frozen=True)
class DataType:
    """An element type of a tensor, tile or scalar."""

    name: str

    def __repr__(self) -> str:
        return f"pl.{self.name}"


BOOL = DataType("BOOL")
INT8 = DataType("INT8")
INT16 = DataType("INT16")
INT32 = DataType("INT32")
INT64 = DataType("INT64")
UINT8 = DataType("UINT8")
UINT16 = DataType("UINT16")
UINT32 = DataType("UINT32")
UINT64 = DataType("UINT64")
FP16 = DataType("FP16")
BF16 = DataType("BF16")
FP32 = DataType("FP32")
FP4 = DataType("FP4")
FP8E4M3FN = DataType("FP8E4M3FN")
FP8E5M2 = DataType("FP8E5M2")
FP8E8M0 = DataType("FP8E8M0")
HF8 = DataType("HF8")
INDEX = DataType("INDEX")
"""The type of loop counters, offsets and slot indices."""


class MemorySpace(Enum):
    """Where a tile lies. Capacities on a2a3 and a5, in KiB."""

    DDR = "gm"
    """Global memory: tensors, never tiles."""
    Vec = "vec"
    """The vector unit's buffer (UB): 184, 240."""
    Mat = "mat"
    """L1, which feeds the matrix unit: 512, 512."""
    Left = "left"
    """L0A, the left operands of products: 64, 64."""
    Right = "right"
    """L0B, the right operands of products: 64, 64."""
    Acc = "acc"
    """L0C, the accumulators: 128, 256."""
    Bias = "bias"
    """The bias table: 1, 4."""
    LeftScale = "left_scale"
    """Scales of left operands: a5 only, 4."""
    RightScale = "right_scale"
    """Scales of right operands: a5 only, 4."""


Mem = MemorySpace


class FunctionType(Enum):
    """What a function of a program is for. Kernels are InCore, AIC and AIV."""

    Opaque = auto()
    Orchestration = auto()
    InCore = auto()
    AIC = auto()
    """Runs on the cube core."""
    AIV = auto()
    """Runs on the vector core."""
    Group = auto()
    Spmd = auto()
    Inline = auto()
    Graph = auto()


class Level(Enum):
    """Where a scope of `pl.at` runs."""

    HOST = auto()
    CHIP = auto()
    CORE_GROUP = auto()
    AIC = auto()
    AIV = auto()


class AtomicType(Enum):
    """What a store does with what is there already."""

    None_ = auto()
    Add = auto()


class PipeType(Enum):
    """An in-order queue of instructions of one core."""

    S = auto()
    """Scalar instructions."""
    MTE1 = auto()
    """L1 to L0."""
    MTE2 = auto()
    """Global memory to L1 or UB."""
    MTE3 = auto()
    """UB or L1 to global memory."""
    M = auto()
    """The matrix unit."""
    V = auto()
    """The vector unit."""
    FIX = auto()
    """Out of L0C."""
    ALL = auto()


class PadValue(Enum):
    """What `fillpad` fills with."""

    null = auto()
    zero = auto()
    max = auto()
    min = auto()


class MaskPattern(Enum):
    """The elements that `gather_mask` picks of each group, the last digit for the first element."""

    P0101 = auto()
    P1010 = auto()
    P0001 = auto()
    P0010 = auto()
    P0100 = auto()
    P1000 = auto()
    P1111 = auto()


class TensorLayout(Enum):
    """How a tensor lies in global memory."""

    ND = auto()
    """Row-major."""
    DN = auto()
    """Column-major."""
    NZ = auto()
    """Fractal."""


ND = TensorLayout.ND
DN = TensorLayout.DN
NZ = TensorLayout.NZ
