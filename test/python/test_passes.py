"""Pipelines: what is no pipeline, whose fault a failure is, and what is verified."""

from dataclasses import dataclass

import pytest
from xdsl.context import Context
from xdsl.dialects import func, test
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Block, Region
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from pto_buf.errors import DiagnosticError, Place, UsageError
from pto_buf.passes import BugError, PassRun, available_passes, parse_passes, run_passes
from pto_buf.source import parse_text
from pto_buf.universe import make_context


@dataclass(frozen=True)
class Count(ModulePass):
    """Adds ops."""

    name = "test-count"
    times: int = 1
    slot_names: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for _ in range(self.times):
            op.body.block.add_op(test.TestOp())


class Fails(ModulePass):
    name = "test-fails"
    raised: Exception = KeyError("x")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise self.raised


class LeavesInvalid(ModulePass):
    name = "test-leaves-invalid"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        op.body.block.add_op(func.FuncOp("f", FunctionType.from_lists([], []), Region(Block())))


TABLE = {one.name: (lambda one=one: one) for one in (Count, Fails, LeavesInvalid)}


def module() -> ModuleOp:
    return parse_text(make_context(), '"test.op"() : () -> ()', "k.mlir")


def test_passes_with_options():
    assert parse_passes('test-count,test-count{times=3 slot-names="a","b"}', TABLE) == (Count(), Count(3, ("a", "b")))
    assert parse_passes("", TABLE) == ()


@pytest.mark.parametrize(
    ("spec", "words", "help"),
    [
        ("test-cuont", "there is no pass 'test-cuont'", "did you mean 'test-count'?"),
        ("quite-else", "there is no pass 'quite-else'", "--list-passes shows all"),
        ("test-count{time=3}", "pass 'test-count': Provided arguments", "its options are: times, slot-names"),
        ("test-count{times=x}", "pass 'test-count': Incompatible types", "its options are: times, slot-names"),
        ("test-fails{times=3}", "pass 'test-fails': Provided arguments", "it has no options"),
        ("test-count{", "'test-count{' is no pass pipeline", None),
        ("test-count test-count", "'test-count test-count' is no pass pipeline", None),
        (";", "';' is no pass pipeline", None),
    ],
)
def test_what_is_no_pipeline_is_a_usage_error(spec: str, words: str, help: str | None):
    with pytest.raises(UsageError) as caught:
        parse_passes(spec, TABLE)
    assert caught.value.message.startswith(words)
    assert caught.value.help == help or (help is None and caught.value.help)


def test_passes_run_in_order_and_are_told_of():
    program, runs = module(), list[tuple[str, int]]()

    def after(op: ModuleOp, run: PassRun) -> None:
        assert run.seconds >= 0
        runs.append((run.name, len(op.body.block.ops)))

    run_passes(make_context(), program, [Count(2), Count()], after=after)
    assert runs == [("test-count", 3), ("test-count", 4)]


def test_a_crash_is_our_bug():
    with pytest.raises(BugError, match="pass 'test-fails' failed with KeyError: 'x'"):
        run_passes(make_context(), module(), [Fails()])


def test_an_invalid_result_is_our_bug():
    with pytest.raises(
        BugError, match=r"pass 'test-leaves-invalid' left an invalid program:\nk.mlir:1:1: error: 'func"
    ):
        run_passes(make_context(), module(), [LeavesInvalid()])


def test_what_the_last_pass_leaves_is_always_verified(monkeypatch: pytest.MonkeyPatch):
    seen: list[ModuleOp] = []
    monkeypatch.setattr("pto_buf.passes.verify_module", seen.append)
    run_passes(make_context(), module(), [Count(), Count()])
    assert len(seen) == 2
    run_passes(make_context(), module(), [Count(), Count()], verify_each=False)
    assert len(seen) == 3
    monkeypatch.undo()
    with pytest.raises(
        BugError, match=r"a pass \(verifying behind each tells which\) left an invalid program:\nk.mlir"
    ):
        run_passes(make_context(), module(), [LeavesInvalid()], verify_each=False)


def test_a_refusal_is_the_programs_fault(monkeypatch: pytest.MonkeyPatch):
    ours = DiagnosticError.at(Place("k.mlir", 7, 1), "not so")
    for raised, words in [
        (ours, "k.mlir:7:1: error: not so"),
        (PassFailedException("no"), "k.mlir:1:1: error: pass 'test-fails': no"),
    ]:
        monkeypatch.setattr(Fails, "raised", raised)
        with pytest.raises(DiagnosticError) as caught:
            run_passes(make_context(), module(), [Fails()])
        assert str(caught.value) == words


def test_xdsls_passes_are_there_too():
    (one,) = parse_passes("canonicalize", available_passes())
    assert one.name == "canonicalize"
