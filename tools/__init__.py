"""Command lines: pto-buf-opt for IR, pto-buf for people."""
