"""Which operands of a row the values of a use are, where some are optional."""

from collections.abc import Sequence

from pto_buf.dialect.table.row import Operand, Value


def match(operands: Sequence[Operand], values: Sequence[Value]) -> tuple[Operand, ...] | None:
    """The operands that `values` are, in order: an optional one is left out where the value cannot be it."""
    if len(operands) == len(values):
        return tuple(operands)
    found: list[Operand] = []
    position = 0
    spare = len(operands) - len(values)
    for operand in operands:
        given = position < len(values) and operand.takes(values[position])
        if operand.optional and (not given or (spare > 0 and _needed_later(operand, operands, values, position))):
            spare -= 1
            continue
        if position >= len(values):
            return None
        found.append(operand)
        position += 1
    return tuple(found) if position == len(values) else None


def _needed_later(operand: Operand, operands: Sequence[Operand], values: Sequence[Value], position: int) -> bool:
    """Whether taking this value for `operand` would leave a required operand without one."""
    behind = operands[operands.index(operand) + 1 :]
    return sum(not other.optional for other in behind) > len(values) - position - 1
