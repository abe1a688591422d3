"""`pto-buf compile`."""

import sys
from pathlib import Path

from pto_buf.compiler import Compiled, load
from pto_buf.dialect.versions import parse_version, spell_for
from pto_buf.errors import DiagnosticError, Place, render
from pto_buf.lowering.pipeline import PipelineOptions
from pto_buf.output import write_output
from pto_buf.printing import text_of
from pto_buf.report.collect_map import memory_map_of
from pto_buf.report.memory_html import memory_map_html
from pto_buf.report.memory_map import memory_map_text
from pto_buf.report.whole import report
from pto_buf.tools.names import split_kernel
from pto_buf.tools.progress import progress
from pto_buf.walking import functions


def run(
    kernel: str,
    *,
    target: str | None,
    output: str | None,
    version: str | None,
    places: bool,
    options: PipelineOptions,
    dump: Path | None,
    memory_map: str | None,
    quiet: bool,
) -> int:
    """Compile, write the text (with `places`, that of each op behind it), print the report.

    With the text on standard output the report goes to standard error.
    """
    path, entry = split_kernel(kernel)
    if dump is not None:
        dump.mkdir(parents=True, exist_ok=True)
    wanted = None if version is None else parse_version(version)
    with progress("compiling"):
        compiled = load(path, entry, target=target, options=options, dump=dump).compiled
    if compiled is None:
        message = "the file is finished pto: there is nothing to compile"
        raise DiagnosticError.at(
            Place(path), message, help="pto-buf check proves it, profile times it", kind="finished"
        )
    if wanted is not None:
        spell_for(compiled.module, wanted)
    sys.stderr.write(render(compiled.warnings))
    if output is not None:
        write_output(output, text_of(compiled.module, debuginfo=places))
    stream = sys.stderr if output == "-" else sys.stdout
    if memory_map is not None:
        text = drawn(compiled, page=memory_map.endswith(".html"))
        if memory_map == "-":
            stream.write(text)
        else:
            write_output(memory_map, text)
    if not quiet:
        stream.write(report(compiled, checked=options.check and not compiled.unproven))
    return 0


def drawn(compiled: Compiled, *, page: bool) -> str:
    """The memory maps of all kernels, as an HTML page or as text."""
    maps = [memory_map_of(function) for function in functions(compiled.fenced)]
    return memory_map_html(maps) if page else "\n".join(memory_map_text(found) for found in maps)
