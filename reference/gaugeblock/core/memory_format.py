"""Memory formats: names for stride orders."""

from __future__ import annotations

from typing import Any

from .errors import type_error


class MemoryFormat:
    """A stride order; instances are the constants of this module, compared by ``is``."""

    __slots__ = ("name", "rank")

    name: str
    rank: int | None

    def __init__(self, name: str, rank: int | None) -> None:
        self.name = name
        self.rank = rank

    def __repr__(self) -> str:
        return f"gaugeblock.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return memory_format_by_name, (self.name,)


contiguous_format = MemoryFormat("contiguous_format", None)
preserve_format = MemoryFormat("preserve_format", None)
channels_last = MemoryFormat("channels_last", 4)
channels_last_3d = MemoryFormat("channels_last_3d", 5)

MEMORY_FORMATS: dict[str, MemoryFormat] = {
    item.name: item for item in (contiguous_format, preserve_format, channels_last, channels_last_3d)
}


def memory_format_by_name(name: str) -> MemoryFormat:
    """The memory format called `name`; KeyError when there is none."""
    return MEMORY_FORMATS[name]


def check_memory_format(operator: str, value: object) -> None:
    """Raise TypeError unless `value` is a memory format."""
    if not isinstance(value, MemoryFormat):
        type_error(operator, "memory_format", value, "memory_format")
