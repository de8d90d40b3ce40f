"""Compiling generated sources, so that tracebacks and `show_binding` can show them."""

from __future__ import annotations

import linecache
from typing import Any

from ..core.device import cpu
from ..dispatch.overrides import NOT_OVERRIDDEN, foreign, intercept
from ..dispatch.state import OVERRIDING, SPECIAL, SPECIAL_VIEWS, STATE, WATCHING
from ..dispatch.watching import any_watched
from ..kernels.bound_call import UNSET
from ..memory.storage import new_object
from ..tensor.tensor import Tensor

COMMON: dict[str, Any] = {
    "Tensor": Tensor, "SPECIAL": SPECIAL, "SPECIAL_VIEWS": SPECIAL_VIEWS, "OVERRIDING": OVERRIDING,
    "WATCHING": WATCHING, "STATE": STATE, "UNSET": UNSET, "new": new_object, "cpu": cpu, "intercept": intercept,
    "NOT_OVERRIDDEN": NOT_OVERRIDDEN, "foreign": foreign, "any_watched": any_watched,
}  # fmt: skip
"""Globals of every generated function."""
SOURCES: dict[str, str] = {}
"""Source text by the label it was compiled under, such as "Tensor.add"."""


def compile_function(label: str, function: str, source: str, document: str, **names: Any) -> Any:
    """Return the function called `function` in `source`; its globals are the common ones and `names`."""
    filename = f"<gaugeblock binding {label}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    SOURCES[label] = source
    space = COMMON | names
    exec(compile(source, filename, "exec"), space)
    made = space[function]
    made.__doc__ = document
    made.__module__ = "gaugeblock"
    made.__qualname__ = label
    made.__name__ = label.rpartition(".")[2]
    return made


def indent(text: str, levels: int) -> str:
    """Return `text` moved right by `levels` steps of four."""
    margin = "    " * levels
    return "".join(margin + line if line.strip() else line for line in text.splitlines(keepends=True))
