"""What kernels of the collection are made of."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from support.slot_text import SlotText


@dataclass(frozen=True)
class Case:
    """`grid`: values of the integer arguments to run it for, where a proof for every value is out of reach."""

    make: Callable[[], SlotText]
    lost: bool = False
    """Whether overlap has to be given up, with a warning."""
    grid: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])


@contextmanager
def summed(kernel: SlotText, name: str = "Y") -> Iterator[None]:
    """A sum in UB that what stands inside adds to."""
    kernel.fill(name)
    yield
    kernel.store(name, "z")


@contextmanager
def product(kernel: SlotText) -> Iterator[None]:
    """A product in L0C of what is in L0A and L0B; what stands inside adds to it."""
    kernel.load("X")
    kernel.extract("A[0]", "X")
    kernel.extract("B[0]", "X")
    kernel.matmul("C", "A[0]", "B[0]")
    yield
    kernel.store("C", "z")
