"""The reference of all tile ops, made from the op table: `make docs` writes it to docs/ops.md.

What the forms do not say outright, which layouts an operand may have, is found by asking the rows themselves.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pto_buf.dialect.table import (
    compare,
    convert,
    cube,
    elementwise,
    expand,
    gather,
    indirect,
    memory,
    moves,
    quantise,
    rearrange,
    reduce,
    scalar,
    sort,
)
from pto_buf.dialect.table.dtypes import signs
from pto_buf.dialect.table.row import Form, Kind, Operand, OpRow, Role, TableError
from pto_buf.dialect.table.vocabulary import ENUMS, OLDEST, Version
from pto_buf.tile import DTYPE_BITS, FP8, BLayout, SLayout, TileSpec
from support.op_examples import Example, examples_of

PAGE = Path(__file__).parents[2] / "docs" / "ops.md"

FAMILIES: Mapping[str, Sequence[OpRow]] = {
    "Between global memory and tiles": memory.MEMORY_ROWS,
    "Between tiles of different memories": moves.MOVE_ROWS,
    "Matrix unit": cube.CUBE_ROWS,
    "Elementwise": elementwise.ELEMENTWISE_ROWS,
    "With a number": scalar.SCALAR_ROWS,
    "Comparison and selection": compare.COMPARE_ROWS,
    "Reductions": reduce.REDUCE_ROWS,
    "Broadcasts": expand.EXPAND_ROWS,
    "Conversion": convert.CONVERT_ROWS,
    "Rearrangement": rearrange.REARRANGE_ROWS,
    "Sorting": sort.SORT_ROWS,
    "Gathering and scattering in tiles": gather.GATHER_ROWS,
    "Gathering from and scattering to global memory": indirect.INDIRECT_ROWS,
    "Quantisation, counting, block-scaled products": quantise.QUANTISE_ROWS,
}

LAYOUTS: Mapping[str, tuple[BLayout, SLayout]] = {
    "ND": (BLayout.ROW_MAJOR, SLayout.NONE_BOX),
    "DN": (BLayout.COL_MAJOR, SLayout.NONE_BOX),
    "NZ": (BLayout.COL_MAJOR, SLayout.ROW_MAJOR),
    "ZZ": (BLayout.ROW_MAJOR, SLayout.ROW_MAJOR),
    "ZN": (BLayout.ROW_MAJOR, SLayout.COL_MAJOR),
    "NN": (BLayout.COL_MAJOR, SLayout.COL_MAJOR),
}

_INTRO = """\
# Tile ops

Made from the op table by `make docs`; do not edit. An op has a name in `pto`, one in the DSL (`pl.tile.<name>`) and an
into form in `ptobuf`, which writes a slot. `operand?` may be left out.

Each line of an op's table is a form: where the operands are, how they may lie, which pipe runs it, and which element
types go together. `i16` stands for `si16` and `ui16` too, unless one of these is named beside it.

| layout | blayout/slayout |
|---|---|
"""

_ORDER = """
`f8*` are all 8-bit floats that MLIR spells. A pipe starts its ops in order; `order` says what an op needs behind an op
of the same pipe that it depends on: a barrier of the pipe, or nothing because the pipe waits by itself. Ops on
different pipes need a flag. Two pipes in one cell mean that sources disagree on which one it is: a fence covers both.
"""


def reference() -> str:
    """The page."""
    return "\n".join(_page()) + "\n"


def _page() -> Iterator[str]:
    yield _INTRO + "\n".join(f"| {name} | {b}/{s} |" for name, (b, s) in LAYOUTS.items())
    yield _ORDER
    for title, rows in FAMILIES.items():
        anchor = "".join(letter for letter in title.lower().replace(" ", "-") if letter.isalnum() or letter == "-")
        yield f"- [{title}](#{anchor}): {', '.join(dict.fromkeys(f'`{row.mnemonic}`' for row in rows))}"
    for title, rows in FAMILIES.items():
        yield f"\n## {title}"
        for row in rows:
            yield from _op(row)


def _op(row: OpRow) -> Iterator[str]:
    into = [f"`ptobuf.{row.into_name if row.out.kind is Kind.TILE else row.dsl}`"] if row.dsl != "read" else []
    yield f"\n### `pto.{row.mnemonic}`: {', '.join([f'`pl.tile.{row.dsl}`', *into])}\n"
    ins, outs = (", ".join(_spelt(o) for o in group if o.name not in row.refused) for group in (row.ins, row.outs))
    yield f"`ins({ins}) outs({outs})`\n"
    yield from _forms(row)
    facts = [*_facts(row)]
    if facts:
        yield ""
        yield from (f"- {fact}" for fact in facts)


def _spelt(operand: Operand) -> str:
    word = f"{operand.keyword} " if operand.keyword is not None else ""
    return f"{word}{operand.name}{'?' if operand.optional else ''}"


def _forms(row: OpRow) -> Iterator[str]:
    shown = [o for o in row.operands if o.kind is not Kind.INDEX and o.name not in row.refused]
    yield f"| on | {' | '.join(operand.name for operand in shown)} | pipe | order | element types |"
    yield "|---" * (len(shown) + 4) + "|"
    lines: dict[tuple[str, ...], list[str]] = {}
    for example in examples_of(row):
        form = example.form
        cells = [_place(example, operand) for operand in shown]
        order = "by itself" if set(form.pipes) <= example.target.ordered_pipes else "barrier"
        types = _types(form, example.target.name) + _since(form.since)
        line = (*cells, ", ".join(form.pipes), order, types)
        lines.setdefault(line, []).append(example.target.name)
    for line, targets in lines.items():
        yield f"| {', '.join(targets)} | {' | '.join(line)} |"


def _place(example: Example, operand: Operand) -> str:
    """Where an operand is and how it may lie."""
    if operand.kind is not Kind.TILE:
        return {Kind.VIEW: "gm", Kind.SCALAR: "number", Kind.I64: "i64"}[operand.kind]
    space = example.form.spaces.get(operand.name)
    if space is None or operand.name not in example.use.operands:
        return "–" if space is None else space.value
    return f"{space} {_layouts(example, operand.name)}"


def _layouts(example: Example, name: str) -> str:
    """The layouts of this operand that the row takes, the other operands being as they are."""
    tile = example.use.operands[name]
    assert isinstance(tile, TileSpec)
    taken: list[str] = []
    for word, (blayout, slayout) in LAYOUTS.items():
        operands = {**example.use.operands, name: replace(tile, blayout=blayout, slayout=slayout)}
        try:
            example.row.form(replace(example.use, operands=operands))
        except TableError:
            continue
        taken.append(word)
    return "any" if len(taken) == len(LAYOUTS) else "/".join(taken)


def _types(form: Form, target: str) -> str:
    """The element types that go together: one for all, or operand by operand."""
    entries = form.dtypes[target]
    bases = {_base(entry): None for entry in sorted(entries, key=_rank)}
    merged = list(dict.fromkeys(base if set(_signed(base)) <= entries else entry for base, entry in _paired(entries)))
    if all(len(set(entry)) == 1 for entry in merged):
        return _listed(entry[0] for entry in merged)
    if len(merged) <= 8:
        return "; ".join(" ".join(entry) for entry in merged) + f" ({' '.join(form.typed)})"
    columns = [list(dict.fromkeys(entry[at] for entry in bases if at < len(entry))) for at in range(len(form.typed))]
    if set(bases) == {(a, b) for a in columns[0] for b in columns[0] if DTYPE_BITS[a] == DTYPE_BITS[b]}:
        return f"any two of one width: {_listed(columns[0])}"
    many = "; ".join(f"{name}: {_listed(column)}" for name, column in zip(form.typed, columns, strict=True))
    return f"{many} ({len(entries)} combinations)"


def _listed(names: Iterable[str]) -> str:
    """The names, all 8-bit floats of MLIR's as one."""
    known = list(names)
    if not set(FP8) <= set(known):
        return " ".join(known)
    return " ".join(dict.fromkeys("f8*" if name in FP8 else name for name in known))


