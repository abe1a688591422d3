"""What the op table forbids is refused where it stands, in the words of the rule; no rule is without such a test."""

import ast
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache

import pytest

from pto_buf.dialect.table import ROWS, rows_by_dsl, variants
from pto_buf.dialect.table.row import OpRow, TableError
from pto_buf.errors import Diagnostic, DiagnosticError
from pto_buf.hw import Space
from pto_buf.source import parse_text
from pto_buf.tile import DTYPE_BITS, TileSpec
from pto_buf.universe import make_context
from pto_buf.verification import verify_module
from support.op_examples import Example, examples_of, pto_module, type_text
from support.refusals import FOLDER, TABLE, Refusal, Rule, edited, refusals, watching

FILES = sorted(FOLDER.glob("*.txt"))
each_row = pytest.mark.parametrize("row", [pytest.param(row, id=row.dsl) for row in ROWS])

_make_context = cache(make_context)


def said_of(example: Example) -> tuple[Diagnostic, int]:
    """What is said of the op in the text of `example`, and the line on which the op stands."""
    text = pto_module(example)
    line = next(number for number, words in enumerate(text.splitlines(), 1) if f"pto.{example.row.mnemonic} " in words)
    return error_in(text), line


def error_in(text: str) -> Diagnostic:
    """The one thing that is wrong in `text`."""
    with pytest.raises(DiagnosticError) as raised:
        verify_module(parse_text(_make_context(), text, "f.pto"))
    (diagnostic,) = raised.value.diagnostics
    return diagnostic


def assert_refused(example: Example, message: str) -> None:
    """The op is refused, at its place, with this message behind its name."""
    said, line = said_of(example)
    assert said.message.removeprefix(f"'pto.{example.row.mnemonic}': ") == message
    assert said.place is not None
    assert (said.place.file, said.place.line) == ("f.pto", line)


@pytest.mark.parametrize("refusal", [pytest.param(r, id=r.name) for path in FILES for r in refusals(path)])
def test_what_a_rule_forbids_is_refused_in_its_words(refusal: Refusal):
    assert_refused(refusal.changed, refusal.message)


# --- rules that all rows have ---------------------------------------------------------------------------------------


def changed(example: Example, name: str, value: TileSpec) -> Example:
    return replace(example, use=replace(example.use, operands={**example.use.operands, name: value}))


@each_row
def test_a_tile_in_a_memory_that_no_form_has_is_refused(row: OpRow):
    for example in examples_of(row):
        at_target = [form for form in row.forms if example.target.name in form.targets]
        for name, tile in example.use.operands.items():
            if not isinstance(tile, TileSpec):
                continue
            allowed = list(dict.fromkeys(form.spaces[name].value for form in at_target if name in form.spaces))
            elsewhere = next(space for space in Space if space is not Space.GM and space.value not in allowed)
            moved = changed(example, name, replace(tile, space=elsewhere))
            if name in (row.accumulates, row.out.name) and row.accumulates is not None:
                name = row.accumulates  # the first of the two that are one tile
                moved = changed(moved, name, replace(tile, space=elsewhere))
            said, _ = said_of(moved)
            assert f"{elsewhere}" in said.message and said.kind == "invalid-op"
            if not any(other.mnemonic == row.mnemonic for other in ROWS if other is not row):
                assert_refused(moved, f"{name} is in {elsewhere}, must be in {' or '.join(allowed)}")


@each_row
def test_an_element_type_that_no_form_has_is_refused(row: OpRow):
    for example in examples_of(row):
        target = example.target.name
        in_spaces = [form for form in row.forms if target in form.targets and form.spaces == example.form.spaces]
        for position, name in enumerate(example.form.typed):
            value = example.use.operands.get(name)
            if not isinstance(value, TileSpec):
                continue
            taken = {entry[position] for form in in_spaces for entry in form.dtypes[target] if position < len(entry)}
            other = next(dtype for dtype in reversed(list(DTYPE_BITS)) if dtype not in taken)
            said, _ = said_of(changed(example, name, value.retyped(other)))
            assert f"{name} {other}" in said.message or "element type" in said.message


