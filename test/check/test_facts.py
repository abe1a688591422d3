"""What ranges and residues say together."""

from pto_buf.check.facts.facts import NOTHING, Facts, Scope, assigned, eliminated, range_of, with_range, with_residue
from pto_buf.check.facts.poly import Poly, constant, plus, variable

N, M = variable(0), variable(1)
LESS = Poly((((0,), 1), ((1,), -1)), 0)
"""n - m"""


def test_a_variable_is_bounded_by_what_it_is_related_to():
    """`n - m` is at least 1, and `m` not negative: `n` is at least 1."""
    scope = Scope({LESS.parts: (0, 3), N.parts: (0, 3), M.parts: (0, 3)}, {})
    facts = Facts({LESS.parts: (1, None), M.parts: (0, None)}, {}, {})
    assert range_of(scope, facts, N) == (1, None)
    assert with_range(scope, facts, N, (None, 0)) is None


def test_each_ratio_of_two_forms_is_tried():
    """`2*n + m` is `n + m` and `n`, not only twice `n + m` less `m`."""
    double = Poly((((0,), 2), ((1,), 1)), 0)
    total = Poly((((0,), 1), ((1,), 1)), 0)
    facts = Facts({total.parts: (5, None), N.parts: (0, None)}, {}, {})
    assert range_of(Scope({}, {}), facts, double) == (5, None)


def test_a_residue_has_to_fit_the_range():
    scope = Scope({N.parts: (0, 3)}, {0: 4})
    facts = with_range(scope, NOTHING, N, (0, 2))
    assert facts is not None
    assert with_residue(scope, facts, 0, 3, 4) is None
    only = with_residue(scope, facts, 0, 2, 4)
    assert only is not None
    assert (dict(only.ranges), dict(only.residues)) == ({N.parts: (2, 2)}, {})


def test_a_range_has_to_fit_the_residue():
    scope = Scope({N.parts: (0, 3)}, {0: 4})
    facts = with_residue(scope, NOTHING, 0, 3, 4)
    assert facts is not None
    assert with_range(scope, facts, N, (0, 2)) is None


def test_what_a_variable_told_of_others_stays_when_it_changes():
    """`n - m` is at most 0, and `m` 0: `n` is at most 0, whatever becomes of `m`."""
    scope = Scope({LESS.parts: (0, 3), N.parts: (0, 3), M.parts: (0, 3)}, {})
    facts = Facts({LESS.parts: (None, 0), M.parts: (0, 0)}, {}, {})
    stepped = assigned(scope, facts, {1: plus(M, constant(1))})
    assert stepped is not None
    assert stepped.ranges == {LESS.parts: (None, -1), M.parts: (1, 1), N.parts: (None, 0)}
    gone = eliminated(scope, facts, 1)
    assert gone is not None
    assert gone.ranges == {N.parts: (None, 0)}


def test_what_a_variable_told_may_contradict_the_rest():
    scope = Scope({LESS.parts: (0, 3), N.parts: (0, 3), M.parts: (0, 3)}, {})
    facts = Facts({LESS.parts: (None, 0), M.parts: (0, 0), N.parts: (2, None)}, {}, {})
    assert assigned(scope, facts, {1: None}) is None
    assert eliminated(scope, facts, 1) is None
