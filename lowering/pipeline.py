"""The pipeline from `ptobuf` to checked level-3 `pto`, on one screen."""

from dataclasses import dataclass


@dataclass(frozen=True)
class PipelineOptions:
    """`interleave`: trips of the innermost loops to put side by side; None leaves it to the source's `stage=`."""

    interleave: int | None = None
    check: bool = True


def pipeline(options: PipelineOptions) -> str:
    """The passes in their order, as `-p` of `pto-buf-opt` takes them."""
    factor = "" if options.interleave is None else f"{{interleave={options.interleave}}}"
    return ",".join(
        [
            "ptobuf-verify-slots",
            "ptobuf-canonicalize",
            f"ptobuf-schedule{factor}",
            "ptobuf-verify-slots",
            "ptobuf-plan-memory",
            "ptobuf-insert-fences",
            "ptobuf-reduce-fences",
            "ptobuf-allocate-events",
            "ptobuf-convert-to-pto",
            *(["ptobuf-check-sync"] if options.check else []),
        ]
    )
