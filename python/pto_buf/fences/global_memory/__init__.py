"""Order between accesses to arrays in global memory, which may or may not touch the same bytes."""