def _paired(entries: Iterable[tuple[str, ...]]) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    for entry in sorted(entries, key=_rank):
        yield _base(entry), entry


def _base(entry: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name.lstrip("su") if name[:2] in ("si", "ui") else name for name in entry)


def _signed(entry: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The entry with all its integers signed, and with all of them unsigned."""
    for at in range(3):
        yield tuple(signs(name)[at] if name[0] == "i" and name != "index" else name for name in entry)


def _rank(entry: tuple[str, ...]) -> tuple[object, ...]:
    """Integers by width, then floats by width."""
    return tuple((name[0] not in "isu", len(name.lstrip("su")), name) for name in entry)


def _facts(row: OpRow) -> Iterator[str]:
    roles = {Role.UPDATE: "is read and written in place", Role.SCRATCH: "is scratch"}
    for operand in row.operands:
        if operand.role in roles:
            yield f"`{operand.name}` {roles[operand.role]}{_room(row, operand)}{_since(operand.since)}."
    if row.accumulates is not None:
        yield f"`{row.accumulates}` is the tile that `{row.out.name}` is; the into form leaves it out."
    shared = [f"`{name}`" for operand in row.ins if (name := operand.name) in row.in_place - {row.accumulates}]
    if shared:
        yield f"`{row.out.name}` may be the same bytes as {' or '.join(shared)}."
    for attr in row.attrs:
        words = ENUMS.get(attr.type, (attr.type,))
        default = "required" if attr.required else f"default `{attr.default}`" if attr.default else "optional"
        yield f"`{attr.name}`: {' '.join(f'`{word}`' for word in words)}; {default}{_since(attr.since)}."
    for flag in sorted(row.internal_flags):
        yield f"The library raises the flag {flag[0]} to {flag[1]}, id {flag[2]}, inside: it must not be pending."
    for name in row.refused:
        yield f"`{name}` is refused: {row.refused[name]}."
    if row.window is not None:
        yield "Of the tile that it takes a window of, it touches the bytes of the window only."
    if row.since > OLDEST:
        yield f"From {_version(row.since)} on."
    for old in row.old:
        yield f"Before {_version(old.before)}: `{old.mnemonic} ins({', '.join(old.order)})`."


def _room(row: OpRow, operand: Operand) -> str:
    if operand.role is not Role.SCRATCH or row.scratch is None or operand.name != "tmp":
        return ""
    words = (row.scratch.__doc__ or "").strip().rstrip(".")
    without = " (the library does without, too)" if row.scratch_optional else ""
    if row.scratch_since > OLDEST:
        without = f" (before {_version(row.scratch_since)} the library does without, too)"
    return f": {words[:1].lower()}{words[1:]}{without}"


def _since(version: Version) -> str:
    return f" (from {_version(version)} on)" if version > OLDEST else ""


def _version(version: Version) -> str:
    return f"v{version[0]}.{version[1]}"


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(reference())
    sys.stderr.write(f"wrote {PAGE}\n")
