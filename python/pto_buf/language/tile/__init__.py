# ruff: noqa: F403
"""`pl.tile`: the ops on tiles. Every op that yields a tile has `out=slot` and an `_into` form, destination first."""

from collections.abc import Callable

from pto_buf.language.slots import release as release
from pto_buf.language.tile.convert import *
from pto_buf.language.tile.expand import *
from pto_buf.language.tile.indirect import *
from pto_buf.language.tile.matrix import *
from pto_buf.language.tile.memory import *
from pto_buf.language.tile.reduce import *
from pto_buf.language.tile.vector import *
from pto_buf.language.tile.views import *
from pto_buf.language.values import Tile, outside


def __getattr__(name: str) -> Callable[..., Tile]:
    """The `_into` forms that are not spelt out: `exp_into(dst, tile)` writes `exp(tile)` into a slot."""
    if not name.endswith("_into") or name.removesuffix("_into") not in globals():
        raise AttributeError(f"pl.tile has no op '{name}'")

    def into(dst: object, *args: object, **kwargs: object) -> Tile:
        outside(f"tile.{name}")

    into.__name__ = name
    return into
