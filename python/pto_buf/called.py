"""Functions that others call: what is in them counts as if it stood where they are called."""

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from pto_buf.errors import DiagnosticError, Note
from pto_buf.source import place_of


def to_judge(module: ModuleOp) -> tuple[FuncOp, ...]:
    """The functions with a body that stand for themselves: entries, and those that no other one calls.

    Also those that are left over, since only what calls itself calls them: whoever follows their calls refuses them.
    """
    found = [op for op in module.walk() if isinstance(op, FuncOp) and not op.is_declaration]
    called = {op.callee.string_value() for op in _calls(module)}
    own = [op for op in found if "pto.entry" in op.attributes or op.sym_name.data not in called]
    reached = {op.sym_name.data for op in own}
    new = own
    while new:
        names = {call.callee.string_value() for op in new for call in _calls(op)} - reached
        reached |= names
        new = [op for op in found if op.sym_name.data in names]
    return tuple(op for op in found if op in own or op.sym_name.data not in reached)


def with_calls_written_out(function: FuncOp) -> FuncOp:
    """The function itself if it calls nothing, else one in a copy of its module, without calls.

    Raises DiagnosticError for a call of a function that the module does not have, or that comes to call itself.
    """
    if next(_calls(function), None) is None:
        return function
    module: Operation = function
    number: list[int] = []
    while (around := module.parent_op()) is not None:
        assert module.parent is not None
        number.append(module.parent.get_operation_index(module))
        module = around
    copy: Operation = module.clone()
    bodies = {op.sym_name.data: op for op in module.walk() if isinstance(op, FuncOp) and not op.is_declaration}
    for index in reversed(number):
        copy = list(copy.regions[0].block.ops)[index]
    assert isinstance(copy, FuncOp)
    _write_out(copy, bodies, (function.sym_name.data,))
    return copy


def _calls(around: Operation) -> Iterator[CallOp]:
    return (op for op in around.walk() if isinstance(op, CallOp))


def _write_out(around: Operation, bodies: dict[str, FuncOp], callers: tuple[str, ...]) -> None:
    for call in tuple(_calls(around)):
        name = call.callee.string_value()
        body = bodies.get(name)
        if body is None or name in callers or len(body.body.blocks) != 1:
            raise DiagnosticError.at(
                place_of(call),
                f"the call of '{name}' is not followed",
                *([] if body is None else [Note(place_of(body), "it stands here")]),
                help="a function that is called has a body of one block, and calls neither itself nor its callers",
                kind="unsupported-op",
            )
        copy = body.clone()
        _write_out(copy, bodies, (*callers, name))
        _put_before(call, copy)


def _put_before(call: CallOp, body: FuncOp) -> None:
    """Moves what is in a function to a call of it, which goes."""
    block, home = body.body.block, call.parent
    assert home is not None
    for given, wanted in zip(call.arguments, block.args, strict=True):
        wanted.replace_all_uses_with(given)
    results: tuple[SSAValue, ...] = ()
    for op in tuple(block.ops):
        op.detach()
        if isinstance(op, ReturnOp):
            results = tuple(op.arguments)
            op.erase()
        else:
            home.insert_op_before(op, call)
    for old, new in zip(call.results, results, strict=True):
        old.replace_all_uses_with(new)
    call.detach()
    call.erase()
