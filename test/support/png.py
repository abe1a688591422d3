"""Reading the pictures that a browser takes of a page: 8 bits for each of three or four channels, not interlaced."""

import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray


def pixels(data: bytes) -> NDArray[np.uint8]:
    """Rows of pixels of red, green and blue."""
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    position, packed = 8, b""
    width = height = channels = 0
    while position < len(data):
        (size,) = struct.unpack_from(">I", data, position)
        kind, body = data[position + 4 : position + 8], data[position + 8 : position + 8 + size]
        position += size + 12
        if kind == b"IHDR":
            width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", body)
            assert (depth, interlaced) == (8, 0)
            channels = {2: 3, 6: 4}[colour]
        elif kind == b"IDAT":
            packed += body
    lines = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + width * channels)
    rows = np.zeros((height, width * channels), np.uint8)
    above = np.zeros(width * channels, np.uint8)
    for number, line in enumerate(lines):
        above = rows[number] = _unfiltered(int(line[0]), line[1:], above, channels)
    return rows.reshape(height, width, channels)[:, :, :3]


def _unfiltered(how: int, line: NDArray[np.uint8], above: NDArray[np.uint8], step: int) -> NDArray[np.uint8]:
    if how == 0:
        return line
    if how == 2:
        return line + above
    if how == 1:
        return np.cumsum(line.reshape(-1, step), axis=0, dtype=np.uint8).reshape(-1)
    found: Any = line.astype(int).tolist()
    over: Any = above.astype(int).tolist()
    for at in range(len(found)):
        left, corner = (found[at - step], over[at - step]) if at >= step else (0, 0)
        found[at] = (found[at] + ((left + over[at]) // 2 if how == 3 else _nearest(left, over[at], corner))) & 255
    return np.array(found, np.uint8)


def _nearest(left: int, above: int, corner: int) -> int:
    """Which of the three is nearest to `left + above - corner`."""
    guess = left + above - corner
    return min((left, above, corner), key=lambda one: abs(guess - one))
