"""Reading files and IR text: places, complaints, bounds."""

import random
from pathlib import Path

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import ModuleOp, UnknownLoc
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriteWalker, RewritePattern

from pto_buf.errors import DiagnosticError, Place
from pto_buf.printing import text_of
from pto_buf.source import MAX_NESTING, keep_locations, parse_text, place_of, read_source
from pto_buf.universe import make_context
from pto_buf.verification import verify_module


def parse(text: str, *, first_line: int = 1, allow_unregistered: bool = False) -> ModuleOp:
    return parse_text(make_context(allow_unregistered=allow_unregistered), text, "k.mlir", first_line)


def function(body: str) -> str:
    return f"func.func @f(%c: i1) {{\n{body}\n  return\n}}"


def refusal(text: str, first_line: int = 1) -> str:
    with pytest.raises(DiagnosticError) as caught:
        parse(text, first_line=first_line)
    return str(caught.value)


# --- files -------------------------------------------------------------------------------------------------------


def test_a_file_is_read_with_or_without_byte_order_mark(tmp_path: Path):
    file = tmp_path / "k.py"
    file.write_bytes("\ufeffπ = 3\r\n".encode())
    assert read_source(str(file)).text == "π = 3\r\n"
    assert read_source(str(file)).file == str(file)


@pytest.mark.parametrize(
    ("data", "place", "words"),
    [
        (b"", "", "the file is empty"),
        (b" \n\t\n", "", "the file is empty"),
        (b"ab\n\xc3\xa9\xff", ":2:2", "this is not UTF-8 text: byte 0xff"),
        (b"ab\nc\0d", ":2:2", "this is a binary file: it holds a NUL byte"),
    ],
)
def test_what_is_no_text_is_refused_at_its_place(tmp_path: Path, data: bytes, place: str, words: str):
    file = tmp_path / "k.mlir"
    file.write_bytes(data)
    with pytest.raises(DiagnosticError) as caught:
        read_source(str(file))
    assert str(caught.value) == f"{file}{place}: error: {words} [unreadable-file]"


def test_what_cannot_be_opened_is_refused(tmp_path: Path):
    for path, words in [
        (str(tmp_path / "none.mlir"), "no such file"),
        (str(tmp_path), "this is a folder, not a file"),
        ("a\0b", "cannot read the file: embedded null byte"),
        (str(tmp_path / ("x" * 5000)), "cannot read the file: file name too long"),
    ]:
        with pytest.raises(DiagnosticError) as caught:
            read_source(path)
        assert str(caught.value) == f"{path}: error: {words} [unreadable-file]"


def test_a_huge_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "long.mlir"
    file.write_text("1234567890")
    monkeypatch.setattr("pto_buf.source.MAX_BYTES", 10)
    assert read_source(str(file)).text == "1234567890"
    monkeypatch.setattr("pto_buf.source.MAX_BYTES", 9)
    with pytest.raises(DiagnosticError, match="the file is larger than the 0 MiB that are read"):
        read_source(str(file))


# --- places ------------------------------------------------------------------------------------------------------


def test_every_op_of_the_text_has_its_place():
    text = '// a comment\nfunc.func @f() {\n  %a, %b = "test.op"() : () -> (i1, i1)\n  scf.if %a {\n  } return\n}'
    assert [(op.name, place_of(op)) for op in parse(text).walk()] == [
        ("builtin.module", Place("k.mlir", 1, 1)),
        ("func.func", Place("k.mlir", 2, 1)),
        ("test.op", Place("k.mlir", 3, 3)),
        ("scf.if", Place("k.mlir", 4, 3)),
        ("scf.yield", Place("k.mlir", 4, 3)),  # the text leaves it out: the place of the op around it
        ("func.return", Place("k.mlir", 5, 5)),
    ]


def test_a_part_of_a_file_has_the_lines_of_the_file():
    places = [place_of(op) for op in parse("func.func @f() {\n  return\n}", first_line=40).walk()]
    assert [place.line for place in places if place] == [40, 40, 41]
    words = refusal("func.func @f() {\n  retrun\n}", first_line=40)
    assert words == "k.mlir:41:3: error: there is no op 'retrun' [unknown-op]"


@pytest.mark.parametrize(
    ("written", "place"),
    [
        ('loc("user.py":7:5)', Place("user.py", 7, 5)),
        ('loc("name"("user.py":7:5))', Place("user.py", 7, 5)),
        ('loc(callsite("callee.py":1:2 at "user.py":7:5))', Place("callee.py", 1, 2)),
        ('loc(callsite(unknown at "user.py":7:5))', Place("user.py", 7, 5)),
        ('loc(fused[unknown, "user.py":7:5, "other.py":1:1])', Place("user.py", 7, 5)),
        ("loc(unknown)", Place("k.mlir", 2, 3)),
    ],
)
def test_a_written_location_wins(written: str, place: Place):
    module = parse(f'func.func @f() {{\n  "func.return"() : () -> () {written}\n}}')
    assert place_of(list(module.walk())[-1]) == place


def test_an_op_without_any_place():
    assert place_of(ModuleOp([])) is None


class Twice(RewritePattern):
    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if isinstance(op, test.TestOp):
            rewriter.replace(op, [test.TestPureOp(), test.TestPureOp(result_types=list(op.result_types))])


