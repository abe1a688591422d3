"""Which residues of which variables decide the terms of a program. Pure."""

from math import gcd, lcm

from pto_buf.check.operators import divisor_of, mask_of, modulus_of
from pto_buf.check.program import Assign, Code, Enter
from pto_buf.check.terms import Fn, Sum, Term, Var


class Demand:
    """Which variables are looked at modulo what. `moduli` is filled by the methods."""

    def __init__(self) -> None:
        self.moduli: dict[int, int] = {}

    def exactly(self, term: Term) -> None:
        """The value itself is needed: operators in it need residues, bare variables do not."""
        if isinstance(term, Var):
            return
        if isinstance(term, Sum):
            for atom, _ in term.parts:
                self.exactly(atom)
            return
        if term.fn is Fn.ELEMENT:
            return
        modulus = modulus_of(term)
        if modulus is not None:
            self.modulo(term.args[0], modulus)
            return
        mask = mask_of(term)
        if mask is not None:
            self.modulo(term.args[0], 1 << mask.bit_length())
            return
        for arg in term.args:
            self.exactly(arg)

    def modulo(self, term: Term, modulus: int) -> None:
        if modulus == 1:
            return
        if isinstance(term, Var):
            self.moduli[term.key] = lcm(self.moduli.get(term.key, 1), modulus)
            return
        if isinstance(term, Sum):
            for atom, factor in term.parts:
                self.modulo(atom, modulus // gcd(factor, modulus))
            return
        inner, divisor = modulus_of(term), divisor_of(term)
        if inner is not None:
            self.modulo(term.args[0], modulus if inner % modulus == 0 else inner)
        elif divisor is not None:
            self.modulo(term.args[0], divisor * modulus)
        elif term.fn in (Fn.MUL, Fn.MINS, Fn.MAXS, Fn.MINU, Fn.MAXU, Fn.TRUNC, Fn.ZEXT):
            for arg in term.args:
                self.modulo(arg, modulus)
        elif term.fn is Fn.SELECT:
            self.exactly(term.args[0])
            self.modulo(term.args[1], modulus)
            self.modulo(term.args[2], modulus)
        else:
            self.exactly(term)

    def close(self, code: Code, bounds: bool) -> None:
        """Follows the residues through assignments; with `bounds`, from a counter to the end of its loop too."""
        for _ in range(8):
            before = dict(self.moduli)
            for one in code.instructions:
                if isinstance(one, Assign):
                    for var, term in one.pairs:
                        self.modulo(term, self.moduli.get(var.key, 1))
                elif bounds and isinstance(one, Enter) and one.loop.counter is not None and one.loop.upper is not None:
                    self.modulo(one.loop.upper, self.moduli.get(one.loop.counter.key, 1))
            if self.moduli == before:
                return
