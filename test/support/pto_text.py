"""Small `pto` kernels for tests: a body in, a parsed module out."""

from xdsl.dialects.builtin import ModuleOp

from pto_buf.source import parse_text
from pto_buf.universe import make_context


def parse(text: str, file: str = "test.pto") -> ModuleOp:
    return parse_text(make_context(), text, file)


def kernel(body: str, arguments: str = "", kind: str = "vector", arch: str = "a3") -> str:
    """A module with one kernel `k`. Line 3 of the text is the first of `body`."""
    return (
        f'module attributes {{pto.target_arch = "{arch}"}} {{\n'
        f"func.func @k({arguments}) attributes {{pto.entry, pto.kernel_kind = #pto.kernel_kind<{kind}>}} {{\n"
        f"{body.strip(chr(10))}\nreturn\n}}\n}}\n"
    )
