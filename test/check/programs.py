"""From text to what the checker works on."""

from xdsl.dialects import func

from pto_buf.check.program import Program
from pto_buf.check.reading.build import build
from pto_buf.source import parse_text
from pto_buf.universe import make_context


def function_of(text: str) -> func.FuncOp:
    """The first function of a text, whose name for messages is kernel.pto."""
    function = parse_text(make_context(), text, "kernel.pto").body.block.first_op
    assert isinstance(function, func.FuncOp)
    return function


def program_of(text: str) -> Program:
    return build(function_of(text))
