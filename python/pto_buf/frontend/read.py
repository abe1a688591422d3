"""Reading a source file into a module of `ptobuf` kernels."""

import ast
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp, StringAttr

from pto_buf.dialect.tile_op import ARCH_ATTRIBUTE
from pto_buf.errors import Collector, Diagnostic, DiagnosticError, Place, Severity
from pto_buf.frontend.context import SourceText, SpannedSource
from pto_buf.frontend.kernel import read_kernel
from pto_buf.frontend.syntax.module import Function, Kind, parse, scan
from pto_buf.frontend.syntax.objects import file_of, functions_of
from pto_buf.frontend.syntax.outline import is_output, spmd_count
from pto_buf.frontend.syntax.samples import Shaped
from pto_buf.hw import A2A3, Target

_KERNEL_KINDS = (Kind.INCORE, Kind.CUBE, Kind.VECTOR, Kind.OPEN)


def kernels(path: str | Path, source: str | None = None) -> list[str]:
    """The kernels of a file as users ask for them: `panel_product`, `SplitAttention.qk`.

    `source` is the text where it is not that of the file. Raises DiagnosticError for a file that cannot be read.
    """
    text = _text(path, source)
    return list(_kernels(scan(parse(text, str(path)), Path(path).parent).functions))


def outputs(path: str | Path, entry: str) -> list[str]:
    """The parameters of a kernel that are declared `pl.Out` or `pl.InOut`. Raises DiagnosticError as `blocks`."""
    module = scan(parse(_text(path, None), str(path)), Path(path).parent)
    (function,) = _chosen(module.functions, entry, str(path)).values()
    parameters = [*function.node.args.posonlyargs, *function.node.args.args]
    return [one.arg for one in parameters if one.annotation is not None and is_output(one.annotation, function.globals)]


def blocks(path: str | Path, entry: str) -> int:
    """The number of blocks that a kernel is for: the constant of its `pl.spmd(N)`, 1 where it has none.

    Raises DiagnosticError for a file that cannot be read or has no such kernel.
    """
    (function,) = _chosen(
        scan(parse(_text(path, None), str(path)), Path(path).parent).functions, entry, str(path)
    ).values()
    for node in ast.walk(function.node):
        if isinstance(node, ast.For) and (count := spmd_count(node, function.globals)) is not None:
            return count
    return 1


def _kernels(functions: Mapping[str, Function]) -> dict[str, Function]:
    return {name: function for name, function in functions.items() if function.kind in _KERNEL_KINDS}


def read(
    path: str | Path,
    entry: str | None = None,
    target: Target = A2A3,
    *,
    source: str | None = None,
    warn: Callable[[Diagnostic], None] | None = None,
) -> ModuleOp:
    """The kernels of a Python file in the `ptobuf` form, one function each.

    `entry` picks one by its name, with or without its class; None takes all. `source` is the text where it is not
    that of the file; `path` then only names it in errors. `warn` gets what is worth saying but not wrong.
    Raises DiagnosticError with every mistake of the kernels read, each at its line.
    """
    text = _text(path, source)
    file = str(path)
    source_module = scan(parse(text, file), Path(path).parent)
    functions = source_module.functions
    chosen = _chosen(functions, entry, file)
    samples = {
        name: source_module.samples.tensors(function.node, function.globals) for name, function in chosen.items()
    }
    if entry is None and warn is not None:
        for function in functions.values():
            if function.kind is Kind.HOST:
                warn(_skipped(function, SourceText(text, file)))
    return _module(chosen, functions, samples, SourceText(text, file), target, warn)


def _skipped(function: Function, source: SourceText) -> Diagnostic:
    return Diagnostic(
        f"'{function.name}' is orchestration and is skipped",
        source.place(function.node),
        kind="orchestration",
        severity=Severity.WARNING,
    )


