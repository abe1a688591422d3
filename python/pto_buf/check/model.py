"""What the checker takes as true of the machine, for one target and one set of choices. Pure."""

from dataclasses import dataclass

from pto_buf.hw import Pipe, Target


@dataclass(frozen=True)
class Model:
    """`ordered`: pipes on which an op starts only when the one before it is complete, as far as it depends on it.

    `global_raw`: a flag may order a load behind a store of the same global bytes. `final_barrier`: the code must end
    with every pipe drained. `broadcast`: how signals between cores work, see `signals`.
    """

    ordered: frozenset[Pipe]
    global_raw: bool = False
    final_barrier: bool = True
    broadcast: bool = True


def model_of(target: Target, *, entry: bool = True, global_raw: bool = False) -> Model:
    """The model of a target."""
    return Model(target.ordered_pipes, global_raw, entry, broadcast=target.name != "a5")
