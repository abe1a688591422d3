"""The importable namespace: it agrees with what the reader accepts, and remembers where kernels stand."""

import inspect
from operator import attrgetter
from pathlib import Path

import pytest

import pto_buf.language as pl
from pto_buf.frontend import kernels
from pto_buf.frontend.names import DTYPES, SPACES
from pto_buf.frontend.ops.calls import SIGNATURES


@pl.jit
def alone(x: pl.Tensor[[16, 16], pl.FP16]):  # pyright: ignore[reportInvalidTypeForm, reportInvalidTypeArguments]
    pass


@pl.program
class Pair:
    @pl.function(type=pl.FunctionType.AIC)
    def first(self):
        pass

    @pl.function(type=pl.FunctionType.AIV)
    def second(self):
        pass


def test_a_decorated_function_names_its_file_and_entry():
    assert isinstance(alone, pl.KernelSource)
    assert (Path(alone.file), alone.entry) == (Path(__file__), "alone")


def test_a_program_names_its_kernels():
    assert isinstance(Pair, pl.ProgramSource)
    assert list(Pair.kernels) == ["first", "second"]
    assert Pair.first.entry == "Pair.first"
    assert Pair.file == __file__


def test_a_kernel_inside_a_function_is_named_as_the_reader_names_it():
    def build():
        @pl.jit.incore
        def inner():
            pass

        return inner

    assert build().entry == "inner"
    assert {"alone", "Pair.first", "Pair.second", "inner"} <= set(kernels(__file__))


@pytest.mark.parametrize(
    "what", [lambda: pl.range(3), lambda: pl.get_block_idx(), lambda: alone(1), lambda: pl.tile.exp_into(1)]
)
def test_python_does_not_run_a_kernel(what):
    with pytest.raises(pl.OutsideKernelError, match=r"never run by python; see pto_buf\.compile"):
        what()


def test_every_element_type_and_space_of_the_reader_can_be_imported():
    assert {name for name in DTYPES if isinstance(getattr(pl, name, None), pl.DataType)} == set(DTYPES)
    assert {one.name for one in pl.MemorySpace} | {"Scaling"} == set(SPACES)


def test_every_op_says_what_it_does():
    silent = [name for name, op in vars(pl.tile).items() if inspect.isfunction(op) and not inspect.getdoc(op)]
    assert silent == []


def test_an_unknown_op_has_no_into_form():
    with pytest.raises(AttributeError, match="no op 'nonsense_into'"):
        pl.tile.nonsense_into  # noqa: B018


def _parameters(signature: str) -> list[tuple[str, ...]]:
    """The spellings of each parameter of a reader's signature."""
    parts = (part.strip() for part in signature.split(","))
    return [tuple(part.removesuffix("=").split("|")) for part in parts if part and part != "*"]


@pytest.mark.parametrize(("name", "signature"), sorted(SIGNATURES.items()))
def test_every_op_that_the_reader_takes_can_be_imported_with_its_parameters(name: str, signature: str):
    op = getattr(pl.tile, name, None) or attrgetter(name)(pl)
    known = {one for spellings in _parameters(signature) for one in spellings}
    wanted = [one for one in inspect.signature(op).parameters if one != "out"]
    assert [one for one in wanted if one not in known] == []
    for spellings in _parameters(signature):
        if f"{spellings[-1]}=" not in signature:  # what must be given
            assert set(spellings) & set(wanted), spellings
