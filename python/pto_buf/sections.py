"""The sections of a function: which of its parts are for one kind of core."""

from xdsl.dialects.func import FuncOp

from pto_buf.dialect.kernel import SectionCubeOp, SectionOp
from pto_buf.errors import DiagnosticError, Note
from pto_buf.hw import Core
from pto_buf.source import place_of


def core_of(section: SectionOp) -> Core:
    """The kind of core that it is for."""
    return Core.CUBE if isinstance(section, SectionCubeOp) else Core.VECTOR


def sections_of(function: FuncOp) -> tuple[SectionOp, ...]:
    """All of them, in order.

    Raises DiagnosticError for one inside of something else, or of a function that is for one kind of core altogether.
    """
    found = tuple(op for op in function.walk() if isinstance(op, SectionOp))
    for section in found:
        around = section.parent_op()
        if around is not function:
            notes = () if around is None else (Note(place_of(around), f"it stands in this '{around.name}'"),)
            raise DiagnosticError.at(
                place_of(section),
                f"'{section.name}' is followed only where it stands in the function itself",
                *notes,
                help="put the loop or the branch into the section",
                kind="unsupported-op",
            )
        if "pto.kernel_kind" in function.attributes:
            raise DiagnosticError.at(
                place_of(section),
                f"'{section.name}' in a function that has a kernel_kind already",
                help="leave out one of the two",
                kind="unsupported-op",
            )
    return found
