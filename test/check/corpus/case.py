"""A reported failure, retold."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """`faults` are what is wrong with it, over all runs; nothing for a right form."""

    text: str
    faults: frozenset[str] = frozenset()


def case(text: str, faults: str = "") -> Case:
    return Case(text, frozenset(faults.split()))
