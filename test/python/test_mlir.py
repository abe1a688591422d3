"""Modules go over to MLIR's own bindings, and what MLIR finds wrong has the place in the user's text."""

import sys
from types import ModuleType

import pytest

from pto_buf import mlir
from pto_buf.errors import DiagnosticError, Place
from pto_buf.mlir import BINDINGS, find_bindings, to_mlir
from pto_buf.source import parse_text
from pto_buf.universe import make_context
from support.op_examples import examples_of, pto_module

_TWICE = """\
func.func @f() {
  func.return
}
func.func @f() {
  func.return
}
"""


def test_bindings_that_are_missing_are_named_and_what_brings_them(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(mlir, "BINDINGS", ("no_such_mlir.ir", "no_such_iree.ir"))
    with pytest.raises(ImportError) as raised:
        to_mlir(parse_text(make_context(), _TWICE, "f.mlir"))
    said = str(raised.value)
    assert "no MLIR Python bindings can be imported (tried: no_such_mlir.ir, no_such_iree.ir)" in said
    assert "pip install iree-base-compiler " in said
    assert "mlir-python-bindings on PyPI is an empty placeholder" in said


def test_the_first_that_can_be_imported_is_taken(monkeypatch: pytest.MonkeyPatch):
    upstream = ModuleType("mlir.ir")
    monkeypatch.setitem(sys.modules, "mlir", ModuleType("mlir"))
    monkeypatch.setitem(sys.modules, "mlir.ir", upstream)
    assert find_bindings() is upstream
    assert BINDINGS[1] == "iree.compiler.ir"


if sys.version_info < (3, 12):  # where the extra `dev` brings bindings

    def test_every_row_goes_over():
        from pto_buf.dialect.table import ROWS

        ir = find_bindings()
        ours, theirs = make_context(), ir.Context()
        for row in ROWS:
            example = next(examples_of(row))
            assert isinstance(to_mlir(parse_text(ours, pto_module(example), "written"), theirs), ir.Module)

    def test_ops_keep_their_places():
        module = to_mlir(parse_text(make_context(), "func.func @f() {\n  func.return\n}\n", "f.mlir"))
        function = next(iter(module.body.operations))
        assert str(function.location) == 'loc("f.mlir":1:1)'

    def test_what_mlir_finds_wrong_has_the_place_in_the_users_text():
        with pytest.raises(DiagnosticError) as raised:
            to_mlir(parse_text(make_context(), _TWICE, "f.mlir"))
        (said,) = raised.value.diagnostics
        assert said.message == "redefinition of symbol named 'f'"
        assert said.place == Place("f.mlir", 4, 1)
        assert [note.place for note in said.notes] == [Place("f.mlir", 1, 1)]
