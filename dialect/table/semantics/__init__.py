"""What each row of the op table computes, in numpy. By the row's DSL name; loaded only by who runs programs."""

from collections.abc import Mapping

from pto_buf.dialect.table.row import Compute
from pto_buf.dialect.table.semantics.arrange import ARRANGE
from pto_buf.dialect.table.semantics.cube import CUBE
from pto_buf.dialect.table.semantics.gather import GATHER
from pto_buf.dialect.table.semantics.movement import MOVEMENT
from pto_buf.dialect.table.semantics.quantise import QUANTISE
from pto_buf.dialect.table.semantics.vector import VECTOR

COMPUTE: Mapping[str, Compute] = {**VECTOR, **MOVEMENT, **CUBE, **ARRANGE, **GATHER, **QUANTISE}
