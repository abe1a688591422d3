"""How long small runs go around a `while`."""

from pto_buf.fences.tree import build_tree
from pto_buf.fences.trials.runs import Run, always
from pto_buf.hw import Pipe
from pto_buf.slots.program import Carried, Node, Op
from pto_buf.slots.terms import Fn, Term, Var
from support.slot_programs import Maker, add, binary


class _Counted(Run):
    """Counts the operations that it comes by."""

    done = 0

    def before(self, node: Node) -> None:
        self.done += isinstance(node, Op)


def _trips(make: Maker, loop: int, condition: Term, *carried: Carried, unknown: int) -> int:
    work = make.op("work", Pipe.V)
    kernel = make.program(make.repeat(loop, make.counter("k", 0, 9), condition, (), work, carried=carried))
    run = _Counted(build_tree(kernel), {}, always(unknown))
    assert run.go()
    return run.done


def test_a_list_whose_links_are_loaded_has_some_elements():
    """`while at != 63: ...; at = links[at]`, also where a second number passes the link on."""
    make = Maker()
    loop, first, at, link = make.key(), make.argument("first"), Var(90, "at"), Var(91, "link")
    loaded = make.unknown("links[at]", loop, high=99)
    at_once = Carried(at, first, loaded)
    assert _trips(make, loop, binary(Fn.NE, at, 63), at_once, unknown=5) == 5
    late = (Carried(at, first, link), Carried(link, first, loaded))
    assert _trips(make, loop, binary(Fn.NE, at, 63), *late, unknown=4) == 4


def test_a_counted_while_goes_around_as_often_as_it_says():
    make = Maker()
    loop, i = make.key(), Var(90, "i")
    counted = Carried(i, make.argument("from"), add(i, 2))
    assert _trips(make, loop, binary(Fn.NE, i, 700), counted, unknown=0) == 350


def test_with_numbers_that_no_run_has_a_while_ends_all_the_same():
    """`while i != 700` from 1 on in steps of 2: what stands behind it is still come by."""
    make = Maker()
    loop, i = make.key(), Var(90, "i")
    counted = Carried(i, make.argument("from"), add(i, 2))
    assert _trips(make, loop, binary(Fn.NE, i, 700), counted, unknown=1) == 1024
