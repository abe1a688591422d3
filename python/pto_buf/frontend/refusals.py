"""Why an op of pypto's is not compiled here, in the words of a message. Pure data."""

from collections.abc import Mapping

_ACROSS = "hands a tile over to the other kind of core; here data passes through a tensor: store it there, and load it"
_WRITTEN_OUT = "is no instruction: pypto writes it out as a series of others, which is not done here"
_TENSORS = "works on whole tensors; kernels here work on tiles"
_BATCHES = "is for batches; a tile has two extents, so write a loop over the batch"
_RUN_TIME = "is the run-time's affair, outside of a kernel on one core"

LOAD_FIRST = "load a tile of it first: pl.load(tensor, offsets, shapes)"
"""What to do where a tensor stands in place of a tile."""

REASONS: Mapping[str, str] = {
    **dict.fromkeys(("sin", "cos", "scatter_update"), _WRITTEN_OUT),
    **dict.fromkeys(("tpush_to_aiv", "tpush_to_aic", "tpop_from_aic", "tpop_from_aiv"), _ACROSS),
    **dict.fromkeys(("tfree_to_aic", "tfree_to_aiv", "aiv_shard", "aic_gather"), _ACROSS),
    **dict.fromkeys(("reserve_buffer", "import_peer_buffer", "aic_initialize_pipe"), _ACROSS),
    **dict.fromkeys(("aiv_initialize_pipe", "initialize_pipe"), _ACROSS),
    **dict.fromkeys(("create_tensor", "dim", "assemble_tensor", "scatter_tensor", "expand_clone"), _TENSORS),
    **dict.fromkeys(("batch_matmul", "batch_matmul_acc"), _BATCHES),
    **dict.fromkeys(
        ("submit", "task_dummy", "task_invalid", "available_cluster_count", "available_aiv_count"), _RUN_TIME
    ),
    "split_aiv": "shares work between two vector cores; here that is done with pl.tile.get_subblock_idx()",
    "gather_row": "loads rows into a part of a tile; load a tile for each, or use pl.tile.mgather",
}
_FAMILIES: Mapping[str, str] = {
    "system.": "synchronises cores by hand; what passes between them through global memory is ordered by the compiler",
    "array.": "makes an array of scalars, which no core's memory here holds; keep them in a tile",
    "prefetch.": "fetches ahead by hand; slots and the order of loads do that here",
    "tensor.": _TENSORS,
    "comm.": _RUN_TIME,
    "distributed.": _RUN_TIME,
}


def is_known(path: str) -> bool:
    """Whether `pl.<path>` is an op of pypto's of which it is said why it is not compiled here."""
    return _reason(path) is not None


def why_not(path: str) -> str:
    """What to say of `pl.<path>`, which is no op that is compiled here."""
    reason = _reason(path)
    return f"there is no op 'pl.{path}' for tiles" if reason is None else f"'pl.{path}' {reason}"


def _reason(path: str) -> str | None:
    reason = REASONS.get(path.rpartition(".")[2])
    return reason or next((why for start, why in _FAMILIES.items() if path.startswith(start)), None)
