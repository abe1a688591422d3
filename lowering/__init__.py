"""Passes from ptobuf to level-3 pto, one file each."""
