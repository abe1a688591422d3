# ruff: noqa: F403
"""The kernel language, as people write it for pypto: `import pto_buf.language as pl`.

Kernels are *read* from their source and never run, so everything here is for imports, editors and type checkers:
decorators remember where a kernel stands, types and constants are what annotations are made of, and every op says in
its signature and docstring what it takes. A file that imports `pypto.language` instead is read the same way.
"""

from pto_buf.language import system as system
from pto_buf.language import tile as tile
from pto_buf.language.control import *
from pto_buf.language.decorators import *
from pto_buf.language.kinds import *
from pto_buf.language.slots import *
from pto_buf.language.tile.convert import *
from pto_buf.language.tile.expand import *
from pto_buf.language.tile.indirect import *
from pto_buf.language.tile.matrix import *
from pto_buf.language.tile.memory import *
from pto_buf.language.tile.reduce import *
from pto_buf.language.tile.vector import *
from pto_buf.language.tile.views import *
from pto_buf.language.values import *
