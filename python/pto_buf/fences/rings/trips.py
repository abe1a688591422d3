"""Some trips of a loop, by its counter."""

from dataclasses import dataclass

from pto_buf.slots.terms import Var


@dataclass(frozen=True)
class Trips:
    """Those trips of a loop in which its counter is `value`, or (`below`) any smaller number."""

    loop: int
    counter: Var
    value: int
    below: bool = False

    def has(self, counter: int) -> bool:
        """Whether the trip with this counter is one of them."""
        return counter < self.value if self.below else counter == self.value
