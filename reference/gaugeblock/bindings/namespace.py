"""Modules such as ``gaugeblock.linalg``: their functions are the operators whose names begin with a prefix."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from .build import make_function
from .groups import functions


def namespace(
    module: str, prefix: str, others: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of `module`; a function is made when it is first asked for.

    `linalg.det` is the operator `linalg_det`, for the prefix "linalg_"; `others` gives the operators of other names.
    """
    renamed = others or {}

    def get(name: str) -> Any:
        group = functions().get(prefix + name) or functions().get(renamed.get(name, ""))
        if group is None:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        made = make_function(group)
        setattr(sys.modules[module], name, made)
        return made

    def names() -> list[str]:
        here = vars(sys.modules[module])
        made = (name.removeprefix(prefix) for name in functions() if name.startswith(prefix))
        return sorted({*(name for name in here if not name.startswith("_")), *made, *renamed} - HIDDEN)

    return get, names


HIDDEN = frozenset({"Any", "OTHER_NAMES", "SAME", "annotations", "namespace"})
"""What a module imports for its own use."""
