"""From one function of the source to one `func.func` of the IR."""

import ast
from collections.abc import Mapping, Sequence

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import FunctionType, UnitAttr
from xdsl.ir import Attribute, Block, Region, SSAValue

from pto_buf.dialect.pto import KernelKindAttr, MakeTensorViewOp
from pto_buf.dialect.table.row import ViewSpec
from pto_buf.dialect.types import PtrSpec, PtrType, TensorViewType
from pto_buf.errors import Collector, DiagnosticError, Place
from pto_buf.frontend.buffers.extents import dimensions, worked_out
from pto_buf.frontend.buffers.placement import place_sets
from pto_buf.frontend.builder import INDEX, Builder, scalar_type
from pto_buf.frontend.context import Context, SourceText, TooLongError
from pto_buf.frontend.control.inlining import Inliner, plain_body
from pto_buf.frontend.control.statements import Reader
from pto_buf.frontend.kinds import KERNEL_NAME, MEMORY_SPACE, SHAPE, TOO_LARGE
from pto_buf.frontend.names import spelling
from pto_buf.frontend.ops.memrefs import MemRefs
from pto_buf.frontend.syntax.annotations import Annotation, ScalarType, ShapelessType, TensorType, annotation
from pto_buf.frontend.syntax.flow import Flow
from pto_buf.frontend.syntax.module import Function, Kind
from pto_buf.frontend.syntax.samples import Shaped
from pto_buf.frontend.values import Number, Scalar, Static, Tensor, Unbound
from pto_buf.hw import Core, Space, Target
from pto_buf.tile import DTYPE_BITS

_CUBE_SPACES = (Space.MAT, Space.LEFT, Space.RIGHT, Space.ACC, Space.BIAS, Space.SCALING)

_KEYWORDS = """
    alignas alignof and_eq asm auto bitand bitor bool case catch char char8_t char16_t char32_t co_await co_return
    co_yield compl concept const const_cast consteval constexpr constinit decltype default delete do double dynamic_cast
    enum explicit export extern false float friend goto inline int long main mutable namespace new noexcept not_eq
    nullptr operator or_eq private protected public register reinterpret_cast requires short signed sizeof static
    static_assert static_cast struct switch template this thread_local throw true typedef typeid typename union unsigned
    using virtual void volatile wchar_t xor xor_eq
"""
_RESERVED = frozenset(_KEYWORDS.split())
"""The keywords of C++20 that Python takes for names, and `main`."""


def read_kernel(
    source: SourceText,
    function: Function,
    helpers: Mapping[str, Function],
    samples: Mapping[str, Shaped],
    target: Target,
    collector: Collector,
    symbol: str,
) -> func.FuncOp | None:
    """Read one kernel. Mistakes go to `collector`; the function is None, or of no use, when there are any."""
    block = Block()
    builder = Builder(block, source.location, function.node)
    ctx = Context(source, target, builder, collector, function.globals, samples=samples)
    if symbol in _RESERVED:
        words = f"'{symbol}' cannot name a kernel: the assembler prints it as C++, where the name is taken"
        collector.add(ctx.error(function.node, words, kind=KERNEL_NAME, help=f"call it '{symbol}_kernel'"))
    try:
        types = _parameters(ctx, function, block)
        body = plain_body(ctx, function)
    except DiagnosticError as err:
        collector.add(err)
        return None
    for name in function.hidden:
        ctx.scope.bindings[name] = Unbound(
            ctx.place(function.node), "comes from the orchestration around this scope, which does not say what it is"
        )
    ctx.helpers = helpers
    try:
        _read_body(ctx, body)
    except TooLongError as err:
        collector.add(err.error)
    except RecursionError:
        words = "its statements or expressions stand too deep inside one another to be read"
        collector.add(ctx.error(function.node, words, kind=TOO_LARGE))
    for err in ctx.held.errors():
        collector.add(err)
    if collector.has_errors:
        return None
    declared = [(slots.tile, slots.count) for slots in ctx.declared]
    _unique_names(ctx)
    for warning in place_sets(tuple(ctx.owned), declared, target, builder):
        collector.diagnostics.append(warning)
    try:
        core = _core(ctx, function)
    except DiagnosticError as err:
        collector.add(err)
        return None
    with ctx.at(function.node):
        builder.add(func.ReturnOp())
    builder.finish()
    result = func.FuncOp(symbol, FunctionType.from_lists(types, []), Region(block))
    result.location = source.location(function.node)
    result.attributes["pto.entry"] = UnitAttr()
    if core is not None:
        result.attributes["pto.kernel_kind"] = KernelKindAttr(core)
    return result


def _read_body(ctx: Context, body: Sequence[ast.stmt]) -> None:
    flow = Flow()
    flow.run(body)
    memrefs = MemRefs()
    memrefs.scan(ctx, body)
    ctx.splice = Inliner(memrefs).splice
    Reader(flow, memrefs).run(ctx, body)


