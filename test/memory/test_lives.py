"""Lives of slot sets, against a small model that runs the program and watches which bytes are needed."""

import random
from dataclasses import dataclass, field

from pto_buf.memory.lives import Loop, Touch, life_of

OUTER = Loop(10, 40, None)
INNER = Loop(20, 30, 0)
LOOPS = (OUTER, INNER)


def span(*touches: Touch) -> tuple[int, int]:
    life = life_of(touches, LOOPS)
    return life.start, life.end


def test_straight_line_runs_from_first_to_last_access():
    assert span(Touch(1, None, False), Touch(5, None, True, known=True)) == (1, 5)


def test_a_set_that_is_never_touched_lives_where_it_is_made():
    life = life_of((), LOOPS, born=3)
    assert (life.start, life.end) == (3, 3)


def test_live_into_a_loop_is_live_through_it():
    assert span(Touch(1, None, False), Touch(12, 0, True, None, known=True)) == (1, 40)


def test_written_and_read_in_one_trip_lives_within_it():
    assert span(Touch(12, 0, False), Touch(15, 0, True, 0, known=True)) == (12, 15)


def test_written_in_the_outer_trip_and_read_in_the_inner_loop_lives_through_the_inner_loop():
    assert span(Touch(12, 0, False), Touch(22, 1, True, 0, known=True)) == (12, 30)


def test_written_before_both_loops_and_read_in_the_inner_one_lives_through_both():
    assert span(Touch(1, None, False), Touch(22, 1, True, None, known=True)) == (1, 40)


def test_written_in_a_loop_and_read_behind_it():
    assert span(Touch(12, 0, False), Touch(50, None, True, None, known=True)) == (12, 50)


def test_unknown_writer_lives_through_every_loop_it_appears_in():
    # the write in the inner loop may be skipped, so an earlier trip's content may be what is read behind it
    assert span(Touch(22, 1, False), Touch(50, None, True)) == (10, 50)
    assert span(Touch(22, 1, False), Touch(32, 0, True)) == (10, 40)


# --- random programs ------------------------------------------------------------------------------------------------


@dataclass
class Model:
    """Straight-line and looping accesses of two sets; a read knows the write before it in its own or an outer block."""

    rng: random.Random
    loops: list[Loop] = field(default_factory=list[Loop])
    touches: dict[int, list[Touch]] = field(default_factory=lambda: {0: [], 1: []})
    position: int = 0

    def block(self, loop: int | None, depth: int, written: dict[int, int | None]) -> list[tuple[object, ...]]:
        """A random block: ('w' | 'r', set, position) or ('loop', block); `written` maps sets to the writer's loop."""
        body: list[tuple[object, ...]] = []
        for _ in range(self.rng.randint(1, 4)):
            self.position += 1
            if depth and self.rng.random() < 0.35:
                index = len(self.loops)
                self.loops.append(Loop(self.position, self.position, loop))
                start = self.position
                inner = self.block(index, depth - 1, dict(written))
                self.position += 1
                self.loops[index] = Loop(start, self.position, loop)
                body.append(("loop", inner))
                continue
            which = self.rng.randint(0, 1)
            if self.rng.random() < 0.5:
                written[which] = loop
                self.touches[which].append(Touch(self.position, loop, False))
                body.append(("w", which, self.position))
            else:
                known = which in written
                since = written.get(which)
                self.touches[which].append(Touch(self.position, loop, True, since, known))
                body.append(("r", which, self.position))
        return body


def trace(body: list[tuple[object, ...]], trips: random.Random) -> list[tuple[object, ...]]:
    out: list[tuple[object, ...]] = []
    for node in body:
        if node[0] == "loop":
            for _ in range(trips.randint(0, 3)):
                out += trace(node[1], trips)  # pyright: ignore[reportArgumentType]
        else:
            out.append(node)
    return out


def test_sets_with_lives_apart_never_need_their_bytes_at_once():
    apart = 0
    for seed in range(1500):
        model = Model(random.Random(seed))
        body = model.block(None, 2, {})
        lives = [life_of(model.touches[which], model.loops) for which in (0, 1)]
        if not model.touches[0] or not model.touches[1] or lives[0].meets(lives[1]):
            continue
        apart += 1
        for run in range(3):
            # both sets on the same bytes: whoever reads must find its own last write
            holder: int | None = None
            wrote: set[int] = set()
            for kind, which, _ in trace(body, random.Random(run)):
                assert isinstance(which, int)
                if kind == "w":
                    holder = which
                    wrote.add(which)
                elif which in wrote:
                    assert holder == which, seed
    assert apart > 100
