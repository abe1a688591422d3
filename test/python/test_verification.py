"""Every op is verified, values are defined before they are used, and failures name their places."""

import pytest
from xdsl.builder import ImplicitBuilder
from xdsl.dialects import arith, func, scf, test
from xdsl.dialects.builtin import FunctionType, IndexType, ModuleOp, i1
from xdsl.ir import Block, Region
from xdsl.utils.exceptions import VerifyException

from pto_buf.dialect.ptobuf import SlotSelectOp
from pto_buf.errors import DiagnosticError, Place
from pto_buf.source import parse_text
from pto_buf.universe import make_context
from pto_buf.verification import MAX_FAILURES, verify_dominance, verify_module


def parse(text: str) -> ModuleOp:
    return parse_text(make_context(), text, "k.mlir")


def failures(module: ModuleOp) -> list[str]:
    with pytest.raises(DiagnosticError) as caught:
        verify_module(module)
    return str(caught.value).splitlines()


def test_a_value_used_before_it_is_defined():
    module = parse(
        "func.func @f(%c: index) {\n  %a = arith.addi %c, %b : index\n  %b = arith.addi %c, %c : index\n  return\n}"
    )
    with pytest.raises(DiagnosticError) as caught:
        verify_dominance(module)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.message == "'arith.addi': %b is used where it is not defined yet"
    assert diagnostic.place == Place("k.mlir", 2, 3)
    assert diagnostic.notes[0].place == Place("k.mlir", 3, 3)
    assert failures(module) == [str(caught.value)]


def test_a_value_that_leaves_its_loop():
    module = ModuleOp([])
    with ImplicitBuilder(module.body):
        zero = arith.ConstantOp.from_int_and_width(0, IndexType())
        body = Block(arg_types=[IndexType()])
        scf.ForOp(zero, zero, zero, [], body)
        test.TestOp([body.args[0]])
    with ImplicitBuilder(body):
        scf.YieldOp()
    assert failures(module) == ["error: 'test.op': operand #0 is used where it is not defined yet [undefined-value]"]


def test_values_of_dominating_blocks_are_defined_and_of_others_are_not():
    text = """func.func @f(%c: i1) {{
  %a = arith.constant 0 : index
  cf.cond_br %c, ^left, ^right
^left:
  %b = arith.addi %a, %a : index
  cf.br ^end
^right:
  cf.br ^end
^end:
  %d = arith.addi %a, {used} : index
  return
}}"""
    verify_module(parse(text.format(used="%a")))
    assert failures(parse(text.format(used="%b"))) == [
        "k.mlir:10:3: error: 'arith.addi': %b is used where it is not defined yet [undefined-value]"
    ]


def test_all_failures_are_reported_with_their_places():
    text = "func.func @f() -> i1 {\n  return\n}\nfunc.func @g(%c: i1) {\n  scf.if %c {\n    return\n  }\n  return\n}"
    assert [line.split(" error")[0] for line in failures(parse(text))] == ["k.mlir:2:3:", "k.mlir:6:5:"]


def test_the_number_of_failures_is_bounded():
    text = "".join(f"func.func @f{i}() -> i1 {{\n  return\n}}\n" for i in range(MAX_FAILURES + 5))
    assert len(failures(parse(text))) == MAX_FAILURES


def test_an_empty_region_lacks_a_terminator():
    function = func.FuncOp("f", FunctionType.from_lists([], []), Region(Block()))
    assert failures(ModuleOp([function])) == [
        "error: 'func.func': its region is empty: a terminator is missing [invalid-op]"
    ]
    verify_module(ModuleOp([]))


def test_a_bug_in_a_verifier_is_not_blamed_on_the_user(monkeypatch: pytest.MonkeyPatch):
    module = ModuleOp([test.TestOp(result_types=[i1])])

    def verifier(raised: Exception):
        def verify_(self: test.TestOp) -> None:
            raise raised

        return verify_

    monkeypatch.setattr(test.TestOp, "verify_", verifier(KeyError("x")))
    with pytest.raises(KeyError):
        verify_module(module)
    for raised in (VerifyException("Not so."), Exception("Not so.")):
        monkeypatch.setattr(test.TestOp, "verify_", verifier(raised))
        assert failures(module) == ["error: 'test.op': not so [invalid-op]"]


def selects(indices: str) -> ModuleOp:
    lines = "".join(f"%s{n} = ptobuf.slot_select %set[%c{index}] : {SET}\n" for n, index in enumerate(indices))
    constants = "".join(f"%c{index} = arith.constant {index} : index\n" for index in sorted(set(indices)))
    return parse(f'func.func @f() {{\n%set = ptobuf.alloc_slots "s" : {SET}\n{constants}{lines}return\n}}')


SET = "!ptobuf.slots<2, vec, 16x64xf32>"


def test_ops_that_are_alike_are_verified_once(monkeypatch: pytest.MonkeyPatch):
    asked: list[SlotSelectOp] = []

    def ask(op: SlotSelectOp) -> None:
        asked.append(op)

    monkeypatch.setattr(SlotSelectOp, "verify_", ask)
    module = selects("0" * 50 + "1" * 50)
    verify_module(module)
    assert len(asked) == 2
    verify_module(module)
    assert len(asked) == 4


def test_each_op_that_differs_in_a_constant_is_verified():
    places = [line.partition(": ")[0] for line in failures(selects("0101202")) if "outside [0, 2)" in line]
    assert places == ["k.mlir:10:1", "k.mlir:12:1"]


def test_ops_of_a_module_for_another_chip_are_verified_again():
    tile = "!pto.tile_buf<vec, 16x64xf16>"
    op = f"pto.taddrelu ins(%t, %t : {tile}, {tile}) outs(%t : {tile})"
    module = 'module attributes {{pto.target_arch = "{arch}"}} {{ func.func @f(%t: {tile}) {{\n{op}\nreturn }} }}\n'
    inner = [module.format(arch=arch, tile=tile, op=op) for arch in ("a3", "a5")]
    assert failures(parse(f"module {{\n{inner[0]}{inner[1]}}}")) == [
        "k.mlir:6:1: error: 'pto.taddrelu': 'taddrelu' does not exist on a5 [invalid-op]"
    ]


def test_a_last_op_must_end_its_block_though_one_like_it_is_right():
    barrier = "pto.barrier #pto.pipe<PIPE_V>\n"
    (line,) = failures(parse(f"func.func @f() {{\n{barrier}{barrier}}}"))
    assert line.startswith("k.mlir:3:1: error: 'pto.barrier'")
