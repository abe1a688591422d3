"""Decorators. They remember where a kernel's source stands; `pto_buf.compile` reads it there."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar, overload

from pto_buf.language.values import outside

__all__ = ["KernelSource", "ProgramSource", "func_attr", "function", "inline", "jit", "program"]

_F = TypeVar("_F", bound=Callable[..., Any])

LAUNCH: ContextVar["Callable[[KernelSource, Sequence[Any], Mapping[str, Any]], Any] | None"] = ContextVar(
    "launch", default=None
)
"""What calling a kernel with arguments does; None where kernels are only read."""


@dataclass(frozen=True)
class KernelSource:
    """A kernel by its place: the file that holds it and its name there, like `qk` or `SplitAttention.qk`."""

    file: str
    entry: str
    line: int
    function: Callable[..., Any] = field(repr=False, compare=False)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        launch = LAUNCH.get()
        if launch is None:
            outside(f"{self.entry}(...)")
        return launch(self, args, kwargs)


@dataclass(frozen=True)
class ProgramSource:
    """A class of kernels by its place; each kernel is an attribute and stands in `kernels`."""

    file: str
    name: str
    kernels: Mapping[str, KernelSource]

    def __getattr__(self, name: str) -> KernelSource:
        kernels: Mapping[str, KernelSource] = object.__getattribute__(self, "kernels")
        if name in kernels:
            return kernels[name]
        raise AttributeError(f"program '{self.name}' has no kernel '{name}'")


def _source(function: Callable[..., Any]) -> KernelSource:
    code = inspect.unwrap(function).__code__
    return KernelSource(code.co_filename, _entry(function.__qualname__), code.co_firstlineno, function)


def _entry(qualname: str) -> str:
    """The name below the innermost function around it, as the reader has it."""
    return qualname.rpartition("<locals>.")[2]


class _Decorator:
    """Used with or without parentheses."""

    @overload
    def __call__(self, function: Callable[..., Any], /) -> KernelSource: ...
    @overload
    def __call__(self, /, **options: Any) -> Callable[[Callable[..., Any]], KernelSource]: ...
    def __call__(self, function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
        del options  # they matter to the reader only
        return _source if function is None else _source(function)


class _Jit(_Decorator):
    """`@pl.jit`: an entry whose body is device code, or orchestration with device scopes.

    `@pl.jit.incore` is device code throughout, `@pl.jit.inline` a helper spliced where it is called, `@pl.jit.host`
    orchestration (skipped here).
    """

    incore = _Decorator()
    inline = _Decorator()
    host = _Decorator()
    opaque = _Decorator()
    extern = _Decorator()


jit = _Jit()
function = _Decorator()
"""`@pl.function(type=pl.FunctionType.AIC)`: one function of a program; AIC, AIV and InCore are kernels."""
inline = _Decorator()
"""`@pl.inline`: a helper spliced where it is called."""


def program(cls: type) -> ProgramSource:
    """`@pl.program` on a class: its methods under `@pl.function` are the functions of the program."""
    kernels = {name: value for name, value in vars(cls).items() if isinstance(value, KernelSource)}
    files = [kernel.file for kernel in kernels.values()] or [inspect.getsourcefile(cls) or "<unknown>"]
    return ProgramSource(files[0], _entry(cls.__qualname__), kernels)


def func_attr(attributes: Mapping[str, Any]) -> None:
    """Attributes of a function, as its first statement."""
    outside("func_attr")
