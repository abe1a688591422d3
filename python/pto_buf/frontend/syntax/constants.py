"""Folding of expressions whose parts are all known while reading: module constants, annotations, counts.

Nothing of the user's runs: the syntax tree is evaluated here, with a handful of operators and harmless built-ins.
"""

import ast
from collections.abc import Callable, Mapping, Sequence
from types import NoneType
from typing import Any, cast

from pto_buf.frontend.names import DYNAMIC_OPS, Applied, DynExpr, DynVar, MemRefDecl, Record, Symbol, member


class NotConstantError(Exception):
    """The expression has a part that is not known while reading; `node` is that part."""

    def __init__(self, node: ast.AST, why: str):
        super().__init__(why)
        self.node = node
        self.why = why


class Known(ast.expr):
    """A constant that stands where an expression would: the source says it in another place."""

    def __init__(self, value: object):
        super().__init__()
        self.value = value


Lookup = Callable[[str], object]
"""What a name stands for. Raises KeyError for a name that is not constant."""

_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], object]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
    ast.LShift: lambda a, b: a << b,
    ast.RShift: lambda a, b: a >> b,
    ast.BitAnd: lambda a, b: a & b,
    ast.BitOr: lambda a, b: a | b,
    ast.BitXor: lambda a, b: a ^ b,
    ast.Pow: lambda a, b: a**b,
}

_UNARY: Mapping[type[ast.unaryop], Callable[[Any], object]] = {
    ast.USub: lambda a: -a,
    ast.UAdd: lambda a: +a,
    ast.Invert: lambda a: ~a,
    ast.Not: lambda a: not a,
}

_COMPARE: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: lambda a, b: a == b,
    ast.NotEq: lambda a, b: a != b,
    ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b,
    ast.Gt: lambda a, b: a > b,
    ast.GtE: lambda a, b: a >= b,
}

_BUILTINS: Mapping[str, Callable[..., object]] = {
    name.__name__: name for name in (len, max, min, abs, sum, round, int, float, bool, list, tuple)
}

_MAX_BITS = 1 << 12
"""Widest number that arithmetic may make while reading."""

_MAX_ITEMS = 1 << 16
"""Longest text, list or tuple that `+` may make while reading."""


def binary(op: ast.operator, left: object, right: object) -> object:
    """`left op right`. Raises ValueError or TypeError in words fit for a message."""
    if isinstance(left, (DynVar, DynExpr)) or isinstance(right, (DynVar, DynExpr)):
        return _dynamic(op, left, right)
    if isinstance(op, (ast.LShift, ast.Pow)) and isinstance(right, int):
        bits = max(1, left.bit_length()) if isinstance(left, int) else 1
        if right * (bits if isinstance(op, ast.Pow) else 1) > _MAX_BITS:
            raise ValueError(f"the result has more than {_MAX_BITS} bits")
    if isinstance(op, ast.Mult):
        if isinstance(left, (str, list, tuple)) or isinstance(right, (str, list, tuple)):
            raise TypeError("a text or list cannot be repeated here")
        if isinstance(left, int) and isinstance(right, int) and left.bit_length() + right.bit_length() > _MAX_BITS:
            raise ValueError(f"the result has more than {_MAX_BITS} bits")
    if _length(left) + _length(right) > _MAX_ITEMS:
        raise ValueError(f"the result has more than {_MAX_ITEMS} items")
    if type(op) not in _BINARY:
        raise TypeError(f"there is no operator {type(op).__name__}")
    try:
        return _BINARY[type(op)](left, right)
    except ZeroDivisionError:
        raise ValueError("division by zero") from None


def _dynamic(op: ast.operator, left: object, right: object) -> DynExpr:
    """An extent worked out at run time. Raises TypeError or ValueError."""
    for side in (left, right):
        if isinstance(side, bool) or not isinstance(side, (int, DynVar, DynExpr)):
            raise TypeError(f"an extent is worked out of integers and pl.dynamic, found {side!r}")
    if not isinstance(op, DYNAMIC_OPS):
        raise TypeError(f"there is no operator {type(op).__name__} for extents known at run time")
    if isinstance(op, (ast.FloorDiv, ast.Mod)) and not (isinstance(right, int) and right > 0):
        raise ValueError("an extent known at run time is divided by a positive constant only")
    if isinstance(op, (ast.FloorDiv, ast.Mod)) and isinstance(left, DynExpr) and left.subtracts:
        raise ValueError("an extent known at run time from which something is taken is not divided")
    return DynExpr(type(op), cast("DynVar | DynExpr | int", left), cast("DynVar | DynExpr | int", right))


def _length(value: object) -> int:
    return len(cast(Sequence[object], value)) if isinstance(value, (str, list, tuple)) else 0


def unary(op: ast.unaryop, value: object) -> object:
    """`op value`. Raises TypeError."""
    return _UNARY[type(op)](value)


def compare(op: ast.cmpop, left: object, right: object) -> bool:
    """`left op right`. Raises TypeError for `is`, `in` and things that have no order."""
    if type(op) not in _COMPARE:
        raise TypeError(f"there is no comparison '{type(op).__name__}'")
    return bool(_COMPARE[type(op)](left, right))


