"""`pl.system`: orders between pipes by hand. The fences that slots need are inserted beside them, under other ids."""

from pto_buf.language.kinds import PipeType
from pto_buf.language.values import outside

__all__ = ["bar_all", "bar_m", "bar_v", "sync_dst", "sync_src"]


def sync_src(*, set_pipe: PipeType, wait_pipe: PipeType, event_id: int) -> None:
    """Sets flag `event_id` (0 to 7) of these two pipes once `set_pipe` has done all before it."""
    outside("system.sync_src")


def sync_dst(*, set_pipe: PipeType, wait_pipe: PipeType, event_id: int) -> None:
    """Holds `wait_pipe` until that flag is set, and clears it."""
    outside("system.sync_dst")


def bar_v() -> None:
    """The vector unit finishes what it holds before it goes on."""
    outside("system.bar_v")


def bar_m() -> None:
    """The matrix unit finishes what it holds before it goes on."""
    outside("system.bar_m")


def bar_all() -> None:
    """All pipes of the core finish what they hold before any goes on."""
    outside("system.bar_all")
