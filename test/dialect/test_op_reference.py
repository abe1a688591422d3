"""docs/ops.md is what the op table says, and says something of every row."""

from pto_buf.dialect.table import ROWS
from support.op_reference import FAMILIES, PAGE, reference


def test_the_page_is_current():
    assert PAGE.read_text() == reference(), "run `make docs`"


def test_every_row_has_a_section_and_every_form_a_line():
    assert {row.dsl for rows in FAMILIES.values() for row in rows} == {row.dsl for row in ROWS}
    text = PAGE.read_text()
    for row in ROWS:
        heading = f"\n### `pto.{row.mnemonic}`: `pl.tile.{row.dsl}`"
        section = text[text.index(heading) + 1 :].partition("\n#")[0]
        for form in row.forms:
            assert f"| {', '.join(form.pipes)} | " in section
            assert all(space.value in section for space in form.spaces.values())
            assert all(target in section for target in form.targets)
