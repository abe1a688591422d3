"""Orders between pipes that the user writes: they are kept, and the fences that are needed stand beside them."""

from collections.abc import Callable, Mapping

from pto_buf.dialect.sync import BarrierOp, SetFlagOp, WaitFlagOp
from pto_buf.frontend.arguments import Arguments
from pto_buf.frontend.kinds import ARGUMENTS
from pto_buf.frontend.ops.compute import choice
from pto_buf.frontend.values import Nothing, Value
from pto_buf.hw import EVENT_IDS, Pipe

_FLAG = "*, set_pipe, wait_pipe, event_id"
_ENDS = tuple(pipe.value for pipe in Pipe if pipe is not Pipe.ALL)


def _barrier(pipe: Pipe) -> Callable[[Arguments], Value]:
    def barrier(args: Arguments) -> Value:
        args.ctx.builder.add(BarrierOp(pipe))
        return Nothing(args.op)

    return barrier


def _flag(kind: type[SetFlagOp] | type[WaitFlagOp]) -> Callable[[Arguments], Value]:
    """`pl.system.sync_src` sets a flag from one pipe to another, `sync_dst` waits for it. Raises DiagnosticError."""

    def flag(args: Arguments) -> Value:
        src, dst = (Pipe(choice(args, name, _ENDS, 0)) for name in ("set_pipe", "wait_pipe"))
        if src is dst:
            words = f"'{args.op}' tells {src} of itself: what a pipe does in order, 'bar_v' or 'bar_m' asks for"
            raise args.ctx.error(args.node, words, kind=ARGUMENTS)
        event = args.static("event_id", None)
        if type(event) is not int or not 0 <= event < EVENT_IDS:
            words = f"event_id of '{args.op}' is {event}, must be a number from 0 to {EVENT_IDS - 1}"
            raise args.ctx.error(args.place("event_id"), words, kind=ARGUMENTS)
        args.ctx.builder.add(kind(src, dst, event))
        return Nothing(args.op)

    return flag


ORDERS: Mapping[str, tuple[str, Callable[[Arguments], Value]]] = {
    "system.bar_v": ("", _barrier(Pipe.V)),
    "system.bar_m": ("", _barrier(Pipe.M)),
    "system.bar_all": ("", _barrier(Pipe.ALL)),
    "system.sync_src": (_FLAG, _flag(SetFlagOp)),
    "system.sync_dst": (_FLAG, _flag(WaitFlagOp)),
}
"""Signature and handler by name."""
