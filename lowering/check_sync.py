"""The independent check of finished `pto`: no race, no deadlock, no flag set twice or left over."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from pto_buf.called import to_judge
from pto_buf.check.checker import check
from pto_buf.check.findings import Status
from pto_buf.check.words import diagnostics
from pto_buf.errors import UNPROVEN, Collector, DiagnosticError, warn
from pto_buf.source import place_of


@dataclass(frozen=True)
class CheckSyncPass(ModulePass):
    """Checks every function of a module that stands for itself, with what it calls, and changes none.

    Raises DiagnosticError with everything that is wrong, and for what could not be proven; with `allow_unproven`, the
    latter is a warning.
    """

    name = "ptobuf-check-sync"

    allow_unproven: bool = False
    gm_raw: str = "refuse"
    """`flag`: a flag is accepted as order between a store and a load of the same global bytes."""
    flags_by_source: bool = False
    """An event id that a source uses for two destinations is an error."""
    most_states: int | None = None
    """Nothing but a proof of at most so many states is wanted: where there is none, no wrong run is looked for."""

    def __post_init__(self) -> None:
        if self.gm_raw not in ("refuse", "flag"):
            raise ValueError(f"gm-raw is '{self.gm_raw}'; it is refuse or flag")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        found = Collector()
        for function in to_judge(op):
            try:
                verdict = check(
                    function,
                    global_raw=self.gm_raw == "flag",
                    flags_by_source=self.flags_by_source,
                    most_states=self.most_states,
                )
            except DiagnosticError as err:
                found.add(err)
                continue
            found.diagnostics.extend(diagnostics(verdict))
            if verdict.status is Status.INCOMPLETE:
                message = f"the fences of kernel '{verdict.kernel}' could not be proven right: {verdict.reason}"
                if self.allow_unproven:
                    warn(place_of(function), message, kind=UNPROVEN)
                else:
                    found.error(place_of(function), message, help="allow-unproven lets it pass", kind=UNPROVEN)
        found.raise_if_errors()
