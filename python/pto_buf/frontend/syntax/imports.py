"""Constants that a file imports from modules beside it: `from config import ROWS`, `from .config import ROWS as R`.

Modules are read like the file itself, never imported. A module is looked for where Python would find one for a script:
beside the file, and for `from models.config` in the folders above it too. Pure: no IR.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pto_buf.frontend.names import Record
from pto_buf.frontend.syntax.records import LIBRARY, Budget

Names = Mapping[str, object]

_MAX_BYTES = 1 << 20
"""Larger modules hold no configuration worth reading."""

_FOLDERS = 6
"""Folders above the file in which a package may stand."""


@dataclass
class Imports:
    """What the modules around one file are known to hold. `scan` yields the constants of a module's text."""

    scan: "Callable[[str, Imports], Names]"
    folder: Path | None
    budget: Budget = field(default_factory=Budget)
    _known: dict[Path, Names] = field(default_factory=dict[Path, Names])

    def module(self, name: str | None, level: int = 0) -> Names | None:
        """The constants of a module; None where there is no such file. One that is being read holds nothing yet."""
        if level == 0 and name is not None and name in LIBRARY:
            return LIBRARY[name]
        path = None if self.folder is None else self._path(self.folder, name, level)
        if path is None:
            return None
        if path not in self._known:
            self._known[path] = {}  # an import in a circle ends here
            text = _text(path)
            inner = Imports(self.scan, path.parent, self.budget, self._known)
            self._known[path] = {} if text is None else self.scan(text, inner)
        return self._known[path]

    def record(self, name: str) -> Record | None:
        """A module as an object, for `import config`."""
        found = self.module(name)
        return None if found is None else Record(f"module '{name}'", found.__getitem__)

    def _path(self, folder: Path, name: str | None, level: int) -> Path | None:
        parts = [] if name is None else name.split(".")
        starts = [folder, *folder.parents[:_FOLDERS]]
        if level:
            starts = starts[level - 1 : level]
        elif len(parts) == 1:
            starts = starts[:1]
        for start in starts:
            for found in (start.joinpath(*parts).with_suffix(".py"), start.joinpath(*parts, "__init__.py")):
                if parts and found.is_file():
                    return found.resolve()
        return None


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8-sig") if path.stat().st_size <= _MAX_BYTES else None
    except (OSError, UnicodeDecodeError):
        return None
