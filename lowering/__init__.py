"""Passes from ptobuf to level-3 pto, one file each."""

import functools
import importlib
from collections.abc import Callable

from xdsl.passes import ModulePass

PASS_FILES = {
    "ptobuf-verify-slots": "verify_slots",
    "ptobuf-reuse-in-place": "reuse_in_place",
    "ptobuf-canonicalize": "canonicalize",
    "ptobuf-schedule": "schedule",
    "ptobuf-split-sections": "split_sections",
    "ptobuf-plan-memory": "plan_memory",
    "ptobuf-insert-fences": "insert_fences",
    "ptobuf-unroll-lanes": "unroll_lanes",
    "ptobuf-reduce-fences": "reduce_fences",
    "ptobuf-allocate-events": "allocate_events",
    "ptobuf-convert-to-pto": "convert_to_pto",
    "ptobuf-join-sections": "join_sections",
    "ptobuf-make-portable": "make_portable",
    "ptobuf-check-sync": "check_sync",
}
"""Every pass by its name, in the order of the pipeline, with the module of this package that defines it."""


def _load(name: str) -> type[ModulePass]:
    module = importlib.import_module(f"pto_buf.lowering.{PASS_FILES[name]}")
    for value in vars(module).values():
        if isinstance(value, type) and issubclass(value, ModulePass) and getattr(value, "name", None) == name:
            return value
    raise LookupError(f"{module.__name__} defines no pass named '{name}'")


PASSES: dict[str, Callable[[], type[ModulePass]]] = {name: functools.partial(_load, name) for name in PASS_FILES}
"""What loads each pass: a module is imported when its pass is first asked for."""
