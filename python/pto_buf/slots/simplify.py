"""Making terms that are no larger than they need to be. Every rule is exact on 64 bits, wrap-around included."""

from pto_buf.slots.fold import fold, wrapped
from pto_buf.slots.terms import Apply, Const, Fn, Select, Term

ZERO, ONE = Const(0), Const(1)

_KEEPS_LEFT_AT = {
    Fn.ADD: 0,
    Fn.SUB: 0,
    Fn.OR: 0,
    Fn.XOR: 0,
    Fn.SHL: 0,
    Fn.SHRS: 0,
    Fn.SHRU: 0,
    Fn.MUL: 1,
    Fn.DIVS: 1,
    Fn.FLOORDIVS: 1,
    Fn.CEILDIVS: 1,
    Fn.DIVU: 1,
    Fn.CEILDIVU: 1,
    Fn.AND: -1,
}
"""The right operand with which an operator yields its left one."""

_ZERO_AT = {Fn.MUL: 0, Fn.AND: 0, Fn.REMS: 1, Fn.REMU: 1}
"""The right operand with which an operator yields 0."""

_COMMUTES = frozenset(
    {Fn.ADD, Fn.MUL, Fn.AND, Fn.OR, Fn.XOR, Fn.MINS, Fn.MAXS, Fn.MINU, Fn.MAXU, Fn.EQ, Fn.NE},
)

_OF_EQUALS = {
    Fn.SUB: 0,
    Fn.XOR: 0,
    Fn.EQ: 1,
    Fn.SLE: 1,
    Fn.SGE: 1,
    Fn.ULE: 1,
    Fn.UGE: 1,
    Fn.NE: 0,
    Fn.SLT: 0,
    Fn.SGT: 0,
    Fn.ULT: 0,
    Fn.UGT: 0,
}
"""What an operator yields when both operands are one value."""

_IDEMPOTENT = frozenset({Fn.MINS, Fn.MAXS, Fn.MINU, Fn.MAXU, Fn.AND, Fn.OR})


def apply(fn: Fn, left: Term, right: Term) -> Term:
    """`left fn right`, folded where both are constants; constants go right, and sums of constants become one."""
    if isinstance(left, Const) and isinstance(right, Const):
        folded = fold(fn, left.value, right.value)
        return Apply(fn, left, right) if folded is None else Const(folded)
    if fn in _COMMUTES and isinstance(left, Const):
        left, right = right, left
    if isinstance(right, Const):
        return _with_constant(fn, left, right.value)
    if left is right and fn in _OF_EQUALS:
        return Const(_OF_EQUALS[fn])
    if left is right and fn in _IDEMPOTENT:
        return left
    return Apply(fn, left, right)


def _with_constant(fn: Fn, left: Term, right: int) -> Term:
    if right == _KEEPS_LEFT_AT.get(fn):
        return left
    if right == _ZERO_AT.get(fn):
        return ZERO
    if fn is Fn.SUB:
        return _with_constant(Fn.ADD, left, wrapped(-right))
    if fn in (Fn.ADD, Fn.MUL) and isinstance(left, Apply) and left.fn is fn and isinstance(left.right, Const):
        folded = fold(fn, left.right.value, right)
        assert folded is not None
        return _with_constant(fn, left.left, folded)
    return Apply(fn, left, Const(right))


def select(condition: Term, if_true: Term, if_false: Term) -> Term:
    """`if_true` where the condition is not 0, else `if_false`."""
    if isinstance(condition, Const):
        return if_true if condition.value else if_false
    if if_true == if_false:
        return if_true
    return Select(condition, if_true, if_false)
