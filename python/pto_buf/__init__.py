"""Explicit buffer slots for Ascend NPU kernels."""
