"""Bindings of clone and contiguous: a copy of one dense block is one run of the copying kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.device import cpu
from ..core.memory_format import contiguous_format, preserve_format
from ..dispatch.state import FAST_GLOBALS
from ..operators.element_loop import element_launch
from ..operators.launch import nothing
from ..tensor.geometry import Geometry, remember
from ..tensor.reshaping import contiguous
from ..tensor.strides import default_strides
from ..tensor.tensor import Tensor, new_like
from . import source
from .caller import Caller
from .carry import carry, teach
from .converters import NO

KEY = "clone"


def clone_binding(name: str, self: str, caller: Caller) -> tuple[str, dict[str, Any]]:
    """Source and names of ``clone(x)``."""
    text = source.unary(name, "clone", self, KEY, options=("memory_format",))
    return text, {f"slow_{name}": slow_clone(caller)}


def slow_clone(caller: Caller) -> Callable[..., Any]:
    """The general path of clone; where the strides stay, what it finds out about a geometry is kept."""

    def run(self: Any, /, memory_format: Any = None, **names: Any) -> Any:
        if self is NO or names:
            return caller(*(() if self is NO else (self,)), **names, memory_format=memory_format)
        if memory_format is not None and not _keeps_strides(self, memory_format):
            return caller(self, memory_format=memory_format)
        if self.__class__ is not Tensor:
            return caller(self)
        entry = (memory_format and self.geometry.plans.get(KEY)) or carry(KEY, self.geometry, self.geometry)
        if entry is not None:
            kernel, geometry, count = entry
            result = new_like(geometry)
            kernel(result.pointer, self.pointer, count)
            return result
        result = caller(self)
        learn_clone(self.geometry)
        return result

    return run


def _keeps_strides(self: Any, memory_format: Any) -> bool:
    """Whether a clone in this format is the one without a format, which nobody else is to be asked for."""
    if self.__class__ is not Tensor or FAST_GLOBALS["SPECIAL"]:
        return False
    if memory_format is preserve_format:
        return True
    geometry = self.geometry
    return memory_format is contiguous_format and geometry.strides == default_strides(geometry.sizes)


def learn_clone(geometry: Geometry) -> None:
    """Note how a dense tensor of this geometry is cloned fast, or that it is not."""
    if KEY in geometry.plans:
        return
    entry: Any = False
    plain = geometry.dense and not geometry.lazy and not geometry.watched and geometry.device is cpu
    if plain and not geometry.numel:
        remember(geometry.plans, KEY, (nothing, geometry, 0))
        return
    if plain:
        launch = element_launch("identity", geometry, [geometry], geometry.dtype)
        if launch is not None and launch.contiguous:
            entry = (launch.builtin(), geometry, launch.count)
    remember(geometry.plans, KEY, entry)
    teach(KEY, geometry, entry)


def contiguous_binding(name: str, self: str, caller: Caller) -> tuple[str, dict[str, Any]]:
    """Source and names of ``x.contiguous()``."""
    text = (
        f"def contiguous({self}, memory_format=CONTIGUOUS):\n"
        f"    if SPECIAL or {self}.__class__ is not Tensor or memory_format is not CONTIGUOUS:\n"
        f"        return slow_{name}({self}, memory_format=memory_format)\n"
        f"    if {self}.geometry.contiguous:\n"
        f"        return {self}\n"
        f"    return slow_{name}({self}) if {self}.geometry.watched else direct_{name}({self})\n"
    )
    return text, {f"slow_{name}": caller, f"direct_{name}": contiguous, "CONTIGUOUS": contiguous_format}


BINDINGS: dict[str, Callable[[str, str, Caller], tuple[str, dict[str, Any]]]] = {
    "clone": clone_binding,
    "contiguous": contiguous_binding,
}
"""Public names with a form of their own."""
