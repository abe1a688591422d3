"""Small timed kernels: every load takes 100 cycles, every vector op 30, every store 50; issuing takes no time."""

from pto_buf.machine.exec import kernel_named
from pto_buf.sim.costs import Costs, Line, VectorOp
from pto_buf.sim.profile import Profile, profile
from pto_buf.sim.simulate import Launch
from support.pto_text import parse
from support.streams import stream

LOAD, ADD, STORE = 100, 30, 50
COSTS = Costs(
    clock_mhz=1000,
    launch=0,
    instruction=0,
    branch=0,
    dynamic_flag=0,
    queue=32,
    moves={"gm->vec": Line(LOAD, 1e9), "vec->gm": Line(STORE, 1e9)},
    matmul_fixed=0,
    matmul_steps={"default": 1},
    vector=VectorOp(0, ADD),
    ragged=0,
    apart=None,
)


def timed_stream(slots: int, trips: int, costs: Costs = COSTS) -> Profile:
    """The stream kernel with that many slots and trips."""
    return profile(Launch(kernel_named(parse(stream(slots)), None), {}, {"n": trips}), costs)
