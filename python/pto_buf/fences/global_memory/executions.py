"""What is known of the numbers in one execution of an operation, of which the trips are left open."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pto_buf.fences.windows import Box, Boxes, Window
from pto_buf.slots.bounds import ANY, Interval
from pto_buf.slots.linear import IsZero, Linear, NotPositive
from pto_buf.slots.program import Branch, Loop, Node, While
from pto_buf.slots.terms import COUNT_LIMIT, TRIP_LIMIT, Apply, Const, Fn, Opaque, Term, Var


@dataclass(frozen=True)
class Relation:
    """How two executions lie to each other.

    `same`: the loops around both whose trip is the same. `carrier`: the loop of which the later execution lies some
    trips, `lag`, behind the earlier one; -1 if there is none.
    """

    same: frozenset[int]
    carrier: int
    lag: Linear


class Execution:
    """One of two executions. `owners`: the loop of each counter and carried number, by the key of its variable."""

    def __init__(self, boxes: Boxes, owners: Mapping[int, int], relation: Relation, *, later: bool):
        self.facts: list[Linear] = []
        """Numbers that are 0 or more."""
        self.trips: list[tuple[int, Linear]] = []
        """Loops around it, and how many trips of each are done."""
        self.unknowns: dict[int, int] = {}
        """The keys of unknown numbers, by their atoms."""
        self._boxes = boxes
        self._owners = owners
        self._relation = relation
        self._later = later
        self._forms: dict[int, Linear] = {}

    def enter(self, node: Node, arm: int) -> None:
        """Goes into one of the blocks of a loop or branch around the operation, the outermost first."""
        match node:
            case Loop():
                # A step that is not known is 1 at least, and the trips then count more.
                step = node.step.value if isinstance(node.step, Const) else 1
                counter = self._form(node.lower) + self._trips(node.key, COUNT_LIMIT).times(step)
                self._forms[node.var.key] = counter
                self.facts.append((self._form(node.upper) - counter).shifted(-1))
            case While():
                self._forms[node.var.key] = self._trips(node.key, TRIP_LIMIT)
                if arm == 1:
                    self.facts += self._implied(node.condition, holds=True)
            case Branch():
                self.facts += self._implied(node.condition, holds=arm == 0)
            case _:
                pass

    def box(self, window: Window) -> Box:
        return self._boxes.box(window, self._known)

    # --- numbers ---

    def _form(self, term: Term) -> Linear:
        return self._boxes.form(term, self._known)

    def _trips(self, loop: int, most: int) -> Linear:
        """How many trips of a loop are done."""
        held = Interval(0, most)
        if loop != self._relation.carrier:
            done = self._leaf(f"trips of {loop}", loop, held)
        else:
            done = self._boxes.leaf(f"trips of {loop}", held)
            if self._later:
                done += self._relation.lag
        self.trips.append((loop, done))
        return done

    def _known(self, what: Var | Opaque) -> Linear:
        held = Interval(what.low, what.high)
        if isinstance(what, Opaque):
            form = self._leaf(f"unknown {what.key}", what.loop, held)
            self.unknowns[form.parts[0][0]] = what.key
            return form
        if what.key in self._forms:
            return self._forms[what.key]
        owner = self._owners.get(what.key)
        return self._boxes.leaf(what, held) if owner is None else self._leaf(f"number {what.key}", owner, ANY)

    def _leaf(self, what: str, loop: int | None, held: Interval) -> Linear:
        """A number that is another one in another trip of the loop."""
        same = loop is None or loop in self._relation.same
        return self._boxes.leaf(what if same else f"{what}, {'later' if self._later else 'earlier'}", held)

    # --- conditions ---

    def _implied(self, condition: Term, *, holds: bool) -> Iterator[Linear]:
        """Numbers that are 0 or more where the condition holds, or else where it does not."""
        if isinstance(condition, Apply) and condition.fn is (Fn.AND if holds else Fn.OR):
            yield from self._implied(condition.left, holds=holds)
            yield from self._implied(condition.right, holds=holds)
            return
        form = self._form(condition)
        if len(form.parts) == 1 and (form.parts[0][1], form.const) in ((1, 0), (-1, 1)):
            atom, sign = form.parts[0]
            straight = holds == (sign == 1)
            match self._boxes.atoms.kinds[atom]:
                case NotPositive(inner):
                    yield inner.times(-1) if straight else inner.shifted(-1)
                    return
                case IsZero(inner) if straight:
                    yield from (inner, inner.times(-1))
                    return
                case _:
                    pass
        yield form.shifted(-1) if holds else form.times(-1)
