"""Sizes as people write them."""

from __future__ import annotations

import re

UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
SUFFIXES = {"": 0, "b": 0, "k": 10, "kib": 10, "m": 20, "mib": 20, "g": 30, "gib": 30, "t": 40, "tib": 40}
ALLOWED = "a size from 2MiB to 1024TiB, such as 24GiB, 512MiB or 25769803776"


def size_text(size: float) -> str:
    """Bytes in the largest unit of which there is one, with three digits: 1.50 GiB."""
    value, unit = float(size), 0
    while abs(value) >= 1024 and unit < len(UNITS) - 1:
        value /= 1024
        unit += 1
    digits = 0 if unit == 0 or abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:.{digits}f} {UNITS[unit]}"


def counted(count: int, noun: str) -> str:
    """A number and its noun: 1 block, 2 blocks."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def parse_size(text: str) -> int:
    """Bytes of a size of a device such as 24GiB; a number alone is bytes. ValueError says what is allowed."""
    match = re.fullmatch(r"([0-9]{1,16}(?:\.[0-9]{1,6})?)\s*([A-Za-z]*)", text.strip())
    power = SUFFIXES.get(match[2].lower()) if match else None
    if match is None or power is None:
        raise ValueError(f"{text!r} is not {ALLOWED}")
    size = int(float(match[1]) * (1 << power))
    if not 2 << 20 <= size <= 1 << 50:
        raise ValueError(f"{text!r} is not {ALLOWED}")
    return size