def attribute(value: object, name: str) -> object:
    """`value.name` for a part of the `pl` namespace or an object of constants. Raises TypeError for everything else."""
    if isinstance(value, (Record, Applied)):
        try:
            return value.get(name)
        except KeyError:
            raise TypeError(f"'{name}' of {value.what} is not known while reading") from None
    if not isinstance(value, Symbol):
        raise TypeError(f"a constant has no attribute '{name}'")
    return member(f"{value.path}.{name}" if value.path else name)


def evaluate(node: ast.expr, lookup: Lookup) -> object:
    """The value of a constant expression. Raises NotConstantError."""
    try:
        return _evaluate(node, lookup)
    except (TypeError, ValueError, OverflowError, IndexError) as err:
        raise NotConstantError(node, str(err)) from None
    except RecursionError:
        raise NotConstantError(node, "its parts stand too deep inside one another") from None


def _evaluate(node: ast.expr, lookup: Lookup) -> object:
    match node:
        case ast.Constant() | Known():
            return node.value
        case ast.Name():
            try:
                return lookup(node.id)
            except KeyError:
                raise NotConstantError(node, f"'{node.id}' is not known while reading") from None
        case ast.Attribute():
            return attribute(_evaluate(node.value, lookup), node.attr)
        case ast.BinOp():
            return binary(node.op, _evaluate(node.left, lookup), _evaluate(node.right, lookup))
        case ast.UnaryOp():
            return unary(node.op, _evaluate(node.operand, lookup))
        case ast.Compare() if len(node.ops) == 1:
            return compare(node.ops[0], _evaluate(node.left, lookup), _evaluate(node.comparators[0], lookup))
        case ast.BoolOp():
            values = [bool(_evaluate(value, lookup)) for value in node.values]
            return all(values) if isinstance(node.op, ast.And) else any(values)
        case ast.IfExp():
            return _evaluate(node.body if _evaluate(node.test, lookup) else node.orelse, lookup)
        case ast.Tuple():
            return tuple(_evaluate(item, lookup) for item in node.elts)
        case ast.List():
            return [_evaluate(item, lookup) for item in node.elts]
        case ast.Dict():
            return _dictionary(node, lookup)
        case ast.Subscript():
            return _item(_evaluate(node.value, lookup), _evaluate(node.slice, lookup))
        case ast.Call():
            return _call(node, lookup)
        case _:
            raise NotConstantError(node, f"{type(node).__name__} is not a constant expression")


def _dictionary(node: ast.Dict, lookup: Lookup) -> object:
    found: dict[object, object] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            raise NotConstantError(value, "'**' is not evaluated while reading")
        found[_evaluate(key, lookup)] = _evaluate(value, lookup)
    return found


def _item(value: object, index: object) -> object:
    if isinstance(value, (list, tuple)) and isinstance(index, int):
        return cast(Sequence[object], value)[index]
    if isinstance(value, dict):
        try:
            return cast(Mapping[object, object], value)[index]
        except KeyError:
            raise TypeError(f"the dictionary has no key {index!r}") from None
    raise TypeError("only a constant tuple, list or dictionary can be indexed")


def _call(node: ast.Call, lookup: Lookup) -> object:
    arguments = [_evaluate(argument, lookup) for argument in node.args]
    if isinstance(node.func, ast.Name) and not node.keywords:
        try:
            lookup(node.func.id)
        except KeyError:
            if node.func.id in _BUILTINS:
                return call_builtin(node.func.id, arguments)
    callee = _evaluate(node.func, lookup)
    if isinstance(callee, Applied):
        if any(keyword.arg is None for keyword in node.keywords):
            raise NotConstantError(node, "'**' is not evaluated while reading")
        keywords = {str(keyword.arg): _evaluate(keyword.value, lookup) for keyword in node.keywords}
        return callee.call(arguments, keywords)
    if callee == Symbol("dynamic") and len(arguments) == 1 and isinstance(arguments[0], str):
        return DynVar(arguments[0])
    if callee == Symbol("const") and len(arguments) == 2 and isinstance(arguments[0], (int, float)):
        return arguments[0]
    if callee == Symbol("MemRef"):
        return _memref(node, arguments, lookup)
    raise NotConstantError(node, "the call is not evaluated while reading")


def _memref(node: ast.Call, arguments: Sequence[object], lookup: Lookup) -> MemRefDecl:
    """`pl.MemRef("name", slots=2)`; both may be left out."""
    keywords = {keyword.arg: _evaluate(keyword.value, lookup) for keyword in node.keywords}
    name = arguments[0] if arguments else keywords.pop("name", None)
    slots = keywords.pop("slots", 1)
    if len(arguments) > 1 or keywords or not isinstance(name, (str, NoneType)):
        raise NotConstantError(node, 'pl.MemRef takes a name and slots=: pl.MemRef("ring", slots=2)')
    if not isinstance(slots, int) or isinstance(slots, bool):
        raise NotConstantError(node, "slots= of pl.MemRef is a constant integer")
    return MemRefDecl(name, slots)


def is_builtin(name: str) -> bool:
    """Whether the built-in function is evaluated while reading."""
    return name in _BUILTINS


def call_builtin(name: str, arguments: Sequence[object]) -> object:
    """`name(*arguments)` for a harmless built-in. Raises TypeError or ValueError."""
    return _BUILTINS[name](*arguments)
