"""What a person is told about a broken rule of the slot protocol: the rule, both places, the path, the lever."""

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field

from pto_buf.dialect.table.row import Role
from pto_buf.errors import Diagnostic, Note, Place
from pto_buf.hw import MAX_SLOTS
from pto_buf.slots.flow import SiteKey
from pto_buf.slots.names import blocks_of
from pto_buf.slots.program import Block, Loop, Node, Op, Program, Release, SlotSet, While
from pto_buf.slots.terms import Apply, Const, Fn, Opaque, Term, leaves
from pto_buf.slots.wording import Path, modulo_text, term_text

INDEX_OUT_OF_RANGE = "slot-index-out-of-range"
READ_BEFORE_WRITE = "read-before-write"
CLOBBER = "clobber"
USE_AFTER_RELEASE = "use-after-release"
RELEASE_MISUSE = "release-misuse"
TOO_COMPLEX = "slots-too-complex"

_PRODUCT_LEVER = (
    "compare the counters themselves (i + 1 < m or j + 1 < n, not i * n + j + 1 < m * n), "
    "or run one loop over the product"
)


@dataclass(frozen=True)
class Witness:
    """A slot and the path on which something happens to it."""

    slot: int
    path: Path


@dataclass
class Complaints:
    """Each broken rule once, at the place where it is broken, with the first path that shows it."""

    program: Program
    _found: dict[tuple[object, ...], Diagnostic] = field(default_factory=dict[tuple[object, ...], Diagnostic])

    def __post_init__(self) -> None:
        self._nodes: dict[int, Node] = {}
        self._around: dict[int, tuple[Node, ...]] = {}
        self._index(self.program.checked or self.program.body, ())

    def _index(self, block: Block, around: tuple[Node, ...]) -> None:
        for node in block:
            self._nodes[node.key] = node
            self._around[node.key] = around
            for inner in blocks_of(node):
                self._index(inner, (*around, node))

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        return tuple(self._found.values())

    def has_wrong_index(self, slots: SlotSet) -> bool:
        """Whether an access of the set names no slot: what it would have read or written is not known."""
        return any(key[0] == INDEX_OUT_OF_RANGE and key[2] == slots.key for key in self._found)

    def as_written(self, site: SiteKey) -> Hashable:
        """Equal for an access and its copies: a schedule copies the body of a loop, and each copy keeps its place."""
        op = self._op(site)
        return site if op.place is None else (op.place, op.name, site.access)

    def _add(
        self,
        key: tuple[object, ...],
        kind: str,
        place: Place | None,
        message: str,
        *notes: Note,
        help: str | None = None,
        path: Path | None = None,
    ) -> None:
        if path is not None and not path.is_certain:
            message += ": cannot prove that this does not happen, since it hangs on a product of run-time numbers"
            help = _PRODUCT_LEVER
        self._found[key] = Diagnostic(message, place, notes, help, kind)

    def _place(self, key: int) -> Place | None:
        return self._nodes[key].place

    def _op(self, site: SiteKey) -> Op:
        node = self._nodes[site.op]
        assert isinstance(node, Op)
        return node

    # --- indices ---

    def outside(
        self, slots: SlotSet, term: Term, place: Place | None, value: int | None, when: Callable[[], Path]
    ) -> None:
        """The index is `value`, which names no slot; None where it cannot be told what it is."""
        key = (INDEX_OUT_OF_RANGE, place, slots.key)
        if key in self._found:
            return
        text, count = term_text(term), slots.count
        has = f"'{slots.name}' has {_slots(count)} (0 to {count - 1})"
        if value is None:
            message = f"cannot prove that slot index {text} is within [0, {count}): {has}"
        elif text == str(value):
            message = f"slot index {value} is outside [0, {count}): {has}"
        else:
            words = when().words
            is_value = f"can be {value}" if words in ("", f"{text} = {value}") else f"is {value} when {words}"
            message = f"slot index {text} {is_value}, outside [0, {count}): {has}"
        help = _index_lever(term, slots)
        if value is not None and value < 0 and not isinstance(term, Const):
            help = f"keep the index from going below 0: add a multiple of {count} before its remainder is taken"
        self._add(key, INDEX_OUT_OF_RANGE, place, message, self._declared(slots), help=help, path=when())

    # --- reads ---

    def unwritten(self, slots: SlotSet, site: SiteKey, slot: int, when: Callable[[], Path]) -> None:
        """A slot is read, or continued, that nothing has written on this path."""
        key = (READ_BEFORE_WRITE, site)
        if key in self._found:
            return
        op, path = self._op(site), when()
        updates = op.accesses[site.access].role is Role.UPDATE
        verb = "continues" if updates else "reads"
        message = f"'{op.name}' {verb} {_slot(slots, slot)}, which is not written{path.when}"
        notes, help = self._missing_write(slots, site)
        if updates:
            help = "begin with an op that writes all of the slot"
        self._add(key, READ_BEFORE_WRITE, op.place, message, *notes, help=help, path=path)

    def unfilled(self, slots: SlotSet, site: SiteKey, slot: int, opener: int, when: Callable[[], Path]) -> None:
        """A slot is read of which only parts are written on this path."""
        key = (READ_BEFORE_WRITE, site)
        if key in self._found:
            return
        op, path = self._op(site), when()
        message = f"'{op.name}' reads {_slot(slots, slot)}, of which only a part is written{path.when}"
        note = Note(self._place(opener), "the first part is written here")
        help = "write the other parts before, or begin with an op that writes all of the slot"
        self._add(key, READ_BEFORE_WRITE, op.place, message, note, help=help, path=path)

    def _missing_write(self, slots: SlotSet, site: SiteKey) -> tuple[list[Note], str]:
        """Why the write may not have happened: the last one before the read stands where the path need not lead."""
        around = self._around[site.op]
        writers = [op for op in self._writers(slots) if op.key != site.op]
        before = [op for op in writers if op.key < site.op] or writers
        if not before:
            return [self._declared(slots)], "write the slot before it is read"
        writer = before[-1]
        for node in self._around[writer.key]:
            if node in around:
                continue
            if isinstance(node, Loop | While):
                note = Note(node.place, "the loop that writes it may run no trips, or may not reach this slot")
                return [note], "write the slot before the loop, or make sure that the loop runs (peel its first step)"
            return [Note(node.place, "it is written only in one arm of this branch")], "write the slot in both arms"
        return [Note(writer.place, "it is written here, in another slot or later")], "write the slot before it is read"

    def _writers(self, slots: SlotSet) -> Iterator[Op]:
        for node in self._nodes.values():
            if isinstance(node, Op) and any(a.slots.key == slots.key and a.role.writes for a in node.accesses):
                yield node

    def scratched(self, slots: SlotSet, site: SiteKey, slot: int, opener: SiteKey) -> None:
        """A slot is read that an op used as working space."""
        op = self._op(site)
        message = f"'{op.name}' reads {_slot(slots, slot)}, which only holds the scratch of another op"
        note = Note(self._place(opener.op), "used as scratch here")
        self._add((READ_BEFORE_WRITE, site), READ_BEFORE_WRITE, op.place, message, note, help="write the slot first")

    def released(
        self, slots: SlotSet, site: SiteKey, slot: int, opener: int, release: int, when: Callable[[], Path]
    ) -> None:
        """The lease that the op `opener` began is used, and is over on this path."""
        key = (USE_AFTER_RELEASE, site)
        if key in self._found:
            return
        op, path, help = self._op(site), when(), "move the release behind this use"
        message = f"'{op.name}' uses {_slot(slots, slot)} after its release{path.when}"
        notes = [Note(self._place(release), "released here")]
        if release > site.op:  # in an earlier trip of a loop around both
            notes.append(Note(self._place(opener), "taken here, and not again since"))
            help = "write the slot before this use in every trip"
            if self._loop_of(release, site.op) not in self._around[opener]:
                help = "move the release behind the loop: the lease was taken outside of it"
        self._add(key, USE_AFTER_RELEASE, op.place, message, *notes, help=help, path=path)

    def _loop_of(self, *ops: int) -> Node | None:
        """The innermost loop around all of these."""
        first, *others = (self._around[op] for op in ops)
        shared = (node for node in reversed(first) if isinstance(node, Loop | While))
        return next((loop for loop in shared if all(loop in around for around in others)), None)

    # --- writes ---

    def overwritten(self, slots: SlotSet, writer: int, over: SiteKey, site: SiteKey, witness: Witness) -> None:
        """The value of `writer` is named at `site`, but the write `over` has taken its slot."""
        key = (CLOBBER, over.op, writer)
        if key in self._found:
            return
        op = self._op(over)
        message = (
            f"'{op.name}' overwrites {_slot(slots, witness.slot)}{witness.path.when}, "
            f"whose value is still needed{self._doubt(over, writer)}"
        )
        notes = (
            Note(
                self._place(writer),
                "the value is taken up here" if self._takes_up(writer) else "the value was written here",
            ),
            Note(self._place(site.op), "and is named here"),
        )
        self._add(key, CLOBBER, op.place, message, *notes, help=_more_slots(slots), path=witness.path)

    def _takes_up(self, key: int) -> bool:
        node = self._nodes[key]
        return isinstance(node, Op) and node.takes_up is not None

    def never_read(self, slots: SlotSet, opener: SiteKey, over: SiteKey, witness: Witness) -> None:
        """The write `over` ends a lease that no path reads."""
        key = (CLOBBER, over.op, opener.op)
        if key in self._found:
            return
        op = self._op(over)
        message = (
            f"'{op.name}' overwrites {_slot(slots, witness.slot)}{witness.path.when}, "
            f"whose value nothing has read{self._doubt(over, opener.op)}"
        )
        note = Note(self._place(opener.op), "the value was written here")
        self._add(key, CLOBBER, op.place, message, note, help=_more_slots(slots), path=witness.path)

    def _doubt(self, over: SiteKey, writer: int) -> str:
        """Said where an index holds an unknown: equality was assumed, not shown."""
        node, mine = self._nodes[writer], self._op(over).accesses[over.access]
        for access in node.accesses if isinstance(node, Op) else ():
            if access.slots != mine.slots or access.term == mine.term:
                continue
            if any(isinstance(leaf, Opaque) for term in (access.term, mine.term) for leaf in leaves(term)):
                return f": cannot prove that the indices {term_text(access.term)} and {term_text(mine.term)} differ"
        return ""

    def not_in_place(self, slots: SlotSet, site: SiteKey, read: int, slot: int) -> None:
        """An op writes the slot it reads, which its row does not allow."""
        op = self._op(site)
        source = op.accesses[read].operand
        message = f"'{op.name}' writes {_slot(slots, slot)}, which it reads as {source}; it cannot work in place"
        self._add((CLOBBER, site, read), CLOBBER, op.place, message, self._declared(slots), help="write another slot")

    # --- releases ---

    def release_of_nothing(self, release: Release, slot: int, when: Callable[[], Path]) -> None:
        """A slot is released that was never taken on this path."""
        key = (RELEASE_MISUSE, release.key)
        if key in self._found:
            return
        path = when()
        message = f"releases {_slot(release.slots, slot)}, which is not taken{path.when}"
        note = self._declared(release.slots)
        self._add(key, RELEASE_MISUSE, release.place, message, note, help="write it first", path=path)

    def second_release(self, release: Release, slot: int, opener: int, first: int, when: Callable[[], Path]) -> None:
        """The lease that the op `opener` began is released, and is over on this path."""
        key = (RELEASE_MISUSE, release.key)
        if key in self._found:
            return
        path, loop, name = when(), self._loop_of(release.key), _slot(release.slots, slot)
        message = f"releases {name} again{path.when}"
        if first != release.key or loop is None:
            message = f"releases {name} a second time{path.when}"
            note, help = Note(self._place(first), "first released here"), "release a lease once"
        elif loop in self._around[opener]:
            note = Note(self._place(opener), "taken here, and not again since")
            help = "release only what the same trip has written"
        else:
            message += ": the lease was taken outside of this loop"
            note, help = Note(loop.place, "each trip of this loop releases it"), "move the release behind the loop"
        self._add(key, RELEASE_MISUSE, release.place, message, note, help=help, path=path)

    def release_of_ended(self, release: Release, slot: int, over: SiteKey) -> None:
        """The named value's lease was ended by another write."""
        message = f"releases a value whose lease is over: another one holds {_slot(release.slots, slot)}"
        note = Note(self._place(over.op), "taken over here")
        self._add(
            (RELEASE_MISUSE, release.key), RELEASE_MISUSE, release.place, message, note, help="release it earlier"
        )

    def too_many_states(self, slots: SlotSet, place: Place | None) -> None:
        message = f"the ways in which '{slots.name}' can be used here are too many to follow"
        help = "let fewer run-time numbers choose the slot: one counter (i % N), or an index carried from trip to trip"
        self._add((TOO_COMPLEX, slots.key), TOO_COMPLEX, place, message, self._declared(slots), help=help)

    @staticmethod
    def _declared(slots: SlotSet) -> Note:
        return Note(slots.place, f"'{slots.name}' is declared here")


def _index_lever(term: Term, slots: SlotSet) -> str:
    match term:
        case Apply(Fn.REMU, _, Const(modulus)) if slots.count < modulus <= MAX_SLOTS:
            return f"use % {slots.count} instead of % {modulus}, or give '{slots.name}' {modulus} slots"
        case _:
            return f"take the index modulo the number of slots: {modulo_text(term, slots.count)}"


def _slot(slots: SlotSet, number: int) -> str:
    return f"'{slots.name}'" if slots.count == 1 else f"slot {number} of '{slots.name}'"


def _slots(count: int) -> str:
    return "1 slot" if count == 1 else f"{count} slots"


def _more_slots(slots: SlotSet) -> str:
    if slots.owned:
        return "read the value before this write"
    return f"read the value before this write, choose another slot, or give '{slots.name}' one more"
