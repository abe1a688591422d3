"""Closed forms, in the number of finished trips, of values that a loop hands from trip to trip."""

from collections.abc import Callable, Mapping, Sequence

from pto_buf.slots.bounds import bounds
from pto_buf.slots.fold import fold
from pto_buf.slots.simplify import apply
from pto_buf.slots.terms import Apply, Const, Fn, Opaque, Select, Term, Var, leaves

_LARGEST_MODULUS = 64
_LONGEST_ORBIT = 64


def closed_forms(
    variables: Sequence[Var],
    inits: Sequence[Term],
    nexts: Sequence[Term],
    trip: Term,
    is_fixed: Callable[[Term], bool],
) -> tuple[Term | None, ...]:
    """For each carried value a term in `trip`, the number of finished trips; None where none is known.

    `is_fixed` says of a term that it is one number in all trips of the loop.
    """
    cycles = _orbit_forms(variables, inits, nexts, trip)
    return tuple(
        _invariant(variable, init, next)
        or _counter(variable, init, next, trip, is_fixed)
        or cycle
        or _ring(variable, init, next, trip)
        for variable, init, next, cycle in zip(variables, inits, nexts, cycles, strict=True)
    )


def _invariant(variable: Var, init: Term, next: Term) -> Term | None:
    return init if next is variable or next == init else None


def _counter(variable: Var, init: Term, next: Term, trip: Term, is_fixed: Callable[[Term], bool]) -> Term | None:
    """`k + c` each trip."""
    if not isinstance(next, Apply) or next.fn is not Fn.ADD or variable not in (next.left, next.right):
        return None
    step = next.right if next.left == variable else next.left
    return apply(Fn.ADD, apply(Fn.MUL, trip, step), init) if is_fixed(step) else None


def _ring(variable: Var, init: Term, next: Term, trip: Term) -> Term | None:
    """A value within [0, N) that each trip turns by one and the same distance, however that is spelt."""
    reach, start = bounds(next), bounds(init)
    size = reach.high + 1
    if reach.low < 0 or not 1 <= size <= _LARGEST_MODULUS or not (start.low >= 0 and start.high < size):
        return None
    turned = [evaluate(next, {variable: value}) for value in range(size)]
    distance = turned[0]
    if distance is None or any(now != (value + distance) % size for value, now in enumerate(turned)):
        return None
    return _turned(init, distance, size, trip)


def _orbit_forms(
    variables: Sequence[Var], inits: Sequence[Term], nexts: Sequence[Term], trip: Term
) -> Sequence[Term | None]:
    """Constants that walk through a cycle, possibly by changing places with each other."""
    nothing = [None] * len(variables)
    walking = [index for index, init in enumerate(inits) if isinstance(init, Const)]
    while True:
        names = {variables[index] for index in walking}
        kept = [index for index in walking if names.issuperset(leaves(nexts[index]))]
        if kept == walking:
            break
        walking = kept
    if not walking:
        return nothing
    state = tuple(evaluate(inits[index], {}) for index in walking)
    states = [state]
    while len(states) <= _LONGEST_ORBIT:
        values: dict[Var | Opaque, int] = {
            variables[index]: value for index, value in zip(walking, state, strict=True) if value is not None
        }
        state = tuple(evaluate(nexts[index], values) for index in walking)
        if None in state:
            return nothing
        if state == states[0]:
            forms: list[Term | None] = [None] * len(variables)
            for position, index in enumerate(walking):
                forms[index] = _cycle([row[position] for row in states], trip)
            return forms
        states.append(state)
    return nothing


def _cycle(values: Sequence[int | None], trip: Term) -> Term | None:
    """The numbers of one period as `(first + distance * trip) % size`."""
    numbers = [value for value in values if value is not None]
    if min(numbers) < 0 or max(numbers) >= _LARGEST_MODULUS:
        return None
    following = [*numbers[1:], numbers[0]]
    for size in range(max(numbers) + 1, 2 * len(numbers) + max(numbers) + 1):
        distance = (following[0] - numbers[0]) % size
        if all((now - before) % size == distance for before, now in zip(numbers, following, strict=True)):
            return _turned(Const(numbers[0]), distance, size, trip)
    return None


def _turned(init: Term, distance: int, size: int, trip: Term) -> Term | None:
    travelled = apply(Fn.ADD, apply(Fn.MUL, trip, Const(distance)), init)
    if bounds(trip).low < 0 or bounds(travelled).low < 0:
        return None
    return apply(Fn.REMU, travelled, Const(size))


def evaluate(term: Term, values: Mapping[Var | Opaque, int]) -> int | None:
    """The term's value where all its leaves are given, None where one is missing or an operator is undefined."""
    match term:
        case Const(value):
            return value
        case Var() | Opaque():
            return values.get(term)
        case Select(condition, if_true, if_false):
            chosen = evaluate(condition, values)
            return None if chosen is None else evaluate(if_true if chosen else if_false, values)
        case Apply(fn, left, right):
            first, second = evaluate(left, values), evaluate(right, values)
            return None if first is None or second is None else fold(fn, first, second)
