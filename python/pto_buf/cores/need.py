"""What has to be ordered between the cores, by positions in a block."""

from dataclasses import dataclass

from pto_buf.hw import Core, Pipe


@dataclass(frozen=True)
class Need:
    """What `pipe` of core `source` did up to node `after` is over before `waiting` of the other core does `before`.

    Positions are those of nodes in the block with that number. `lag` counts trips; `around` is the key of the loop
    before which as many signals are sent ahead. `lost` says why it orders more than is needed, if it does.
    """

    block: int
    source: Core
    pipe: Pipe
    waiting: Pipe
    after: int
    before: int
    lag: int
    around: int | None
    why: str
    lost: str = ""
