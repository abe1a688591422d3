"""One legal use of every row of the op table, for every form and target, made from the row itself.

Inputs are chosen per family; outputs are what `deduce` says, scratch is what `scratch` says. So a row that cannot be
used, or whose deduced result its own rules refuse, fails the tests that walk over all rows.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pto_buf.dialect.table.row import Form, Kind, Operand, OpRow, Request, Role, Use, Value, ViewSpec
from pto_buf.dialect.tile_text import dtype_text, shape_text, tile_text
from pto_buf.hw import TARGETS, Space, Target
from pto_buf.machine.dtypes import NUMPY_DTYPES, numpy_dtype
from pto_buf.tile import DTYPE_BITS, BLayout, SLayout, TileSpec, aligned_tile, canonical_tile

ROWS_, COLS = 64, 128


@dataclass(frozen=True)
class Example:
    """A use, and the target it is legal on."""

    row: OpRow
    form: Form
    use: Use
    target: Target

    @property
    def name(self) -> str:
        spaces = "-".join(self.form.spaces.values())
        return "-".join((self.target.name, self.row.dsl, spaces, *self.form.needs))


def examples_of(row: OpRow) -> Iterator[Example]:
    """One for each form and target, the element types being the first of the form in alphabetical order."""
    for form in row.forms:
        for target_name in form.targets:
            dtypes = sorted(form.dtypes[target_name], key=lambda entry: (len(entry), entry))[0]
            yield example(row, form, TARGETS[target_name], dtypes)


def example(row: OpRow, form: Form, target: Target, dtypes: tuple[str, ...]) -> Example:
    """The use of this form with these element types."""
    named = [name for name in form.typed if not _optional(row, name) or len(dtypes) == len(form.typed)]
    types = dict(zip(named, dtypes, strict=True))
    attrs = _attrs(row, dtypes)
    operands: dict[str, Value] = {}
    for operand in row.ins:
        if operand.role is Role.SCRATCH or (operand.optional and operand.name not in (*form.needs, *types)):
            continue
        operands[operand.name] = _input(row, form, operand, types, target)
    if row.accumulates is not None:
        operands[row.accumulates] = _accumulator(row, operands, types["dst"], target)
    for out in row.outs:
        if out.optional:
            continue
        operands[out.name] = _output(row, form, out, operands, types, target, attrs)
    use = Use(row, operands, attrs, target)
    if row.scratch is not None and (tile := row.scratch(use)) is not None:
        use = replace(use, operands={**operands, "tmp": tile})
    elif any(operand.name == "tmp" and not operand.optional for operand in row.ins):
        tmp = canonical_tile(Space.VEC, ROWS_, COLS, types.get("tmp", "f32"), target)
        use = replace(use, operands={**operands, "tmp": tmp})
    return Example(row, form, use, target)


def _optional(row: OpRow, name: str) -> bool:
    return any(operand.name == name and operand.optional for operand in (*row.ins, *row.outs))


def _attrs(row: OpRow, dtypes: tuple[str, ...]) -> dict[str, str]:
    if row.dsl in ("pow", "pows") and "bf16" in dtypes:
        return {"precisionType": "high_precision"}
    found = {
        "quant": {"quant_type": "INT8_SYM"},
        "quant_mx": {"quant_type": "MXFP4_E2M1"},
        "gather_mask": {"maskPattern": "P0101", "axis": "row"},
        "scatter_mask": {"maskPattern": "P0101", "axis": "row"},
        "mgather": {"coalesce": "elem"},
        "mgather_mat": {"coalesce": "elem"},
        "mscatter": {"coalesce": "elem"},
        "col_sum": {"isBinary": "true"},
        "cast": {"rmode": "RINT"},
    }.get(row.dsl, {})
    if row.dsl.endswith("_no_tmp"):
        found = {"no_tmp": "unit"}
    return dict(found)


def _input(row: OpRow, form: Form, operand: Operand, types: Mapping[str, str], target: Target) -> Value:
    dtype = types.get(operand.name, "")
    if operand.kind is Kind.INDEX or operand.kind is Kind.I64:
        return operand.kind.value
    if operand.kind is Kind.SCALAR:
        return dtype
    if operand.kind is Kind.VIEW:
        if row.dsl == "load":
            return ViewSpec((1, COLS) if form.spaces["dst"] is Space.SCALING else (ROWS_, COLS), dtype)
        return ViewSpec((ROWS_, COLS), dtype or "i32")
    return _tile(row, form, operand.name, dtype, target)


def _tile(row: OpRow, form: Form, name: str, dtype: str, target: Target) -> TileSpec:
    space, dsl = form.spaces[name], row.dsl
    rows, cols = ROWS_, COLS
    if dsl.startswith(("matmul", "gemv")):
        return _matrix(row, name, space, dtype, target)
    if name == "fp" and space is Space.SCALING:
        return canonical_tile(space, 1, cols, "ui64", target)
    if dsl in ("move", "extract") and form.spaces.get("dst") in (Space.BIAS, Space.SCALING):
        rows = 1 if space is Space.MAT else rows
    if name == "rhs" and dsl.startswith("row_expand_"):
        return aligned_tile(space, rows, 1, dtype, target)
    if name == "rhs" and dsl.startswith("col_expand_"):
        return canonical_tile(space, 1, cols, dtype, target)
    if dsl == "row_expand":
        return aligned_tile(space, rows, 1, dtype, target)
    if dsl == "col_expand" or dsl.startswith("mrgsort"):
        return canonical_tile(space, 1, 4 * cols if dsl == "mrgsort" else cols, dtype, target)
    if dsl in ("quant", "dequant") and name in ("fp", "offset", "scale"):
        return aligned_tile(space, rows, 1, dtype, target)
    if dsl == "histogram" and name == "idx":
        return aligned_tile(space, rows, 1, dtype, target)
    if dsl == "scatter_mask":
        return canonical_tile(space, rows, cols // 2, dtype, target)
    if dsl in ("concat_idx",) and name.endswith("Idx"):
        return canonical_tile(space, rows, 32, dtype, target).with_valid(rows, 1)
    if dsl in ("sel", "sels") and name == "mask":
        return canonical_tile(space, rows, cols, dtype, target).with_valid(rows, cols // 8)
    if dsl == "insert":
        return canonical_tile(space, 16, 32, dtype, target)
    if dsl == "cast" and dtype.startswith("f4"):
        cols //= 2
    if dsl == "fillpad" and space is Space.MAT:
        return replace(canonical_tile(space, rows, cols, dtype, target), pad=1)
    return canonical_tile(space, rows, cols, dtype, target)


def _matrix(row: OpRow, name: str, space: Space, dtype: str, target: Target) -> TileSpec:
    m, k, n = (1 if row.dsl.startswith("gemv") else 64), 64, 32
    if name == "bias":
        return canonical_tile(space, 1, n, dtype or "f32", target)
    if name == "lhs":
        return canonical_tile(space, max(m, 16), k, dtype, target).with_valid(m, k)
    if name == "rhs":
        return canonical_tile(space, k, n, dtype, target)
    left = name == "lhs_scale"
    major = (BLayout.ROW_MAJOR, SLayout.ROW_MAJOR) if left else (BLayout.COL_MAJOR, SLayout.COL_MAJOR)
    rows, cols = (m, k // 32) if left else (k // 32, n)
    return TileSpec(space, rows, cols, dtype, rows, cols, *major, 32)


def _accumulator(row: OpRow, operands: Mapping[str, Value], dtype: str, target: Target) -> TileSpec:
    lhs, rhs = operands["lhs"], operands["rhs"]
    assert isinstance(lhs, TileSpec) and isinstance(rhs, TileSpec)
    return canonical_tile(Space.ACC, lhs.rows, rhs.cols, dtype, target).with_valid(lhs.v_rows, rhs.v_cols)


def _output(
    row: OpRow,
    form: Form,
    out: Operand,
    operands: Mapping[str, Value],
    types: Mapping[str, str],
    target: Target,
    attrs: Mapping[str, str],
) -> Value:
    if out.kind is Kind.SCALAR:
        return "vector<4xi16>"
    dtype = types.get(out.name, "")
    if out.kind is Kind.VIEW:
        return ViewSpec((ROWS_, COLS), dtype)
    space = form.spaces[out.name]
    if out.name != row.out.name:
        return _more(row, out.name, space, dtype, target)
    if row.deduce is None:
        return canonical_tile(space, ROWS_, COLS, dtype, target)
    result = row.result(operands, target, _request(row, space, dtype, target), attrs)
    if row.dsl == "fillpad":
        return result if space is Space.MAT else replace(result, pad=1)
    return result


def _request(row: OpRow, space: Space, dtype: str, target: Target) -> Request:
    """What a source would say beyond the inputs."""
    shape: tuple[int, int] | None = None
    if row.dsl in ("extract", "expands", "tri", "random", "mgather", "mgather_mat"):
        shape = (ROWS_, COLS)
    if row.dsl == "extract" and space is Space.SCALING:
        shape = (1, COLS)
    shape = {
        "ci": (1, COLS),
        "sort32": (ROWS_, COLS * (2 if dtype == "f32" else 4)),
        "gather_mask": (ROWS_, COLS // 2),
        "gather_compare": (ROWS_, COLS),
        "histogram": (ROWS_, 256),
        "row_expand": (ROWS_, COLS),
        "col_expand": (ROWS_, COLS),
        "quant_mx": (ROWS_, COLS // 2),
        "move_zz": (ROWS_, COLS),
        **{f"mrgsort{count}{suffix}": (1, count * COLS) for count in (2, 3, 4) for suffix in ("", "_no_tmp")},
    }.get(row.dsl, shape)
    valid = None
    return Request(shape=shape, valid=valid, dtype=dtype or None, space=space)


def _more(row: OpRow, name: str, space: Space, dtype: str, target: Target) -> TileSpec:
    if row.dsl == "gather_compare":
        return aligned_tile(space, ROWS_, 1, dtype, target)
    if row.dsl == "quant_mx":
        return aligned_tile(space, ROWS_, COLS // 32, dtype, target)
    return canonical_tile(space, ROWS_, COLS, dtype, target)


# --- as values ---------------------------------------------------------------------------------------------------


def as_arrays(found: Example) -> tuple[dict[str, Any], dict[str, str]]:
    """What `compute` is called with: small numbers, all of them exact in every element type."""
    arrays: dict[str, Any] = {}
    attrs = {attr.name: attr.default for attr in found.row.attrs if attr.default is not None} | dict(found.use.attrs)
    for name, value in found.use.operands.items():
        if isinstance(value, str):
            arrays[name] = {"blockLen": COLS, "depth": 1}.get(name, 0) if value in DTYPE_BITS else 0
            continue
        shape = value.shape
        if isinstance(value, TileSpec):
            attrs |= {f"{name}.cols": str(value.cols), f"{name}.pad": str(value.pad)}
            shape = value.shape if name in found.row.whole else value.valid
        arrays[name] = _small(shape, value.dtype)
    return arrays, attrs


def _small(shape: Sequence[int | None], dtype: str) -> Any:
    known = tuple(extent or 1 for extent in shape)
    if dtype not in NUMPY_DTYPES:
        return np.zeros(known, np.int16)
    return (np.arange(int(np.prod(known))).reshape(known) % 3).astype(numpy_dtype(dtype))


# --- as text -----------------------------------------------------------------------------------------------------


def type_text(value: Value, tile: str = "!pto.tile_buf") -> str:
    """How the type of an operand is written."""
    if isinstance(value, TileSpec):
        return f"{tile}<{tile_text(value)}>"
    if isinstance(value, ViewSpec):
        return f"!pto.partition_tensor_view<{shape_text(value.shape)}x{dtype_text(value.dtype)}>"
    return dtype_text(value) if value in DTYPE_BITS else value


def pto_module(found: Example) -> str:
    """A function that takes the operands and holds the one op, in `pto`."""
    return _module(found, "pto")


def ptobuf_module(found: Example) -> str:
    """The same with the op's into form; outputs are slots."""
    return _module(found, "ptobuf")