def _parameters(ctx: Context, function: Function, block: Block) -> Sequence[Attribute]:
    """Bind the parameters: tensors and scalars in the order of the source, then one index for each dynamic extent."""
    node = function.node
    arguments = node.args
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults:
        raise ctx.error(node, "a kernel takes plain positional parameters without defaults")
    parameters = [*arguments.posonlyargs, *arguments.args]
    samples = ctx.samples
    if function.method and parameters and parameters[0].arg == "self":
        parameters = parameters[1:]
    types: list[Attribute] = []
    tensors: list[tuple[ast.arg, TensorType, SSAValue]] = []
    extents: dict[str, None] = {}
    for parameter in parameters:
        declared = _declared(ctx, parameter, samples)
        if isinstance(declared, TensorType) and declared.dtype in DTYPE_BITS:
            type: Attribute = PtrType(PtrSpec(declared.dtype))
            tensors.append((parameter, declared, block.insert_arg(type, len(types))))
            extents.update(dict.fromkeys(name for extent in declared.shape for name in dimensions(extent)))
        elif isinstance(declared, ScalarType) and (found := scalar_type(declared.dtype)) is not None:
            type = found
            argument = block.insert_arg(type, len(types))
            low = 0 if declared.dtype == "index" else None
            ctx.scope.bindings[parameter.arg] = Scalar(argument, declared.dtype, low)
        else:
            raise ctx.error(
                parameter,
                f"parameter '{parameter.arg}' must be annotated as pl.Tensor[...] or pl.Scalar[...]",
                kind=SHAPE,
                help=_lever(parameter),
            )
        block.args[-1].name_hint = parameter.arg
        types.append(type)
    dynamic: dict[str, Scalar] = {}
    for name in extents:
        dynamic[name] = Scalar(block.insert_arg(INDEX, len(types)), "index", 0)
        block.args[-1].name_hint = name
        types.append(INDEX)
    for parameter, declared, pointer in tensors:
        with ctx.at(parameter):
            ctx.scope.bindings[parameter.arg] = _view(ctx, parameter.arg, declared, pointer, dynamic)
    return types


def _lever(parameter: ast.arg) -> str | None:
    """What to say of a parameter whose type means nothing here."""
    written = "" if parameter.annotation is None else ast.unparse(parameter.annotation)
    if "DistributedTensor" in written:
        return "a tensor over several devices is the run-time's affair: a kernel here works on those of its own"
    return "write the shape and the element type: pl.Tensor[[64, 128], pl.FP32]" if not written else None


def _declared(ctx: Context, parameter: ast.arg, samples: Mapping[str, Shaped]) -> Annotation:
    """What a parameter is: by its annotation, or as the file's own calls have it. Raises DiagnosticError."""
    declared = None if parameter.annotation is None else annotation(ctx, parameter.annotation)
    if not isinstance(declared, ShapelessType):
        return declared
    found = samples.get(parameter.arg)
    if found is None:
        raise ctx.error(
            parameter,
            f"the shape of '{parameter.arg}' is left to the call, and no call in this file says what it is",
            kind=SHAPE,
            help="write pl.Tensor[[rows, cols], pl.FP32]",
        )
    return TensorType(found.shape, found.dtype, declared.written)


def _view(ctx: Context, name: str, declared: TensorType, pointer: SSAValue, dynamic: dict[str, Scalar]) -> Tensor:
    """A row-major view of a tensor, at the top of the function."""
    builder = ctx.builder
    shape: list[Number] = [worked_out(one, dynamic, builder) for one in declared.shape]
    extents = [one.ssa if isinstance(one, Scalar) else builder.constant(_int(one)) for one in shape]
    strides: list[SSAValue] = [builder.constant(1)]
    length: int | SSAValue = 1
    for extent, number in zip(reversed(extents[1:]), reversed(shape[1:]), strict=True):
        if isinstance(length, int) and isinstance(number, Static):
            length = length * _int(number)
            strides.append(builder.constant(length))
            continue
        right = builder.constant(length) if isinstance(length, int) else length
        length = extent if length == 1 else builder.at_top(arith.MuliOp(extent, right)).result
        strides.append(length)
    spec = ViewSpec(tuple(one if isinstance(one, int) else None for one in declared.shape), declared.dtype)
    view = builder.at_top(
        MakeTensorViewOp.build(
            operands=[pointer, extents, list(reversed(strides))], result_types=[TensorViewType(spec)]
        )
    ).results[0]
    view.name_hint = f"{name}_view"
    return Tensor(name, view, tuple(shape), declared.dtype, declared.written)


def _int(value: Static) -> int:
    assert isinstance(value.value, int)
    return value.value


def _unique_names(ctx: Context) -> None:
    """Give each set a name of its own, the user's first."""
    seen = {slots.name for slots in ctx.declared}
    for owned in ctx.owned:
        base = name = owned.alloc.set_name.data
        number = 1
        while name in seen:
            number += 1
            name = f"{base}_{number}"
        seen.add(name)
        owned.set_name(name)


def _core(ctx: Context, function: Function) -> Core | None:
    """The kind of core whose buffers it touches, None for both. Raises DiagnosticError for not the one it declares."""
    made = [(slots.tile.space, slots.name, slots.place) for slots in ctx.declared]
    made += [(owned.tile.space, owned.alloc.set_name.data, owned.place) for owned in ctx.owned]
    first: dict[Core, tuple[Space, str, Place]] = {}
    for one in made:
        first.setdefault(Core.CUBE if one[0] in _CUBE_SPACES else Core.VECTOR, one)
    asked = {Kind.CUBE: Core.CUBE, Kind.VECTOR: Core.VECTOR}.get(function.kind)
    other = next((core for core in first if core is not asked), None)
    if asked is not None and other is not None:
        space, name, place = first[other]
        raise DiagnosticError.at(
            place,
            f"'{name}' lies in {spelling(space)}, which the {asked.value} core of this function does not have",
            kind=MEMORY_SPACE,
        )
    if len(first) > 1:
        return None
    return asked or next(iter(first), Core.VECTOR)
