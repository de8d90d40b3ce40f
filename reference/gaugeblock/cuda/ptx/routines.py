"""Scalar routines that kernels call: those that a CPU takes from C's library, written as formulas of lanes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...kernels.declarations import Declarations
from ...kernels.expression import F32, F64, Lane, LaneType
from ...kernels.log_gamma import lgamma
from ...kernels.lower import Emitter
from ...kernels.runtime import ROUTINES
from .angles import LARGE
from .target import Target

PREFIX = "@gb_grid_"
_TYPES = {"float": F32, "double": F64}
FORMULAS: dict[str, Callable[..., Lane]] = {
    **LARGE,
    **{f"gb_single_{name}": function for name, function in LARGE.items()},
    "lgamma": lgamma,
    "gb_extended_lgamma": lgamma,
}
"""Functions of real lanes by the names of the routines that they stand for."""


class GridDeclarations(Declarations):
    """Declarations of a module for a grid target: it has everything that it calls, and tables in device memory."""

    def __init__(self, target: Target) -> None:
        super().__init__()
        self.space = target.space

    def routine(self, name: str, type: str, arguments: Sequence[str]) -> str:
        """Define a scalar function; its name in the module. Raises ValueError for a routine that grids do not have."""
        inside = PREFIX + name
        if inside in self:
            return inside
        if name in ROUTINES:
            return super().routine(name, type, arguments)
        if name not in FORMULAS:
            raise ValueError(f"ptx: the routine {name!r} has no form for a grid")
        self[inside] = ""
        self[inside] = self._defined(inside, name, type, [_TYPES[argument] for argument in arguments])
        return inside

    def _defined(self, inside: str, name: str, type: str, types: Sequence[LaneType]) -> str:
        emitter = Emitter(1, "y", self)
        lanes = [Lane("argument", kind) for kind in types]
        for place, lane in enumerate(lanes):
            emitter.bind(lane, f"%a{place}")
        head = ", ".join(f"{lane.type.ir} %a{place}" for place, lane in enumerate(lanes))
        (result,) = emitter.emit([FORMULAS[name](*lanes)])
        lines = [f"define internal {type} {inside}({head}) #0 {{", "entry:", *emitter.lines, f"  ret {type} {result}"]
        return "\n".join([*lines, "}"])