def _module(
    chosen: Mapping[str, Function],
    functions: Mapping[str, Function],
    samples: Mapping[str, Mapping[str, Shaped]],
    source: SourceText,
    target: Target,
    warn: Callable[[Diagnostic], None] | None,
) -> ModuleOp:
    """Read the chosen kernels. Raises DiagnosticError with the mistakes of all."""
    collector = Collector()
    module = ModuleOp([], {ARCH_ATTRIBUTE: StringAttr(target.pto_arch)})
    symbols = _symbols(chosen)
    for name, function in chosen.items():
        found = Collector()
        op = read_kernel(
            source, function, _helpers(functions, name), samples.get(name, {}), target, found, symbols[name]
        )
        if op is not None:
            module.body.block.add_op(op)
        collector.diagnostics.extend(found.diagnostics)
    collector.raise_if_errors()
    for diagnostic in collector.diagnostics:
        if warn is not None and diagnostic.severity is Severity.WARNING:
            warn(diagnostic)
    return module


def from_pypto(
    program: Any,
    entry: str | None = None,
    target: Target = A2A3,
    *,
    samples: Sequence[Any] = (),
    warn: Callable[[Diagnostic], None] | None = None,
) -> ModuleOp:
    """The kernels of a pypto `Program`, or of a jit function lowered with `samples`, in the `ptobuf` form.

    Raises DiagnosticError at the place that an object's span names.
    """
    if hasattr(program, "lower") and not hasattr(program, "functions"):
        program = program.lower(*samples)
    functions = functions_of(program, entry)
    file = file_of(program)
    chosen = _chosen(functions, entry, file)
    return _module(chosen, functions, {}, SpannedSource(file), target, warn)


def _helpers(functions: Mapping[str, Function], kernel: str) -> dict[str, Function]:
    """The inline helpers that a kernel sees, by the name it calls them; methods of its class as `self.name`."""
    prefix = kernel.rpartition(".")[0]
    found: dict[str, Function] = {}
    for name, function in functions.items():
        if function.kind is not Kind.INLINE:
            continue
        owner, _, last = name.rpartition(".")
        if not owner:
            found[last] = function
        elif owner == prefix:
            found[f"self.{last}" if function.method else last] = function
    return found


def _text(path: str | Path, source: str | None) -> str:
    if source is not None:
        return source
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except OSError as err:
        raise DiagnosticError.at(Place(str(path)), f"cannot be read: {err.strerror or err}", kind="file") from None
    except UnicodeDecodeError as err:
        raise DiagnosticError.at(Place(str(path)), f"is no UTF-8 text: {err.reason}", kind="file") from None


def _chosen(functions: Mapping[str, Function], entry: str | None, file: str) -> dict[str, Function]:
    """The kernels asked for. Raises DiagnosticError naming those there are."""
    every = _kernels(functions)
    if not every:
        raise DiagnosticError.at(
            Place(file),
            "holds no kernel",
            help="a kernel is a function under @pl.jit or @pl.function",
            kind="no-kernel",
        )
    if entry is None:
        return every
    if entry in every:
        return {entry: every[entry]}
    matching = {name: one for name, one in every.items() if name.rpartition(".")[2] == entry}
    if len(matching) == 1:
        return matching
    host = functions.get(entry)
    if matching:
        what = f"'{entry}' names several kernels"
    elif host is not None and host.kind is Kind.HOST:
        what = f"'{entry}' is orchestration, which is not compiled"
    else:
        what = f"has no kernel '{entry}'"
    place = Place(file) if host is None else Place(file, host.node.lineno, host.node.col_offset + 1)
    raise DiagnosticError.at(place, what, help=f"there is: {', '.join(matching or every)}", kind="no-kernel")


def _symbols(chosen: Mapping[str, Function]) -> dict[str, str]:
    """The name of each function of the IR: the kernel's own, with its class where two share it."""
    count: dict[str, int] = {}
    for function in chosen.values():
        count[function.symbol] = count.get(function.symbol, 0) + 1
    return {
        name: function.symbol if count[function.symbol] == 1 else name.replace(".", "_")
        for name, function in chosen.items()
    }
