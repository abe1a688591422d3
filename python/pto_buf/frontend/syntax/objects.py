"""pypto's IR objects, walked by their documented names: each kernel becomes the syntax tree of the DSL it stands for.

Nothing of pypto is imported: objects are told apart by the names of their classes. Every node has the place that its
object's span names, so mistakes and reports point into the user's Python file.
"""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pto_buf.errors import DiagnosticError, Place
from pto_buf.frontend.kinds import UNSUPPORTED
from pto_buf.frontend.names import DTYPES, DYNAMIC_OPS, SPACES, DynVar, MemRefDecl, Symbol
from pto_buf.frontend.syntax.constants import Known
from pto_buf.frontend.syntax.module import Function, Kind
from pto_buf.frontend.syntax.outline import as_function, outline

_KINDS = {"InCore": Kind.INCORE, "AIC": Kind.CUBE, "AIV": Kind.VECTOR, "Spmd": Kind.INCORE}

_BINARY: Mapping[str, type[ast.operator]] = {
    "Add": ast.Add,
    "Sub": ast.Sub,
    "Mul": ast.Mult,
    "FloorDiv": ast.FloorDiv,
    "FloorMod": ast.Mod,
    "FloatDiv": ast.Div,
    "BitAnd": ast.BitAnd,
    "BitOr": ast.BitOr,
    "BitXor": ast.BitXor,
    "Xor": ast.BitXor,
    "BitShiftLeft": ast.LShift,
    "BitShiftRight": ast.RShift,
}
_COMPARE: Mapping[str, type[ast.cmpop]] = {
    "Eq": ast.Eq,
    "Ne": ast.NotEq,
    "Lt": ast.Lt,
    "Le": ast.LtE,
    "Gt": ast.Gt,
    "Ge": ast.GtE,
}
_BY_KEYWORD: Mapping[str, tuple[int, tuple[str, ...]]] = {
    "full": (1, ("value",)),
    "reinterpret_view": (1, ("shape",)),
    "gather_row": (5, ("valid_shape",)),
}
"""Ops that have arguments in the IR which the DSL takes by keyword: behind how many, and their names."""

_LOOPS = {"Sequential": "range", "Parallel": "parallel", "Unroll": "unroll", "Pipeline": "pipeline"}
_DTYPE_WORDS = {"bfloat16": "BF16", "bool": "BOOL"}


def functions_of(program: Any, entry: str | None = None) -> dict[str, Function]:
    """The kernels of a pypto Program, by name; only `entry` where it is one of them.

    Raises DiagnosticError for what none of the DSL's forms says.
    """
    found: dict[str, Function] = {}
    functions = _functions(program)
    for function in [one for one in functions if one.name == entry] or functions:
        kind = _KINDS.get(_word(function.func_type))
        if kind is None:
            found.update(_scopes_of(function))
        walk = _Walk()
        node = walk.function(function) if kind is not None else None
        if kind is not None and node is not None and not walk.launches:
            found[str(function.name)] = Function(str(function.name), kind, node, False, {})
    return found


def _scopes_of(function: Any) -> dict[str, Function]:
    """The device scopes of orchestration that no pass has taken out yet."""
    try:
        outlined = outline(_Walk().function(function), {})
    except DiagnosticError:  # it holds more than the DSL has: what launches kernels is not our business
        return {}
    found: dict[str, Function] = {}
    for number, scope in enumerate(outlined.scopes, 1):
        hint = scope.hint if scope.hint and scope.hint.isidentifier() else f"{function.name}_{number}"
        node, hidden = as_function(scope, hint)
        key = f"{function.name}.{hint}"
        key = key if key not in found else f"{key}_{number}"
        found[key] = Function(key, Kind.INCORE, node, False, {}, hidden)
    return found


def _functions(program: Any) -> list[Any]:
    every: Any = program.functions
    return list(every.values() if hasattr(every, "values") else every)


def file_of(program: Any) -> str:
    """The file that the first function with a span comes from."""
    for function in _functions(program):
        name = getattr(getattr(function, "span", None), "filename", "")
        if name:
            return str(name)
    return "<pypto>"


def _word(member: Any) -> str:
    """The name of a member of an enumeration."""
    return str(getattr(member, "name", member)).rpartition(".")[2]


