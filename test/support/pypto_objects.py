"""Stand-ins for pypto's IR objects: the classes and fields that its stubs document, and nothing else.

Enumerations and element types answer as the compiled ones do: by `name`, by `to_string()`.
"""

import itertools
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

_IDS = itertools.count(1)


@dataclass(frozen=True)
class Span:
    filename: str
    begin_line: int
    begin_column: int


def at(line: int, column: int = 1) -> Span:
    return Span("user.py", line, column)


NOWHERE = at(1)


class MemorySpace(Enum):
    DDR = auto()
    Vec = auto()
    Mat = auto()
    Left = auto()
    Right = auto()
    Acc = auto()
    Bias = auto()


class FunctionType(Enum):
    Orchestration = auto()
    InCore = auto()
    Opaque = auto()
    AIC = auto()
    AIV = auto()
    Spmd = auto()


class ParamDirection(Enum):
    In = auto()
    Out = auto()
    InOut = auto()


class ForKind(Enum):
    Sequential = auto()
    Pipeline = auto()


@dataclass(frozen=True)
class DataType:
    word: str

    def to_string(self) -> str:
        return self.word


FP32, FP16, BF16 = DataType("fp32"), DataType("fp16"), DataType("bfloat16")
INT16, INT32, INT64 = DataType("int16"), DataType("int32"), DataType("int64")
INDEX, BOOL = DataType("index"), DataType("bool")


@dataclass
class ConstInt:
    value: int
    span: Span = NOWHERE
    dtype: DataType = INDEX


@dataclass
class ConstFloat:
    value: float
    span: Span = NOWHERE
    dtype: DataType = FP32


@dataclass
class ScalarType:
    dtype: DataType


@dataclass
class PtrType:
    """The type of an allocation."""


@dataclass
class _Shaped:
    shape: list[Any]
    dtype: DataType
    memref: Any = None

    def __post_init__(self):
        self.shape = [ConstInt(extent) if isinstance(extent, int) else extent for extent in self.shape]


@dataclass
class TensorType(_Shaped):
    tensor_view: Any = None


@dataclass
class TileType(_Shaped):
    memory_space: MemorySpace | None = None
    tile_view: Any = None


@dataclass(eq=False)
class Var:
    name_hint: str
    type: Any
    span: Span = NOWHERE
    unique_id: int = field(default_factory=lambda: next(_IDS))


@dataclass(eq=False)
class IterArg(Var):
    initValue: Any = None


@dataclass(eq=False)
class MemRef:
    base_: Var
    is_pinned_: bool
    slot_count_: int
    slot_index_: Any


@dataclass
class Op:
    name: str


@dataclass
class GlobalVar(Op):
    """Another function of the program."""


@dataclass
class Call:
    op: Op
    args: list[Any]
    kwargs: dict[str, Any]
    span: Span
    attrs: dict[str, Any] = field(default_factory=dict[str, Any])
    arg_directions: list[Any] = field(default_factory=list[Any])
    type: Any = None


@dataclass
class MakeTuple:
    elements: list[Any]
    span: Span = NOWHERE


@dataclass
class _Binary:
    left: Any
    right: Any
    span: Span = NOWHERE


class Mul(_Binary):
    pass


class FloorMod(_Binary):
    pass


class Add(_Binary):
    pass


class Eq(_Binary):
    pass


@dataclass
class Cast:
    operand: Any
    type: ScalarType
    span: Span = NOWHERE


@dataclass
class AssignStmt:
    var: Var
    value: Any
    span: Span


@dataclass
class EvalStmt:
    expr: Any
    span: Span


@dataclass
class SeqStmts:
    stmts: list[Any]


@dataclass
class YieldStmt:
    value: list[Any]
    span: Span


@dataclass
class ReturnStmt:
    value: list[Any]
    span: Span


@dataclass
class ForStmt:
    loop_var: Var
    start: Any
    stop: Any
    step: Any
    iter_args: list[IterArg]
    body: Any
    return_vars: list[Var]
    kind: ForKind
    attrs: dict[str, Any]
    span: Span


@dataclass
class IfStmt:
    condition: Any
    then_body: Any
    else_body: Any
    return_vars: list[Var]
    span: Span


@dataclass
class InCoreScopeStmt:
    name_hint: str
    body: Any
    span: Span


class SpmdScopeStmt(InCoreScopeStmt):
    pass


@dataclass
class InlineStmt:
    body: str
    span: Span


@dataclass
class Function:
    name: str
    func_type: FunctionType
    params: list[Var]
    param_directions: list[ParamDirection]
    body: Any
    span: Span


@dataclass
class Program:
    name: str
    functions: dict[str, Function]


def call(op: str, args: list[Any], line: int, **kwargs: Any) -> Call:
    return Call(Op(op), args, kwargs, at(line, 5))


def ints(*values: Any) -> MakeTuple:
    return MakeTuple([ConstInt(one) if isinstance(one, int) else one for one in values])
