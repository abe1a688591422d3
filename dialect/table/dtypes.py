"""Sets of element types, as rows spell them."""

from collections.abc import Iterable, Mapping

DtypeSets = Mapping[str, frozenset[tuple[str, ...]]]
"""Per target name, the allowed element types of a form's typed operands."""


def signs(name: str) -> tuple[str, ...]:
    """An integer type with its signed and unsigned forms; any other type alone."""
    return (name, f"s{name}", f"u{name}") if name[0] == "i" and name != "index" else (name,)


def names(text: str) -> tuple[str, ...]:
    """The types in `text`, integers in all their forms."""
    return tuple(form for name in text.split() for form in signs(name))


def alike(count: int, text: str) -> frozenset[tuple[str, ...]]:
    """`count` operands of one element type, for each type in `text`, integers in all their forms."""
    return frozenset((name,) * count for name in names(text))


def same(count: int, a2a3: str, a5: str | None = None) -> DtypeSets:
    """`alike` for each target; an empty text leaves the target out."""
    texts = {"a2a3": a2a3, "a5": a2a3 if a5 is None else a5}
    return {target: alike(count, text) for target, text in texts.items() if text}


def tile_scalar(a2a3: str, a5: str | None = None, tiles: int = 2, at: int = 1) -> DtypeSets:
    """`tiles` tiles of one type and, at position `at`, a number of it: the number may be signless."""
    result: dict[str, frozenset[tuple[str, ...]]] = {}
    for target, text in {"a2a3": a2a3, "a5": a2a3 if a5 is None else a5}.items():
        entries: list[tuple[str, ...]] = []
        for name in names(text):
            for scalar in dict.fromkeys((name, name.lstrip("su") if name[1:2] == "i" else name)):
                row = [name] * tiles
                row.insert(at, scalar)
                entries.append(tuple(row))
        if entries:
            result[target] = frozenset(entries)
    return result


def pairs(*entries: str) -> frozenset[tuple[str, ...]]:
    """Each entry is the types of one allowed combination, separated by blanks, integers in all their forms."""
    return frozenset(combination for entry in entries for combination in _expand(entry.split()))


def exactly(*entries: str) -> frozenset[tuple[str, ...]]:
    """As `pairs`, with the integers as written."""
    return frozenset(tuple(entry.split()) for entry in entries)


def on_both(allowed: frozenset[tuple[str, ...]]) -> DtypeSets:
    """The same element types on both targets."""
    return {"a2a3": allowed, "a5": allowed}


def _expand(words: list[str]) -> Iterable[tuple[str, ...]]:
    if not words:
        yield ()
        return
    for rest in _expand(words[1:]):
        for name in signs(words[0]):
            yield (name, *rest)
