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
    """The model of a target.

    On a5 the matrix unit orders its own accumulations: hand-written a5 kernels have no barrier between them, and of the
    assembler's two fence inserters one places none.
    """
    more = frozenset({Pipe.M}) if target.name == "a5" else frozenset[Pipe]()
    return Model(target.ordered_pipes | more, global_raw, entry, broadcast=target.name != "a5")