def _module(found: Example, dialect: str) -> str:
    row, use = found.row, found.use
    slots = dialect == "ptobuf"
    ins = [operand for operand in (row.into_ins if slots else row.ins) if operand.name in use.operands]
    outs = [operand for operand in row.outs if operand.name in use.operands]
    types = {
        operand.name: type_text(
            use.operands[operand.name], "!ptobuf.slot" if slots and operand in outs else "!pto.tile_buf"
        )
        for operand in (*ins, *outs)
    }
    arguments = ", ".join(
        f"%{operand.name}: {types[operand.name]}" for operand in (*ins, *outs) if operand.name not in use.constants
    )
    constants = "".join(
        f"%{operand.name} = arith.constant {use.constants[operand.name]} : {types[operand.name]}\n    "
        for operand in ins
        if operand.name in use.constants
    )
    attrs = dict(use.attrs)
    together = [operand for operand in ins if not operand.apart and operand.keyword is None]
    inner = "" if not row.inner_attrs else _dictionary(row, attrs)
    if row.tail_attr is not None:
        inner = "," + inner
    head = f"{', '.join(f'%{o.name}' for o in together)}{inner} : {', '.join(types[o.name] for o in together)}"
    if row.tail_attr is not None:
        head += f', "{attrs[row.tail_attr]}"'
    for operand in ins:
        if operand.apart or operand.keyword is not None:
            head += (
                f"{',' if operand.keyword is None else f' {operand.keyword}'} %{operand.name} : {types[operand.name]}"
            )
    tail = f"{', '.join(f'%{o.name}' for o in outs)} : {', '.join(types[o.name] for o in outs)}"
    name = row.mnemonic if not slots else (row.into_name if row.out.kind is Kind.TILE else row.dsl)
    if row.dsl == "read":
        element = type_text(getattr(use.operands["src"], "dtype", "f32"))
        op = f"%value = {dialect}.{name} ins({head}) outs : {element}"
    else:
        op = f"{dialect}.{name} ins({head}) outs({tail})"
    if not row.inner_attrs:
        op += _dictionary(row, attrs)
    if slots and row.out.kind is Kind.TILE:
        kept = [o for o in outs if o.kind is Kind.TILE and o.role is not Role.SCRATCH]
        op = f"{', '.join(f'%v_{o.name}' for o in kept)} = {op}"
        op += f" -> {', '.join(type_text(use.operands[o.name]) for o in kept)}"
    arch = found.target.pto_arch
    return (
        f'builtin.module attributes {{pto.target_arch = "{arch}"}} {{\n'
        f"  func.func @f({arguments}) {{\n    {constants}{op}\n    func.return\n  }}\n}}\n"
    )


def _dictionary(row: OpRow, attrs: Mapping[str, str]) -> str:
    from pto_buf.dialect.attributes import attr_of

    shown = [
        f"{attr.name} = {attr_of(attr.type, attrs[attr.name])}"
        for attr in row.attrs
        if attr.name in attrs and attr.name != row.tail_attr and attr.type != "unit"
    ]
    marks = " no_tmp" if "no_tmp" in attrs else ""
    return marks + (f" {{{', '.join(shown)}}}" if shown else "")
