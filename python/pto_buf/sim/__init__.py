"""Simulators of `pto` kernels: values in numpy, with every legal order of the pipes."""
