"""The protocol of leases, checked over every path, and which lease each access belongs to.

A lease begins at the first write of a slot after it was free (never written, released, or taken over by the next
lease) and ends at its release or at the next first write. Updates, partial writes and in-place ops continue it.
"""

from dataclasses import dataclass
from itertools import chain

from pto_buf.errors import Diagnostic
from pto_buf.slots.complaints import Complaints
from pto_buf.slots.explore import Explorer, State, TooManyStatesError
from pto_buf.slots.facts import NO_FACTS
from pto_buf.slots.flow import Flow, FlowBuilder
from pto_buf.slots.forms import Atoms
from pto_buf.slots.held import Held
from pto_buf.slots.nesting import bind_counters
from pto_buf.slots.program import Block, Program, SlotSet
from pto_buf.slots.scopes import Scopes, scopes_of
from pto_buf.slots.slices import slices
from pto_buf.slots.typestate import Rules


@dataclass(frozen=True)
class Verdict:
    """What is wrong with a program, in program order, and, if nothing is, how leases flow through it."""

    errors: tuple[Diagnostic, ...]
    flow: Flow


def analyse(program: Program) -> Verdict:
    """Check every rule of the slot protocol on every path, for all trip counts, and find the leases of each access."""
    atoms = Atoms()
    nesting = bind_counters(atoms, program.checked or program.body)
    complaints = Complaints(program)
    flow = FlowBuilder()
    for key, block in slices(program).items():
        if block:
            slots = program.sets[key]
            _check_set(scopes_of(atoms, nesting, block, key), slots, block, complaints, flow)
    return Verdict(complaints.diagnostics(), flow.flow())


def _check_set(scopes: Scopes, slots: SlotSet, block: Block, complaints: Complaints, flow: FlowBuilder) -> None:
    rules = Rules(scopes, slots, block, complaints, flow)
    explorer = Explorer(scopes, rules)
    rules.explorer = explorer
    try:
        final = explorer.run(block, [State(NO_FACTS, Held(((None,),) * slots.count))])
    except TooManyStatesError as err:
        complaints.too_many_states(slots, err.place)
        return
    for state in final:
        for lease in chain.from_iterable(state.held.slots):
            if lease is not None and lease.opener is not None and not lease.read:
                flow.unread(lease.opener, None)
    rules.finish()
