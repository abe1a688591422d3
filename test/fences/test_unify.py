"""One ring for several signatures."""

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from pto_buf.fences.phases import Signature
from pto_buf.fences.rings.rings import ring_of
from pto_buf.fences.rings.unify import common_signature
from pto_buf.hw import Pipe

LOAD, VECTOR, STORE = (Pipe.MTE2,), (Pipe.V,), (Pipe.MTE3,)


def test_a_signature_within_another_one_adds_nothing():
    assert common_signature([(LOAD, VECTOR), (LOAD, VECTOR, STORE)]) == (LOAD, VECTOR, STORE)


def test_signatures_that_meet_in_the_middle_are_joined_there():
    assert common_signature([(LOAD, VECTOR), (VECTOR, STORE)]) == (LOAD, VECTOR, STORE)


def test_readers_on_more_pipes_stand_for_fewer():
    both = (Pipe.V, Pipe.MTE3)
    assert common_signature([(LOAD, VECTOR), (LOAD, both)]) == (LOAD, both)


def test_the_order_of_the_signatures_does_not_matter():
    past, reader, whole = (LOAD, STORE), (LOAD, VECTOR), (LOAD, VECTOR, STORE)
    for signatures in permutations((past, reader, whole)):
        assert common_signature(signatures) == whole


_phases = st.lists(st.sampled_from([LOAD, VECTOR, STORE, (Pipe.V, Pipe.MTE3)]), min_size=1, max_size=4)


@given(st.lists(_phases.map(tuple), min_size=1, max_size=3))
def test_every_signature_occurs_in_order(signatures: list[Signature]):
    common = common_signature(signatures)
    if common is None:
        return
    for signature in signatures:
        rest = iter(common)
        assert all(any(set(pipes) <= set(stage) for stage in rest) for pipes in signature)


def test_tokens_tell_of_completion_only_along_the_ring():
    ring = ring_of((LOAD, VECTOR, STORE))
    assert ring.completes((0, Pipe.MTE2), (1, Pipe.V), same_lease=True)
    assert ring.completes((1, Pipe.V), (1, Pipe.V), same_lease=False)
    assert not ring.completes((1, Pipe.V), (1, Pipe.V), same_lease=True)


def test_a_reader_on_the_writing_pipe_is_not_told_of_the_next_lease():
    ring = ring_of((VECTOR, (Pipe.V, Pipe.MTE3)))
    assert ring.completes((0, Pipe.V), (0, Pipe.V), same_lease=False)
    assert not ring.completes((1, Pipe.V), (0, Pipe.V), same_lease=False)
