"""Reading what a command line names."""

_ENDINGS = (".py", ".pto", ".mlir")


def split_kernel(text: str) -> tuple[str, str | None]:
    """`FILE:KERNEL` as path and kernel; a path without kernel means the only one, or all."""
    path, colon, entry = text.rpartition(":")
    return (path, entry) if colon and path.endswith(_ENDINGS) else (text, None)