@each_row
def test_an_operand_too_many_is_refused(row: OpRow):
    example = next(examples_of(row))
    first = next(operand for operand in row.ins if not operand.apart and operand.keyword is None)
    more = len(row.ins) + 1
    head, _, tail = pto_module(example).partition(" ins(")
    names, _, types = tail.partition(" : ")
    many = f"%{first.name}, " * more, f"{type_text(example.use.operands[first.name])}, " * more
    said = error_in(f"{head} ins({many[0]}{names} : {many[1]}{types}")
    assert said.place is not None and said.place.line == 3
    if len(variants()[row.mnemonic]) == 1:
        assert f"'pto.{row.mnemonic}': takes {len(row.ins)} input" in said.message
        assert said.message.endswith(f"found {more + sum(o.name in example.use.operands for o in row.ins)}")


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, id=row.dsl)
        for row in ROWS
        if sum(not operand.optional for operand in row.ins) > 1 and len(variants()[row.mnemonic]) == 1
    ],
)
def test_an_operand_too_few_is_refused(row: OpRow):
    example = next(examples_of(row))
    first = row.ins[0]
    kept = {n: v for n, v in example.use.operands.items() if n in (first.name, *(out.name for out in row.outs))}
    said, _ = said_of(replace(example, use=replace(example.use, operands=kept)))
    assert said.message.startswith(f"'pto.{row.mnemonic}': takes {len(row.ins)} input")
    assert said.message.endswith("found 1")


@pytest.mark.parametrize(
    ("dsl", "edit", "message"),
    [
        ("load", "src.shape=?x128", "the tile's shape must be known"),
        ("extract", "", "the window's shape and space must be given"),
        ("move_zz", "", "the result's shape must be given"),
        ("concat", "lhs.valid=64x?", "the valid columns of both sources must be known"),
        ("tri", "", "the shape and element type of the result must be given"),
        ("mscatter", "", "yields no tile"),
    ],
)
def test_a_result_that_cannot_be_known_is_refused(dsl: str, edit: str, message: str):
    row = rows_by_dsl()[dsl]
    use = next(examples_of(row)).use
    use = edited(use, edit) if edit else use
    with pytest.raises(TableError) as raised:
        row.result(use.operands, use.target)
    assert raised.value.message == f"'{row.mnemonic}'{' ' if message.startswith('yields') else ': '}{message}"


# --- no rule is without a test --------------------------------------------------------------------------------------


@cache
def broken_rules() -> frozenset[Rule]:
    """The rules that the refusals in the files break."""
    found: set[Rule] = set()
    for path in FILES:
        for refusal in refusals(path):
            found |= {rule for rule, holds in asked_of(refusal.changed) if not holds}
    return frozenset(found)


def asked_of(example: Example) -> list[tuple[Rule, bool]]:
    """The rules that the check of the row asks of a use, and whether they hold."""
    found: list[tuple[Rule, bool]] = []
    with watching(example.row, lambda rule, holds: found.append((rule, holds))), suppress(TableError):
        example.row.form(example.use)
    return [(rule, holds) for rule, holds in found if rule.places]


@each_row
def test_each_rule_of_a_row_has_a_refusal(row: OpRow):
    uses = [*examples_of(row), *(r.changed for path in FILES for r in refusals(path) if r.example.row is row)]
    asked = dict.fromkeys(rule for use in uses for rule, _ in asked_of(use))
    assert [str(rule) for rule in asked if rule not in broken_rules()] == []


def rule_places() -> Iterator[str]:
    """Where the checks of the table ask a rule or raise an error."""
    for path in sorted(TABLE.glob("*.py")):
        if path.name not in ("row.py", "geometry.py"):
            for line in _asking(ast.parse(path.read_text())):
                yield f"{path.name}:{line}"


def _asking(node: ast.AST) -> Iterator[int]:
    """The lines below `node`, but not of what deduces a result (it takes a request), nor of `require` itself."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef) and (
            child.name == "require" or any(argument.arg == "request" for argument in child.args.args)
        ):
            continue
        if isinstance(child, ast.Call) and ast.unparse(child.func) in ("require", "TableError"):
            yield child.lineno
        yield from _asking(child)


def test_each_place_of_the_table_that_asks_is_reached():
    broken = {rule.places[-1] for rule in broken_rules()}
    places = list(rule_places())
    assert len(places) > 100
    assert [place for place in places if place not in broken] == []
