"""A value that stands where an expression of the source would."""

import ast

from pto_buf.frontend.values import Value


class Given(ast.expr):
    """A value that stands where an expression would, because the user wrote it in another place."""

    def __init__(self, value: Value):
        super().__init__()
        self.value = value
