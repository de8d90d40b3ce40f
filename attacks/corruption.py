"""Reproducible damage to files."""

from __future__ import annotations

import random
from collections.abc import Callable

LENGTHS = (
    b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\x00\x00\x00\x80", b"\xff" * 8, b"\xff" * 7 + b"\x7f",
    b"\x00\x00\x00\x00\x00\x01\x00\x00", b"\x00" * 7 + b"\x40",
)  # fmt: skip
"""Replacements of lengths: the limits of integer types, and sizes beyond any memory."""


def _bits(data: bytearray, draw: random.Random) -> bytes:
    for _ in range(draw.choice((1, 1, 1, 2, 8, 64))):
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    return bytes(data)


def _truncated(data: bytearray, draw: random.Random) -> bytes:
    return bytes(data[: draw.choice((0, 1, draw.randrange(len(data)), draw.randrange(len(data)), len(data) - 1))])


def _garbage(data: bytearray, draw: random.Random) -> bytes:
    begin = draw.randrange(len(data))
    count = draw.choice((1, 16, 512, len(data)))
    data[begin : begin + count] = draw.randbytes(len(data[begin : begin + count]))
    return bytes(data)


def _zeros(data: bytearray, draw: random.Random) -> bytes:
    begin = draw.randrange(len(data))
    end = min(begin + draw.choice((1, 16, 512, len(data))), len(data))
    data[begin:end] = bytes(end - begin)
    return bytes(data)


def _swapped(data: bytearray, draw: random.Random) -> bytes:
    size = min(draw.choice((1, 8, 64, 512)), len(data) // 2)
    first = draw.randrange(len(data) - 2 * size + 1)
    second = draw.randrange(first + size, len(data) - size + 1)
    data[first : first + size], data[second : second + size] = data[second : second + size], data[first : first + size]
    return bytes(data)


def _lengths(data: bytearray, draw: random.Random) -> bytes:
    for _ in range(draw.choice((1, 1, 4))):
        value = draw.choice(LENGTHS)
        begin = draw.randrange(max(1, len(data) - len(value)))
        data[begin : begin + len(value)] = value
    return bytes(data)


def _repeated(data: bytearray, draw: random.Random) -> bytes:
    begin = draw.randrange(len(data))
    piece = data[begin : begin + draw.choice((1, 64, 4096))]
    return bytes(data[:begin] + piece * draw.choice((2, 3, 100)) + data[begin + len(piece) :])


def _removed(data: bytearray, draw: random.Random) -> bytes:
    begin = draw.randrange(len(data))
    return bytes(data[:begin] + data[begin + draw.choice((1, 8, 512)) :])


DAMAGES: dict[str, Callable[[bytearray, random.Random], bytes]] = {
    "bits flipped": _bits,
    "cut off": _truncated,
    "garbage": _garbage,
    "zeros": _zeros,
    "blocks swapped": _swapped,
    "hostile lengths": _lengths,
    "a block repeated": _repeated,
    "a block removed": _removed,
}


def damaged(data: bytes, seed: str) -> tuple[str, bytes]:
    """Return the name of a kind of damage and the damaged data, which differ from `data`."""
    draw = random.Random(seed)
    while True:
        name = draw.choice(list(DAMAGES))
        found = DAMAGES[name](bytearray(data), draw)
        if found != data:
            return name, found
