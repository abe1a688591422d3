"""No row of the op table is half filled, and every form of every row can be used, written and read back."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from pto_buf.dialect.ptobuf import INTO_BY_DSL, STORE_BY_DSL
from pto_buf.dialect.table import ROWS, rows_by_dsl
from pto_buf.dialect.table.row import Kind, OpRow, Role
from pto_buf.dialect.table.vocabulary import PIPE_OF_CLASS
from pto_buf.hw import TARGETS
from pto_buf.printing import text_of
from pto_buf.source import parse_text
from pto_buf.universe import make_context
from pto_buf.verification import verify_module
from support.op_examples import Example, as_arrays, examples_of, pto_module, ptobuf_module

each_row = pytest.mark.parametrize("row", [pytest.param(row, id=row.dsl) for row in ROWS])


@each_row
def test_a_row_says_everything(row: OpRow):
    assert row.forms
    for form in row.forms:
        assert form.pipes
        assert set(form.targets) <= set(TARGETS) and form.targets
        tiles = [operand for operand in row.operands if operand.kind is Kind.TILE]
        assert {operand.name for operand in tiles if not operand.optional} <= set(form.spaces)
        assert set(form.spaces) <= {operand.name for operand in tiles}
        in_memory = {operand.name for operand in row.operands if operand.in_memory and operand.role is not Role.SCRATCH}
        optional = {operand.name for operand in row.operands if operand.optional}
        ruled = {row.accumulates, "bias"}  # their element types follow from the output's
        assert in_memory - optional - set(form.typed) <= ruled, "operands whose element type is not looked at"
        for dtypes in form.dtypes.values():
            assert dtypes
            assert all(len(form.typed) - len(optional) <= len(entry) <= len(form.typed) for entry in dtypes)
    assert all(operand.role is not Role.READ for operand in row.outs)
    assert callable(row.compute)
    changes_a_tile = row.out.role is Role.UPDATE and row.accumulates is None
    assert (row.deduce is None) == (row.out.kind is not Kind.TILE or changes_a_tile)
    assert (row.scratch is not None) <= any(operand.name == "tmp" for operand in row.operands)
    assert row.in_place | row.whole <= {operand.name for operand in row.operands}


def test_names_are_unique():
    assert len(rows_by_dsl()) == len(ROWS)
    made = {*INTO_BY_DSL, *STORE_BY_DSL}
    assert {row.dsl for row in ROWS} - made == {"read"}


def test_every_pipe_class_of_the_assembler_has_a_pipe():
    assert all(pipe for pipe in PIPE_OF_CLASS.values())


@each_row
def test_every_form_is_found(row: OpRow):
    for example in examples_of(row):
        assert row.form(example.use) is example.form, example.name


@each_row
def test_every_form_is_read_back_as_it_is_written(row: OpRow):
    for example in examples_of(row):
        _round_trip(pto_module(example))
        if row.dsl != "read":
            _round_trip(ptobuf_module(example))


@each_row
def test_every_form_stands_in_a_lit_test(row: OpRow):
    for example in examples_of(row):
        _, op = pto_module(example).split("{\n    ", 1)
        assert op.partition("\n")[0] in _lit_texts(example.target.pto_arch)


@cache
def _lit_texts(arch: str) -> str:
    """The round trips of all ops, as they are written down."""
    return "".join(path.read_text() for path in sorted((Path(__file__).parent / "pto" / "ops").glob(f"*_{arch}.pto")))


def _round_trip(text: str) -> None:
    module = parse_text(make_context(), text, "written")
    verify_module(module)
    assert text_of(module) == text
    generic = text_of(module, generic=True)
    assert module.is_structurally_equivalent(parse_text(make_context(), generic, "generic"))


@each_row
def test_every_row_computes_its_outputs(row: OpRow):
    for example in examples_of(row):
        found = row.compute(*as_arrays(example))
        results = found if isinstance(found, tuple) else (found,)
        expected = _output_shapes(example)
        assert [np.shape(result) for result in results] == expected, example.name


def _output_shapes(example: Example) -> list[tuple[int, ...]]:
    if example.row.dsl == "read":
        return [()]
    return [
        as_arrays(example)[0][operand.name].shape if operand.kind is not Kind.SCALAR else (4,)
        for operand in example.row.outs
        if operand.name in example.use.operands and operand.role is not Role.SCRATCH
    ]


@pytest.mark.parametrize("dsl", ["and_", "or_", "xor", "ands", "ors", "xors"])
def test_bits_of_words_of_four_bytes_are_for_a5_alone(dsl: str):
    (form,) = rows_by_dsl()[dsl].forms
    wide = {target for target, entries in form.dtypes.items() if any(entry[0] == "i32" for entry in entries)}
    assert wide == {"a5"}


@pytest.mark.parametrize("dsl", ["shl", "shr", "shls"])
def test_words_of_four_bytes_are_shifted_on_both(dsl: str):
    (form,) = rows_by_dsl()[dsl].forms
    assert all(any(entry[0] == "i32" for entry in entries) for entries in form.dtypes.values())
