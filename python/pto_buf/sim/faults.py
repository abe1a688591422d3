"""What can go wrong while a kernel runs, besides wrong numbers."""

from dataclasses import dataclass

from pto_buf.errors import Diagnostic, Note, Place


@dataclass(frozen=True)
class Fault:
    """`kind` is `deadlock`, `overflow` (a set of a pending flag), `leftover` or `bounds`."""

    kind: str
    message: str
    place: Place | None
    notes: tuple[Note, ...] = ()

    @property
    def diagnostic(self) -> Diagnostic:
        return Diagnostic(self.message, self.place, self.notes, kind=self.kind)


class SimulationFault(Exception):
    """The run cannot go on."""

    def __init__(self, fault: Fault):
        super().__init__(fault.message)
        self.fault = fault
