"""Writing IR as text. Each type is put into words once; they are most of what a PTO program's text consists of."""

from io import StringIO

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.scf import ExecuteRegionOp
from xdsl.ir import Attribute, Operation, Region, SSAValue, TypeAttribute
from xdsl.printer import Printer


class RememberingPrinter(Printer):
    """xDSL's printer, which remembers the text of each dialect type that it printed."""

    def __init__(self, stream: StringIO, *, generic: bool = False, debuginfo: bool = False):
        super().__init__(stream, print_generic_format=generic, print_debuginfo=debuginfo)
        # By identity, since hashing a large type costs as much as printing it; the type is kept, so that its identity
        # is not given to another one.
        self._texts: dict[int, tuple[Attribute, str]] = {}

    def print_string(self, text: str, *, indent: int | None = None) -> None:
        """As xDSL's, without the detours that only text of several lines needs."""
        if "\n" in text:
            super().print_string(text, indent=indent)
            return
        self._current_column += len(text)
        self.stream.write(text)

    def print_op(self, op: Operation) -> None:
        """As xDSL's, without its questions about each op that has a format of its own and no regions."""
        if op.regions or self.print_generic_format or self.print_debuginfo or type(op).print is Operation.print:
            super().print_op(op)
            return
        self._print_results(op)
        self.print_string(op.name)
        op.print(self)

    def print_ssa_value(self, value: SSAValue) -> str:
        """As xDSL's, but `x_1` as a name of its own and the second value called `x` never get one name."""
        known = self._ssa_values.get(value)
        if known is not None:
            self.print_string(f"%{known}")
            return known
        if hint := value.name_hint:
            names = self.ssa_names
            count = names.get(hint, 0)
            while (name := f"{hint}_{count}" if count else hint) in names and count:
                count += 1
            names[hint] = count + 1
            names.setdefault(name, 1)
            self._ssa_values[value] = name
        return super().print_ssa_value(value)

    def print_region(
        self,
        region: Region,
        print_entry_block_args: bool = True,
        print_empty_block: bool = True,
        print_block_terminators: bool = True,
    ) -> None:
        """As xDSL's, but `scf.execute_region` keeps its terminator, without which nobody reads it."""
        keep = print_block_terminators or isinstance(region.parent_op(), ExecuteRegionOp)
        super().print_region(region, print_entry_block_args, print_empty_block, keep)

    def print_attribute(self, attribute: Attribute) -> None:
        """As xDSL's, from memory where possible."""
        known = self._texts.get(id(attribute))
        if known is None:
            if not isinstance(attribute, TypeAttribute):
                super().print_attribute(attribute)
                return
            known = self._texts[id(attribute)] = attribute, str(attribute)
        self.print_string(known[1])


def text_of(module: ModuleOp, *, generic: bool = False, debuginfo: bool = False) -> str:
    """The module as text, ending in a newline: each op in its own format, or all in MLIR's generic one."""
    stream = StringIO()
    RememberingPrinter(stream, generic=generic, debuginfo=debuginfo).print_op(module)
    return stream.getvalue() + "\n"