def _class(node: Any) -> str:
    return type(node).__name__


@dataclass
class _Walk:
    """Names each variable once, whatever hints they share."""

    _names: dict[object, str] = field(default_factory=dict[object, str])
    _taken: dict[str, int] = field(default_factory=dict[str, int])
    launches: bool = False
    """Whether the function launches others: what it does itself is orchestration."""

    def function(self, function: Any) -> ast.FunctionDef:
        """The function as a definition with full annotations."""
        parameters: list[ast.arg] = []
        for variable, direction in zip(function.params, function.param_directions, strict=False):
            annotation = self._type(variable.type, variable)
            if _word(direction) in ("Out", "InOut"):
                annotation = self._subscript("Out", [annotation], variable)
            parameters.append(self._at(ast.arg(self._name(variable), annotation), variable))
        body = self._statement(function.body, [])
        arguments = ast.arguments([], parameters, None, [], [], None, [])
        node = ast.FunctionDef(str(function.name), arguments, body or [ast.Pass()], [], None, None)
        return self._at(node, function)

    # --- statements ---

    def _statement(self, node: Any, yields: Sequence[Any]) -> list[ast.stmt]:
        """The statements that `node` stands for; `yields` are the variables that a yield in it binds."""
        match _class(node):
            case "SeqStmts":
                return [one for part in node.stmts for one in self._statement(part, yields)]
            case "AssignStmt":
                return [] if _class(node.var.type) == "PtrType" else [self._assign(node)]
            case "EvalStmt":
                return [self._at(ast.Expr(self._expression(node.expr)), node)]
            case "ForStmt":
                return [self._for(node)]
            case "WhileStmt":
                return [self._while(node)]
            case "IfStmt":
                then = self._statement(node.then_body, node.return_vars)
                other = [] if node.else_body is None else self._statement(node.else_body, node.return_vars)
                return [self._at(ast.If(self._expression(node.condition), then or [ast.Pass()], other), node)]
            case "YieldStmt":
                return self._yield(node, yields)
            case "ReturnStmt":
                values = [self._expression(one) for one in node.value]
                value = None if not values else values[0] if len(values) == 1 else self._at(ast.Tuple(values), node)
                return [self._at(ast.Return(value), node)]
            case "BreakStmt":
                return [self._at(ast.Break(), node)]
            case "ContinueStmt":
                return [self._at(ast.Continue(), node)]
            case "InCoreScopeStmt" | "SpmdScopeStmt":
                return [self._device_scope(node, yields)]
            case name if name.endswith("ScopeStmt"):
                return self._statement(node.body, yields)
            case name:
                raise _unsupported(node, f"the statement {name}")

    def _device_scope(self, node: Any, yields: Sequence[Any]) -> ast.stmt:
        words = [ast.keyword("level", self._pl("Level.CORE_GROUP", node))]
        if node.name_hint:
            words.append(ast.keyword("name_hint", self._at(ast.Constant(str(node.name_hint)), node)))
        call = self._at(ast.Call(self._pl("at", node), [], words), node)
        return self._at(ast.With([ast.withitem(call)], self._statement(node.body, yields) or [ast.Pass()]), node)

    def _assign(self, node: Any) -> ast.stmt:
        target = self._at(ast.Name(self._name(node.var), ast.Store()), node)
        value = self._expression(node.value)
        if _class(node.var.type) != "TileType":
            return self._at(ast.Assign([target], value), node)
        return self._at(ast.AnnAssign(target, self._type(node.var.type, node), value, 1), node)

    def _for(self, node: Any) -> ast.stmt:
        form = _LOOPS[_word(node.kind)]
        bounds = [self._expression(one) for one in (node.start, node.stop, node.step)]
        keywords = self._inits(node)
        if form == "pipeline":
            stage = dict(node.attrs).get("pipeline_stages", 2)
            keywords.append(ast.keyword("stage", self._at(ast.Constant(int(stage)), node)))
        call = self._at(ast.Call(self._pl(form, node), bounds, keywords), node)
        target: ast.expr = self._at(ast.Name(self._name(node.loop_var), ast.Store()), node)
        if node.iter_args:
            target = self._at(ast.Tuple([target, self._carried(node)]), node)
        return self._at(ast.For(target, call, self._statement(node.body, node.return_vars), []), node)

    def _while(self, node: Any) -> ast.stmt:
        call = self._at(ast.Call(self._pl("while_", node), [], self._inits(node)), node)
        condition = ast.Call(self._pl("cond", node), [self._expression(node.condition)], [])
        first = self._at(ast.Expr(self._at(condition, node)), node)
        body = [first, *self._statement(node.body, node.return_vars)]
        if not node.iter_args:
            return self._at(ast.While(self._expression(node.condition), body[1:], []), node)
        return self._at(ast.For(self._carried(node), call, body, []), node)

    def _carried(self, node: Any) -> ast.expr:
        names: list[ast.expr] = [self._at(ast.Name(self._name(one), ast.Store()), node) for one in node.iter_args]
        return self._at(ast.Tuple(names), node)

    def _inits(self, node: Any) -> list[ast.keyword]:
        if not node.iter_args:
            return []
        values = [self._expression(one.initValue) for one in node.iter_args]
        return [ast.keyword("init_values", self._at(ast.Tuple(values), node))]

    def _yield(self, node: Any, yields: Sequence[Any]) -> list[ast.stmt]:
        if not node.value:
            return []
        names: list[ast.expr] = [self._at(ast.Name(self._name(one), ast.Store()), node) for one in yields]
        func = self._pl("yield_", node)
        call = self._at(ast.Call(func, [self._expression(one) for one in node.value], []), node)
        target = names[0] if len(names) == 1 else self._at(ast.Tuple(names), node)
        return [self._at(ast.Assign([target], call), node)]

    # --- expressions ---

    def _expression(self, node: Any) -> ast.expr:
        name = _class(node)
        match name:
            case "Var" | "IterArg":
                return self._at(ast.Name(self._name(node), ast.Load()), node)
            case "ConstInt" | "ConstFloat" | "ConstBool":
                return self._at(ast.Constant(node.value), node)
            case "Call":
                return self._call(node)
            case "MakeTuple":
                return self._at(ast.List([self._expression(one) for one in node.elements]), node)
            case "TupleGetItemExpr":
                index = self._at(ast.Constant(int(node.index)), node)
                return self._at(ast.Subscript(self._expression(node.tuple), index), node)
            case "Min" | "Max":
                sides = [self._expression(node.left), self._expression(node.right)]
                return self._at(ast.Call(self._pl(name.lower(), node), sides, []), node)
            case "And" | "Or":
                sides = [self._expression(node.left), self._expression(node.right)]
                return self._at(ast.BoolOp(ast.And() if name == "And" else ast.Or(), sides), node)
            case "Neg" | "Not" | "BitNot":
                op = {"Neg": ast.USub, "Not": ast.Not, "BitNot": ast.Invert}[name]()
                return self._at(ast.UnaryOp(op, self._expression(node.operand)), node)
            case "Cast":
                dtype = self._at(Known(_dtype(node.type.dtype, node)), node)
                cast = self._pl("cast", node)
                return self._at(ast.Call(cast, [self._expression(node.operand), dtype], []), node)
            case _:
                pass
        if name in _BINARY:
            return self._at(ast.BinOp(self._expression(node.left), _BINARY[name](), self._expression(node.right)), node)
        if name in _COMPARE:
            sides = self._expression(node.left), self._expression(node.right)
            return self._at(ast.Compare(sides[0], [_COMPARE[name]()], [sides[1]]), node)
        raise _unsupported(node, f"the expression {name}")

    def _call(self, node: Any) -> ast.expr:
        """A call as the DSL spells it: the IR has some arguments at other places."""
        name = str(node.op.name)
        self.launches |= _class(node.op) == "GlobalVar"
        keywords = [
            ast.keyword(str(key), self._at(Known(_constant(value, node)), node))
            for key, value in dict(node.kwargs).items()
        ]
        arguments = [self._expression(one) for one in node.args]
        after, words = _BY_KEYWORD.get(name.rpartition(".")[2], (len(arguments), ()))
        keywords += [ast.keyword(word, value) for word, value in zip(words, arguments[after:], strict=False)]
        return self._at(ast.Call(self._pl(name, node), arguments[:after], keywords), node)

    # --- types ---

    def _type(self, found: Any, place: Any) -> ast.expr:
        name = _class(found)
        if name == "ScalarType":
            return self._subscript("Scalar", [self._at(Known(_dtype(found.dtype, place)), place)], place)
        if name not in ("TensorType", "TileType"):
            raise _unsupported(place, f"the type {name}")
        shape = self._at(ast.List([self._extent(one) for one in found.shape]), place)
        items: list[ast.expr] = [shape, self._at(Known(_dtype(found.dtype, place)), place)]
        if name == "TensorType":
            return self._subscript("Tensor", items, place)
        if found.memref is not None:
            memref = self._memref(found.memref, place)
            items += [] if memref is None else [memref]
        if found.memory_space is not None:
            items.append(self._at(Known(_constant(found.memory_space, place)), place))
        return self._subscript("Tile", items, place)

    def _extent(self, node: Any) -> ast.expr:
        if isinstance(node, int):
            return ast.Constant(node)
        if _class(node) == "ConstInt":
            return self._at(ast.Constant(node.value), node)
        op = _BINARY.get(_class(node))
        if op is not None and op in DYNAMIC_OPS:
            return self._at(ast.BinOp(self._extent(node.left), op(), self._extent(node.right)), node)
        if not hasattr(node, "name_hint"):
            raise _unsupported(node, f"the extent {_class(node)}")
        return self._at(Known(DynVar(str(node.name_hint))), node)

    def _memref(self, memref: Any, place: Any) -> ast.expr | None:
        """A declared allocation, by the name of its base; one of the compiler's says nothing we need."""
        if not memref.is_pinned_ and memref.slot_count_ <= 1:
            return None
        name = self._name(memref.base_)
        decl = self._at(Known(MemRefDecl(name, int(memref.slot_count_))), place)
        if memref.slot_index_ is None:
            return decl
        return self._at(ast.Subscript(decl, self._expression(memref.slot_index_)), place)

    def _subscript(self, head: str, items: Sequence[ast.expr], place: Any) -> ast.expr:
        inside = items[0] if len(items) == 1 else self._at(ast.Tuple(list(items)), place)
        return self._at(ast.Subscript(self._pl(head, place), inside), place)

    def _pl(self, path: str, place: Any) -> ast.expr:
        """`pl.<path>`."""
        found: ast.expr = self._at(Known(Symbol("")), place)
        for part in path.split("."):
            found = self._at(ast.Attribute(found, part, ast.Load()), place)
        return found

    # --- names and places ---

    def _name(self, variable: Any) -> str:
        key = getattr(variable, "unique_id", id(variable))
        if key not in self._names:
            hint = "".join(char if char.isalnum() or char == "_" else "_" for char in str(variable.name_hint)) or "v"
            count = self._taken[hint] = self._taken.get(hint, 0) + 1
            self._names[key] = hint if count == 1 else f"{hint}__{count}"
        return self._names[key]

    def _at(self, node: Any, place: Any) -> Any:
        span = getattr(place, "span", None)
        node.lineno = max(1, int(getattr(span, "begin_line", 1) or 1))
        node.col_offset = max(0, int(getattr(span, "begin_column", 1) or 1) - 1)
        return node


def _constant(value: Any, place: Any) -> object:
    """A keyword's value: plain ones as they are, members of pypto's enumerations by their names."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    word = _word(value)
    if _class(value) == "DataType":
        return _dtype(value, place)
    if word in SPACES and _class(value) == "MemorySpace":
        return SPACES[word]
    return Symbol(f"{_class(value)}.{word}")


def _dtype(dtype: Any, place: Any) -> object:
    """An element type by its name, however the object says it."""
    word = dtype.to_string() if hasattr(dtype, "to_string") else _word(dtype)
    name = _DTYPE_WORDS.get(word, word.upper())
    if name not in DTYPES:
        raise _unsupported(place, f"the element type {word}")
    return DTYPES[name]


def _unsupported(node: Any, what: str) -> DiagnosticError:
    span = getattr(node, "span", None)
    place = None
    if span is not None:
        place = Place(str(span.filename), int(span.begin_line), int(span.begin_column))
    return DiagnosticError.at(place, f"{what} of pypto's IR is not supported", kind=UNSUPPORTED)
