"""What a grid kernel's module defines beside the kernel: routines that a CPU takes from C, tables in device memory."""

from __future__ import annotations

from collections.abc import Sequence

from ...kernels.declarations import Declarations
from .target import Target


class GridDeclarations(Declarations):
    """Declarations of a module for a grid target; nothing in it is left to other modules."""

    def __init__(self, target: Target) -> None:
        super().__init__()
        self.table_space = target.space

    def routine(self, name: str, type: str, arguments: Sequence[str]) -> str:
        """Define a scalar function; its name in the module."""
        return super().routine(name, type, arguments)
