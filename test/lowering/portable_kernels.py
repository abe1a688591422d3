"""Kernels of what an assembler prints wrongly unless it is said another way."""

import pto_buf.language as pl

R = 16
C = 64
SRC = pl.Tensor[[128, C], pl.FP32]
