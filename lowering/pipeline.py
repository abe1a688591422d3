"""The pipeline from `ptobuf` to checked level-3 `pto`, on one screen."""

from dataclasses import dataclass


@dataclass(frozen=True)
class PipelineOptions:
    """What a compilation may choose.

    `interleave`: trips of the innermost loops to put side by side; None leaves it to the source's `stage=`.
    `gm_raw`: `flag` accepts a flag as order between a store and a load of the same global bytes.
    `fail_on_lost_overlap`: overlap that is given up is an error, not a warning.
    `flags_by_source`: an event id of a source pipe serves one destination, for hardware that tells flags apart by
    source and id alone.
    `lanes`: `dynamic` computes slots and lanes, `unroll` names them by constants, `auto` does what
    costs less, or the other where only that can be proven.
    `most_states`: nothing but a proof of at most so many states is wanted; None also wants to know what is wrong.
    """

    interleave: int | None = None
    check: bool = True
    allow_unproven: bool = False
    gm_raw: str = "refuse"
    fail_on_lost_overlap: bool = False
    lanes: str = "auto"
    flags_by_source: bool = False
    most_states: int | None = None


def pipeline(options: PipelineOptions) -> str:
    """The passes in their order, as `-p` of `pto-buf-opt` takes them."""
    factor = "" if options.interleave is None else f"{{interleave={options.interleave}}}"
    fail = "fail-on-lost-overlap=true" if options.fail_on_lost_overlap else ""
    apart = "flags-by-source=true" if options.flags_by_source else ""
    proof = f"allow-unproven={str(options.allow_unproven).lower()} gm-raw={options.gm_raw}"
    most = "" if options.most_states is None else f"most-states={options.most_states}"
    return ",".join(
        [
            "ptobuf-verify-slots",
            "ptobuf-reuse-in-place",
            "ptobuf-plan-memory{check-only=true}",
            "ptobuf-canonicalize",
            f"ptobuf-schedule{factor}",
            f"ptobuf-split-sections{_given(fail)}",  # from here on each core's part is a kernel of its own
            "ptobuf-plan-memory",
            f"ptobuf-insert-fences{_given(fail, apart)}",  # verifies the slots again, as schedule left them
            "ptobuf-reduce-fences",
            f"ptobuf-allocate-events{_given(apart)}",
            f"ptobuf-unroll-lanes{{lanes={options.lanes}}}",
            "ptobuf-convert-to-pto",
            "ptobuf-join-sections",
            "ptobuf-make-portable",
            *([f"ptobuf-check-sync{_given(proof, apart, most)}"] if options.check else []),
        ]
    )


def _given(*options: str) -> str:
    """Options of one pass, without those that are empty."""
    given = " ".join(option for option in options if option)
    return f"{{{given}}}" if given else ""
