"""Forward mode: dual numbers."""

from __future__ import annotations


class _Dual:
    """How many levels of dual numbers are open."""

    __slots__ = ("level",)

    def __init__(self) -> None:
        self.level = 0


DUAL = _Dual()