def test_a_rewriter_keeps_locations():
    module = parse(function('  %a = "test.op"() : () -> i1'))
    PatternRewriteWalker(Twice(), listener=keep_locations()).rewrite_module(module)
    new = [op for op in module.walk() if isinstance(op, test.TestPureOp)]
    assert [place_of(op) for op in new] == [Place("k.mlir", 2, 3)] * 2
    assert not any(isinstance(op.location, UnknownLoc) for op in new)


# --- complaints --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("func.func @f( {", "1:15: error: expected argument or type [syntax]"),
        ("builtin.module {\n", "1:17: error: an operation or '}' is expected here, but the text ends [syntax]"),
        ("  ?", "1:3: error: an operation is expected here [syntax]"),
        ("\n\x01", "2:1: error: unexpected character: \x01 [syntax]"),
        ('"a', "1:1: error: end of file reached before closing string literal [syntax]"),
        ('"test.op"() : () -> i1\n%a = i', "2:6: error: there is no op 'i' [unknown-op]"),
        ("%a = arith.constant 0 : index " * 2, "1:31: error: SSA value %a is already defined [syntax]"),
        ("// only a comment\n", "1:18: error: an operation is expected here, but the text ends [syntax]"),
    ],
)
def test_a_syntax_error_has_its_place(text: str, words: str):
    assert refusal(text) == f"k.mlir:{words}"


def test_all_undefined_values_are_reported_where_they_are_used_first():
    text = function("  %a = arith.addi %x, %y : index\n  %b = arith.addi %y, %x : index")
    assert refusal(text).splitlines() == [
        "k.mlir:2:19: error: value %x is not defined [undefined-value]",
        "k.mlir:2:23: error: value %y is not defined [undefined-value]",
    ]


def test_an_unknown_op_has_the_place_of_its_name_and_a_near_one():
    with pytest.raises(DiagnosticError) as caught:
        parse("func.func @f() {\n  %arith.adddi = // arith.adddi\n    arith.adddi\n}")
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.place, diagnostic.help) == (Place("k.mlir", 3, 5), "did you mean 'arith.addi'?")


def test_a_wrong_type_has_the_place_of_the_type():
    words = refusal("func.func @f(%a: !test.type<0>) {\n  return\n}")
    assert words.startswith("k.mlir:1:")


def test_nesting_is_bounded_and_what_is_within_can_be_processed():
    def nested(depth: int) -> str:
        return function("scf.if %c {\n" * depth + "}\n" * depth)

    module = parse(nested(MAX_NESTING - 2))  # the body of the function and that of the module are regions too
    verify_module(module)
    text = text_of(module)
    assert text == text_of(parse(text))
    assert text_of(module.clone(), generic=True)
    for depth in (MAX_NESTING, 20_000):
        assert refusal(nested(depth)) == "k.mlir:101:11: error: regions are nested more than 100 deep [syntax]"


def test_deep_attributes_are_refused():
    assert "nested too deeply to be read [nesting]" in refusal(f'"test.op"() {{a = {"[" * 5000}}} : () -> ()')


# --- what is read once -------------------------------------------------------------------------------------------


def test_a_type_text_that_was_read_before_is_the_same_type():
    tile = "!pto.tile_buf<vec, 16x16xf32>"
    module = parse(f'"test.op"() : () -> ({tile}, !pto.tile_buf<vec,16x16xf32>, {tile})')
    first, other, again = next(iter(module.body.block.ops)).result_types
    assert first is again
    assert first is not other
    assert first == other


def test_an_alias_is_looked_up_each_time():
    text = '!t = i1\n"test.op"() {a = #u} : () -> !t\n'
    assert "undefined symbol alias '#u'" in refusal(text)
    assert "() -> i1" in text_of(parse("#u = 1 : i32\n" + text), generic=True)


BODIES = ["<a>", "<a<b>>", "<a, !x.y<b<c>>, #x.z>", "<a<b<c<d>>>>", '<"a>b">', "<a -> b>", "<(a)>"]


@pytest.mark.parametrize("body", BODIES)
def test_bodies_of_any_form_read_the_same_a_second_time(body: str):
    text = f'"test.op"() {{a = #x.y{body}, b = #x.y{body}}} : () -> (!x.y{body}, !x.y{body}, i1)'
    printed = text_of(parse(text, allow_unregistered=True), generic=True)
    assert printed.count(f"#x.y{body}") == 2
    assert f"-> (!x.y{body}, !x.y{body}, i1)" in printed


def test_values_are_visible_in_their_region_only():
    arm = "  scf.if %c {\n    %a = arith.constant 0 : index\n  }\n"
    verify_module(parse(function(arm * 3)))
    text = function(arm + "  %b = arith.addi %a, %a : index")
    assert refusal(text) == "k.mlir:5:19: error: value %a is not defined [undefined-value]"


DIRT = ["", "%", "}", "{", "<", '"', "0", "!", "#x.", "(", "loc("]


def test_random_damage_never_escapes_as_anything_but_a_located_error():
    text = function("  %0 = arith.constant 0 : index\n  scf.for %i = %0 to %0 step %0 {\n    scf.if %c { }\n  }")
    verify_module(parse(text))
    draw = random.Random(7)
    for _ in range(300):
        at, length = draw.randrange(len(text)), draw.choice([0, 1, 1, 5])
        damaged = text[:at] + draw.choice(DIRT) + text[at + length :]
        try:
            verify_module(parse(damaged))
        except DiagnosticError as err:
            assert all(diagnostic.place is not None for diagnostic in err.diagnostics)
