"""Ops of the `pto` dialect that move data between devices: puts, gets, signals, collectives.

The checker and the simulator know nothing of other devices; these ops are read, checked in form, and printed.
"""

from typing import ClassVar, Self, cast

from xdsl.dialects.builtin import IntegerAttr, IntegerType
from xdsl.ir import Attribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from pto_buf.dialect.attributes import is_a, spelling
from pto_buf.dialect.syntax import parse_operands, parse_typed, print_types, print_values
from pto_buf.dialect.types import PartitionViewType, TensorViewType, tile_of
from pto_buf.hw import Space


class CommOp(IRDLOperation):
    """`comm.x(%a, %b, recv(%c), group(%d, %e) : A, B, C, D, E) {key = value} -> T`, each part where the op has it."""

    plain = var_operand_def()
    staged = var_operand_def()
    group = var_operand_def()
    made = var_result_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    PLAIN: ClassVar[int] = 0
    """How many values stand before the named lists."""
    STAGED: ClassVar[str | None] = None
    """The word before the list of one or two staging tiles."""
    GROUP: ClassVar[bool] = False
    RESULTS: ClassVar[int] = 0
    ATTRS: ClassVar[tuple[tuple[str, str, bool], ...]] = ()
    """Name, kind as in the op table, and whether it is required."""
    BARE: ClassVar[bool] = False
    """Without the brackets."""
    ANY_SIZE: ClassVar[bool] = False
    """The size of what is moved may be known only at run time."""
    FLAT: ClassVar[bool] = False
    """What is moved lies in one piece."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        if not cls.BARE:
            parser.parse_punctuation("(")
        names: list[UnresolvedOperand] = []
        counts: list[int] = []
        for position in range(cls.PLAIN):
            if position:
                parser.parse_punctuation(",")
            names.append(parser.parse_unresolved_operand())
        counts.append(len(names))
        for word in (cls.STAGED, "group" if cls.GROUP else None):
            if word is not None:
                parser.parse_punctuation(",")
                parser.parse_keyword(word)
                parser.parse_punctuation("(")
                names += parse_operands(parser)
                parser.parse_punctuation(")")
            counts.append(len(names))
        values = parse_typed(parser, names)
        if not cls.BARE:
            parser.parse_punctuation(")")
        attributes = parser.parse_optional_attr_dict()
        made: list[Attribute] = []
        if cls.RESULTS:
            parser.parse_punctuation("->")
            made.append(parser.parse_type())
        return cls.build(
            operands=[values[: counts[0]], values[counts[0] : counts[1]], values[counts[1] :]],
            result_types=[made],
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" " if self.BARE else "(")
        print_values(printer, tuple(self.plain))
        for word, values in ((self.STAGED, self.staged), ("group", self.group)):
            if values and word is not None:
                printer.print_string(f", {word}(")
                print_values(printer, tuple(values))
                printer.print_string(")")
        printer.print_string(" : ")
        print_types(printer, tuple(self.operands))
        printer.print_string("" if self.BARE else ")")
        printer.print_op_attributes(self.attributes)
        if self.made:
            printer.print_string(" -> ")
            printer.print_attribute(self.made[0].type)

    def verify_(self) -> None:
        if len(self.plain) != self.PLAIN:
            raise VerifyException(f"takes {self.PLAIN} values, found {len(self.plain)}")
        if self.STAGED is not None and len(self.staged) not in (1, 2):
            raise VerifyException(f"stages through one or two tiles, found {len(self.staged)}")
        if self.GROUP and not self.group:
            raise VerifyException("needs a group of at least one member")
        if len(self.made) != self.RESULTS:
            raise VerifyException(f"yields {self.RESULTS} values, found {len(self.made)}")
        known = {name: kind for name, kind, _ in self.ATTRS}
        for name, value in self.attributes.items():
            if name in known and not is_a(value, known[name]):
                raise VerifyException(f"{name} must be {spelling(known[name])}, is {value}")
            if name not in known and "." not in name:
                raise VerifyException(f"has no attribute '{name}'; there is: {', '.join(known) or 'none'}")
        for name, kind, required in self.ATTRS:
            if required and name not in self.attributes:
                raise VerifyException(f"needs the attribute {name}, {spelling(kind)}")
        self._verify_memory()
        root = self.attributes.get("root")
        if isinstance(root, IntegerAttr) and self.group:
            number = cast(IntegerAttr[IntegerType], root).value.data
            if not 0 <= number < len(self.group):
                raise VerifyException(f"root {number} is outside the group of {len(self.group)}")

    def _verify_memory(self) -> None:
        """Staging tiles lie in vec; views are not empty, and flat where the transfer goes on by itself."""
        for value in self.staged:
            tile = tile_of(value.type)
            if tile is None or tile.space is not Space.VEC or value.type != self.staged[0].type:
                raise VerifyException(f"stages through tiles of one type in vec, found {value.type}")
        for value in (*self.plain, *self.group):
            if not isinstance(value.type, (TensorViewType, PartitionViewType)):
                continue
            shape, dtype = value.type.data.shape, value.type.data.dtype
            staged = [tile.dtype for tile in (tile_of(other.type) for other in self.staged) if tile is not None]
            if any(other != dtype for other in staged):
                raise VerifyException(f"stages {dtype} through a tile of {staged[0]}; they must be equal")
            if 0 in shape:
                raise VerifyException(f"takes views with something in them, found {value.type}")
            if None in shape and not self.ANY_SIZE:
                raise VerifyException(f"takes views whose size is known, found {value.type}")
            if self.FLAT and any(extent != 1 for extent in shape[:-1]):
                raise VerifyException(f"takes flat views, all extents but the last being 1, found {value.type}")


def _comm(
    name: str,
    summary: str,
    plain: int,
    *,
    staged: str | None = None,
    group: bool = False,
    results: int = 0,
    attrs: tuple[tuple[str, str, bool], ...] = (),
    bare: bool = False,
    any_size: bool = False,
    flat: bool = False,
) -> type[CommOp]:
    """The op class of this name."""
    body = {
        "name": f"pto.{name}",
        "PLAIN": plain,
        "STAGED": staged,
        "GROUP": group,
        "RESULTS": results,
        "ATTRS": attrs,
        "BARE": bare,
        "ANY_SIZE": any_size,
        "FLAT": flat,
        "__annotations__": {
            "PLAIN": ClassVar[int],
            "STAGED": ClassVar[str | None],
            "GROUP": ClassVar[bool],
            "RESULTS": ClassVar[int],
            "ATTRS": ClassVar[tuple[tuple[str, str, bool], ...]],
            "BARE": ClassVar[bool],
            "ANY_SIZE": ClassVar[bool],
            "FLAT": ClassVar[bool],
        },
        "__module__": __name__,
        "__doc__": summary,
    }
    class_name = "".join(part.capitalize() for part in name.replace(".", "_").split("_")) + "Op"
    return irdl_op_definition(cast(type[CommOp], type(class_name, (CommOp,), body)))


_ROOT = ("root", "int", True)
_SESSION = (
    ("sync_id", "int", False),
    ("block_bytes", "int", False),
    ("comm_block_offset", "int", False),
    ("queue_num", "int", False),
    ("channel_group_idx", "int", False),
)

COMM_OPS: list[type[IRDLOperation]] = [
    _comm(
        "comm.tput",
        "`comm.tput(%dst, %src, buf(%t) : ...)`: writes to another device.",
        2,
        staged="buf",
        attrs=(("atomicType", "atomic_type", False),),
        any_size=True,
    ),
    _comm(
        "comm.tget",
        "`comm.tget(%dst, %src, buf(%t) : ...)`: reads from another device.",
        2,
        staged="buf",
        any_size=True,
    ),
    _comm(
        "comm.tnotify",
        "`comm.tnotify(%s, %v : ...)`: sets or raises a signal.",
        2,
        attrs=(("notifyOp", "notify_op", True),),
    ),
    _comm("comm.twait", "`comm.twait(%s, %v : ...)`: waits for a signal.", 2, attrs=(("cmp", "wait_cmp", True),)),
    _comm(
        "comm.ttest",
        "`comm.ttest(%s, %v : ...) -> i1`: looks at a signal.",
        2,
        results=1,
        attrs=(("cmp", "wait_cmp", True),),
    ),
    _comm("comm.tbroadcast", "`comm.tbroadcast(...)`: from one to all.", 1, staged="recv", group=True, attrs=(_ROOT,)),
    _comm("comm.tgather", "`comm.tgather(...)`: from all to one.", 1, staged="recv", group=True, attrs=(_ROOT,)),
    _comm("comm.tscatter", "`comm.tscatter(...)`: parts to all.", 1, staged="recv", group=True, attrs=(_ROOT,)),
    _comm(
        "comm.treduce",
        "`comm.treduce(...)`: combined from all.",
        2,
        staged="recv",
        group=True,
        attrs=(("reduceOp", "reduce_op", True), _ROOT),
    ),
    _comm("comm.build_async_session", "`comm.build_async_session(...) -> S`.", 2, results=1, attrs=_SESSION),
    _comm("comm.tput_async", "`comm.tput_async(...) -> E`: a put that goes on by itself.", 3, results=1, flat=True),
    _comm("comm.tget_async", "`comm.tget_async(...) -> E`: a get that goes on by itself.", 3, results=1, flat=True),
    _comm("comm.wait_async_event", "`comm.wait_async_event(...) -> i1`.", 2, results=1),
    _comm("comm.test_async_event", "`comm.test_async_event(...) -> i1`.", 2, results=1),
    _comm("make_prefetch_async_context", "`make_prefetch_async_context(...) -> C`.", 1, results=1),
    _comm("get_prefetch_async_session", "`get_prefetch_async_session %c : C -> S`.", 1, results=1, bare=True),
    _comm("tprefetch_async", "`tprefetch_async(...) -> E`: a load ahead, by itself.", 2, results=1, flat=True),
]
