"""Lets `import torch`, `import golden` and `import pypto.language` find our stand-ins where those are absent."""

import importlib
import importlib.util
import sys
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType

from pto_buf.sim.standins.missing import Missing

STANDINS: Mapping[str, str] = {
    "torch": "pto_buf.sim.standins.torch",
    "torch.nn": "pto_buf.sim.standins.torch.nn",
    "torch.nn.functional": "pto_buf.sim.standins.torch.functional",
    "torch.testing": "pto_buf.sim.standins.torch.testing",
    "golden": "pto_buf.sim.standins.golden",
    "golden.runner": "pto_buf.sim.standins.golden.runner",
    "golden.spec": "pto_buf.sim.standins.golden.spec",
    "golden.validation": "pto_buf.sim.standins.golden.compare",
    "pypto": "pto_buf.sim.standins.pypto",
    "pypto.language": "pto_buf.language",
    "pypto.runtime": "pto_buf.sim.standins.runtime",
    "pypto.pypto_core": "pto_buf.sim.standins.pypto",
    "pypto.pypto_core.passes": "pto_buf.sim.standins.pypto",
}
"""What a script imports, and the module that it gets."""

PACKAGES = ("torch", "golden", "pypto")


_OWN = frozenset({"__name__", "__spec__", "__loader__", "__package__", "__path__", "__file__", "__cached__"})


class _Finder(Loader):
    """A meta path finder for the packages that are stood in for."""

    def __init__(self, packages: frozenset[str]):
        self._packages = packages

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        package = name.partition(".")[0]
        if package not in self._packages:
            return None
        if name not in STANDINS:
            raise ModuleNotFoundError(str(Missing(package, f"module {name}")), name=name)
        return ModuleSpec(name, self, is_package=True)

    def exec_module(self, module: ModuleType) -> None:
        """All that the stand-in has, under the other name."""
        source = importlib.import_module(STANDINS[module.__name__])
        for name, value in vars(source).items():
            if name not in _OWN:
                setattr(module, name, value)


def absent(packages: Iterable[str] = PACKAGES) -> tuple[str, ...]:
    """Which of the packages cannot be imported here."""
    return tuple(name for name in packages if name not in sys.modules and not _is_there(name))


def _is_there(name: str) -> bool:
    """Whether a package can be imported. A folder of that name, a checkout beside the script say, is no package."""
    spec = importlib.util.find_spec(name)
    return spec is not None and spec.loader is not None and spec.origin is not None


@contextmanager
def standing_in(packages: Iterable[str]) -> Generator[None]:
    """Within, the packages are our stand-ins, real ones too; afterwards everything is as it was."""
    chosen = frozenset(packages)
    hidden = {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] in chosen}
    finder = _Finder(chosen)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if name.partition(".")[0] in chosen]:
            del sys.modules[name]
        sys.modules.update(hidden)
