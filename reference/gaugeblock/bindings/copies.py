"""The binding of contiguous: a tensor that is so already is returned as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.memory_format import contiguous_format
from ..tensor.reshaping import contiguous
from .caller import Caller


def contiguous_binding(name: str, self: str, caller: Caller) -> tuple[str, dict[str, Any]]:
    """Source and names of ``x.contiguous()``."""
    text = (
        f"def contiguous({self}, memory_format=CONTIGUOUS):\n"
        f"    if SPECIAL or {self}.__class__ is not Tensor or memory_format is not CONTIGUOUS:\n"
        f"        return slow_{name}({self}, memory_format=memory_format)\n"
        f"    if {self}.meta.contiguous:\n"
        f"        return {self}\n"
        f"    return slow_{name}({self}) if {self}.meta.watched else direct_{name}({self})\n"
    )
    return text, {f"slow_{name}": caller, f"direct_{name}": contiguous, "CONTIGUOUS": contiguous_format}


BINDINGS: dict[str, Callable[[str, str, Caller], tuple[str, dict[str, Any]]]] = {
    "contiguous": contiguous_binding,
}
"""Public names with a form of their own."""
