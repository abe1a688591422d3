"""What this package adds to xDSL, for our own tools and, through an entry point, for `xdsl-opt`. Loaded lazily."""

from xdsl.context import Context
from xdsl.dialects import get_all_dialects
from xdsl.ir import Dialect
from xdsl.universe import Universe

from pto_buf.lowering import PASSES


def _pto() -> Dialect:
    from pto_buf.dialect.pto import PTO

    return PTO


def _ptobuf() -> Dialect:
    from pto_buf.dialect.ptobuf import PTOBUF

    return PTOBUF


PTO_BUF_UNIVERSE = Universe(all_dialects={"pto": _pto, "ptobuf": _ptobuf}, all_passes=dict(PASSES))


def make_context(*, allow_unregistered: bool = False) -> Context:
    """A context that knows our dialects and xDSL's, each loaded when a text first uses it."""
    ctx = Context(allow_unregistered=allow_unregistered)
    for name, factory in {**get_all_dialects(), **PTO_BUF_UNIVERSE.all_dialects}.items():
        ctx.register_dialect(name, factory)
    return ctx
