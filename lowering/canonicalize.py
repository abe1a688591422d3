"""`ptobuf-canonicalize`: folds and clean-ups that keep every lease and every slot."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass


@dataclass(frozen=True)
class CanonicalizePass(ModulePass):
    """Folds index arithmetic."""

    name = "ptobuf-canonicalize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pass
