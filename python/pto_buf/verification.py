"""Checking IR between passes: xDSL's verifiers, dominance, and the place of every op that fails.

xDSL raises the first failure without saying which op it belongs to, and does not check that values are defined
before they are used.
"""

from collections.abc import Hashable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import cast

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, UnregisteredOp
from xdsl.ir import Block, Operation, OpResult, Region, SSAValue
from xdsl.irdl.dominance import DominanceInfo
from xdsl.traits import NoTerminator
from xdsl.utils.exceptions import VerifyException

from pto_buf.dialect.groups import VerifiedBySignature, operands_of
from pto_buf.errors import Diagnostic, DiagnosticError, Note
from pto_buf.source import place_of, worded

MAX_FAILURES = 20
"""Failures reported in one run; xDSL prints the whole module for each, and nobody reads more."""


def verify_module(module: ModuleOp) -> None:
    """Check every op, every block and the order of definitions and uses, in one walk.

    Raises DiagnosticError with the failures of all ops. An op is not asked when something inside it failed already.
    """
    _Walk(ask_ops=True).run(module)


def verify_dominance(module: ModuleOp) -> None:
    """Check only that every value is defined before it is used. Raises DiagnosticError with all that are not."""
    _Walk(ask_ops=False).run(module)


class _EnoughFailures(Exception):
    pass


@dataclass
class _Walk:
    ask_ops: bool
    visible: set[int] = field(default_factory=set[int])
    """The identities of the values that may be used: values themselves take Python to hash."""
    failures: list[Diagnostic] = field(default_factory=list[Diagnostic])
    right: set[Hashable] = field(default_factory=set[Hashable])
    """Signatures of ops of the module that were found right."""
    signed: dict[type[Operation], bool] = field(default_factory=dict[type[Operation], bool])
    """Which classes of ops have signatures: asking an op for its base classes takes as long as the rest."""

    def run(self, module: ModuleOp) -> None:
        with suppress(_EnoughFailures):
            self._op(module)
        if self.failures:
            raise DiagnosticError(*self.failures)

    def _fail(self, op: Operation, message: str, *notes: Note, kind: str) -> None:
        named = message if message.startswith(f"'{_name(op)}'") else f"'{_name(op)}': {message}"
        self.failures.append(Diagnostic(named, place_of(op), notes, kind=kind))
        if len(self.failures) == MAX_FAILURES:
            raise _EnoughFailures

    def _op(self, op: Operation) -> None:
        before = len(self.failures)
        visible = self.visible
        operands = operands_of(op)
        if not visible.issuperset(map(id, operands)):
            for index, operand in enumerate(operands):
                if id(operand) not in visible:
                    self._used_too_early(op, index, operand)
        if op.regions:
            self._regions(op)
        visible.update(map(id, op.results))
        if not self.ask_ops or len(self.failures) != before:
            return
        signature = self._signature(op)
        try:
            if signature is not None and signature in self.right:
                if self.signed[type(op)]:
                    cast(VerifiedBySignature, op).verify_numbers()
                return
            op.verify(verify_nested_ops=False)
            if signature is not None:
                self.right.add(signature)
        except VerifyException as err:
            self._fail(op, worded(str(err)), kind="invalid-op")
        except Exception as err:
            # Some of xDSL's verifiers raise Exception itself for a wrong program; its subclasses are bugs.
            if type(err) is not Exception:
                raise
            self._fail(op, worded(str(err)), kind="invalid-op")

    def _signature(self, op: Operation) -> Hashable | None:
        kind = type(op)
        if kind not in self.signed:
            self.signed[kind] = issubclass(kind, VerifiedBySignature)
        # The last op of a block is asked for itself: xDSL wants it to be a terminator.
        if op.next_op is None:
            return None
        if self.signed[kind]:
            return cast(VerifiedBySignature, op).signature()
        return _constant_signature(op) if kind is ConstantOp else None

    def _regions(self, op: Operation) -> None:
        says_target = isinstance(op, ModuleOp)
        if says_target:
            self.right.clear()
        for region in op.regions:
            self._region(op, region)
        if says_target:
            self.right.clear()

    def _region(self, op: Operation, region: Region) -> None:
        blocks = tuple(region.blocks)
        if len(blocks) == 1:
            block = blocks[0]
            if self.ask_ops and block.is_empty and not op.has_trait(NoTerminator):
                self._fail(op, "its region is empty: a terminator is missing", kind="invalid-op")
            self._block(block, ())
        elif blocks:
            dominance = DominanceInfo(region)
            for block in blocks:
                self._block(block, [other for other in blocks if dominance.strictly_dominates(other, block)])

    def _block(self, block: Block, dominating: Sequence[Block]) -> None:
        before = [*block.args, *chain.from_iterable(map(_definitions, dominating))]
        self.visible.update(map(id, before))
        for op in block.ops:
            self._op(op)
        self.visible.difference_update(map(id, before), map(id, _definitions(block)))

    def _used_too_early(self, op: Operation, index: int, operand: SSAValue) -> None:
        name = f"%{operand.name_hint}" if operand.name_hint else f"operand #{index}"
        notes: tuple[Note, ...] = ()
        if isinstance(operand, OpResult):
            notes = (Note(place_of(operand.op), "the value is defined here"),)
        self._fail(op, f"{name} is used where it is not defined yet", *notes, kind="undefined-value")


def _definitions(block: Block) -> Iterable[SSAValue]:
    yield from block.args
    for op in block.ops:
        yield from op.results


def _constant_signature(op: Operation) -> Hashable | None:
    """Of an integer xDSL looks at the type alone, and takes as long over each as over ten ops that are signed."""
    value = op.properties.get("value")
    if not isinstance(value, IntegerAttr) or len(op.properties) > 1 or operands_of(op) or op.regions:
        return None
    return ConstantOp, value.get_type(), tuple([result.type for result in op.results])


def _name(op: Operation) -> str:
    return op.op_name.data if isinstance(op, UnregisteredOp) else op.name
