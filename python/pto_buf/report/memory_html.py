"""The memory map as a page of its own: address across, program order down, each slot a lane."""

from collections.abc import Iterator, Sequence
from html import escape

from pto_buf.hw import Space, Target
from pto_buf.report.allocation import PYPTO_NAMES, size_text
from pto_buf.report.memory_map import MemoryMap, Step, Tenancy, cells

_GUTTER, _ACROSS, _ROW, _TOP = 300, 860, 16, 24
_NARROWEST = 3
"""Pixels of a lane, however few bytes it has."""

_LETTER = 7
"""Pixels of a letter."""

_TICKS = 8

_STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1c2430; --faint: #8a94a3; --rule: #e3e7ec; --band: #f5f7f9;
  --user: #2563a8; --user-kept: #dbe7f5; --tile: #2f7d4f; --tile-kept: #dcefe3; --read: #fff; }
@media (prefers-color-scheme: dark) { :root { --paper: #15191f; --ink: #e4e8ee; --faint: #8b95a5; --rule: #2a313b;
  --band: #1b2028; --user: #6aa5e8; --user-kept: #223750; --tile: #63b985; --tile-kept: #1f3a2a; --read: #15191f; } }
body { background: var(--paper); color: var(--ink); font: 14px/1.45 system-ui, sans-serif; margin: 24px; }
h1 { font-size: 19px; } h2 { font-size: 15px; margin: 28px 0 6px; }
p, li { color: var(--ink); } .faint { color: var(--faint); } ul { padding-left: 20px; }
svg { display: block; } text { fill: var(--ink); font: 11px ui-monospace, monospace; }
.faint-text { fill: var(--faint); } .rule { stroke: var(--rule); } .band { fill: var(--band); }
.user { fill: var(--user-kept); stroke: var(--user); } .tile { fill: var(--tile-kept); stroke: var(--tile); }
.kept { opacity: .35; stroke-dasharray: 2 2; } .user-w { fill: var(--user); } .tile-w { fill: var(--tile); }
.user-r { fill: var(--read); stroke: var(--user); } .tile-r { fill: var(--read); stroke: var(--tile); }
.turn { opacity: .55; } .on-fill { fill: var(--paper); }
"""


def memory_map_html(maps: Sequence[MemoryMap]) -> str:
    """One page with the maps of these kernels. It needs no other file and runs no script."""
    title = f"Memory map of {', '.join(found.kernel for found in maps)}"
    body = "\n".join(part for found in maps for part in _kernel(found))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _kernel(found: MemoryMap) -> Iterator[str]:
    yield f"<h1>{escape(found.kernel)} on {found.target.name}</h1>"
    yield (
        '<p class="faint">Address across, program order down. A lane is one slot: filled where it is written, hollow '
        "where it is read, pale while its content is needed, dashed while it is only kept. Half-tone: one of the slots "
        "in turn. Point at a lane for its bytes.</p>"
    )
    if found.notes:
        yield f"<ul>{''.join(f'<li>{escape(note)}</li>' for note in found.notes)}</ul>"
    for space, tenancies in found.spaces():
        used, limit = max(one.resident.end for one in tenancies), found.target.capacity[space]
        yield f"<h2>{PYPTO_NAMES[space]} ({space.buffer}): {size_text(used)} of {size_text(limit)}</h2>"
        yield _picture(space, tenancies, found.steps, found.target)


def _picture(space: Space, tenancies: Sequence[Tenancy], steps: Sequence[Step], target: Target) -> str:
    limit = target.capacity[space]
    height = _TOP + _ROW * len(steps) + 8
    label = f"{PYPTO_NAMES[space]}: {', '.join(one.resident.name for one in tenancies)}"
    parts = [
        f'<svg width="{_GUTTER + _ACROSS + 20}" height="{height}" role="img" aria-label="{escape(label, quote=True)}">',
        *_ground(limit, steps),
    ]
    for tenancy in tenancies:
        parts += _lanes(tenancy, len(steps), limit)
        parts += _caption(tenancy, tenancies, limit)
    return "\n".join([*parts, "</svg>"])


def _ground(limit: int, steps: Sequence[Step]) -> Iterator[str]:
    bottom = _TOP + _ROW * len(steps)
    for number, step in enumerate(steps):
        y = _TOP + _ROW * number
        if number % 2:
            yield f'<rect class="band" x="0" y="{y}" width="{_GUTTER + _ACROSS}" height="{_ROW}"/>'
        tip = f"<title>{escape(step.place)}</title>" if step.place else ""
        yield f'<text x="{4 + 12 * step.depth}" y="{y + 11}">{escape(step.words[:40])}{tip}</text>'
    for tick in range(_TICKS + 1):
        x = _GUTTER + _ACROSS * tick // _TICKS
        anchor = "end" if tick == _TICKS else "middle"
        yield f'<line class="rule" x1="{x}" y1="{_TOP - 6}" x2="{x}" y2="{bottom}"/>'
        label = size_text(limit * tick // _TICKS) if tick else "0"
        yield f'<text class="faint-text" x="{x}" y="{_TOP - 10}" text-anchor="{anchor}">{label}</text>'


def _lanes(tenancy: Tenancy, steps: int, limit: int) -> Iterator[str]:
    one = tenancy.resident
    kind = "tile" if one.owned else "user"
    marks = cells(tenancy, steps)
    for lane in range(one.count):
        start = one.address + lane * one.stride
        x = _GUTTER + _ACROSS * start / limit
        width = max(_NARROWEST, _ACROSS * one.footprint / limit - 1)
        name = one.name if one.count == 1 else f"{one.name}[{lane}]"
        shared = f"; shares bytes with {', '.join(tenancy.shares_with)}" if tenancy.shares_with else ""
        tip = f"{name} [{one.rows}, {one.cols}] {one.dtype}: bytes {start:,} to {start + one.footprint:,}{shared}"
        yield f"<g><title>{escape(tip)}</title>"
        if not one.owned:
            yield _box(f"{kind} kept", x, width, 0, steps)
        yield _box(kind, x, width, tenancy.first, tenancy.last + 1)
        for step in range(steps):
            mark = marks[step][lane]
            if mark.lower() in "wxr":
                turn = " turn" if mark.islower() else ""
                what = "r" if mark.lower() == "r" else "w"
                yield _box(f"{kind}-{what}{turn}", x, width, step, step + 1, inset=2)
        if width > _LETTER * len(name):
            filled = bool(steps) and marks[tenancy.first][lane].lower() in "wx"
            style = ' class="on-fill"' if filled else ""
            yield f'<text{style} x="{x + 4:.1f}" y="{_TOP + _ROW * tenancy.first + 11}">{escape(name)}</text>'
        yield "</g>"


def _caption(tenancy: Tenancy, all: Sequence[Tenancy], limit: int) -> Iterator[str]:
    """The name of a set beside its lanes where these are too narrow for it, if nothing else is drawn there."""
    one = tenancy.resident
    name = one.name if one.count == 1 else f"{one.name}[0..{one.count - 1}]"
    if _ACROSS * one.footprint / limit - 1 > _LETTER * len(f"{one.name}[0]"):
        return
    start = _GUTTER + max(_ACROSS * one.end / limit, _ACROSS * one.address / limit + _NARROWEST) + 4
    end = start + _LETTER * len(name)
    edges = [
        (_GUTTER + _ACROSS * other.resident.address / limit, _GUTTER + _ACROSS * other.resident.end / limit)
        for other in all
        if other is not tenancy
    ]
    if end <= _GUTTER + _ACROSS and not any(left < end and start < right for left, right in edges):
        yield f'<text class="faint-text" x="{start:.1f}" y="{_TOP + _ROW * tenancy.first + 11}">{escape(name)}</text>'


def _box(style: str, x: float, width: float, first: int, end: int, inset: int = 0) -> str:
    y, height = _TOP + _ROW * first + inset, _ROW * (end - first) - 2 * inset
    return f'<rect class="{style}" x="{x:.1f}" y="{y}" width="{width:.1f}" height="{height}"/>'
