"""Compiling generated sources, so that tracebacks and `show_binding` can show them."""

from __future__ import annotations

import linecache
from typing import Any

from ..core.device import cpu
from ..dispatch.overrides import NOT_OVERRIDDEN, foreign, intercept
from ..dispatch.state import FAST_GLOBALS, STATE
from ..dispatch.watching import any_watched
from ..memory.storage import Storage, new_object
from ..tensor.tensor import Tensor, new_like
from ..tensor.versions import bump_version
from .converters import NO

FAST_GLOBALS.update(
    Tensor=Tensor,
    Storage=Storage,
    new=new_object,
    new_like=new_like,
    bump_version=bump_version,
    cpu=cpu,
    ONE=1,
    UNSET=NO,
    intercept=intercept,
    NOT_OVERRIDDEN=NOT_OVERRIDDEN,
    foreign=foreign,
    any_watched=any_watched,
    STATE=STATE,
)
SOURCES: dict[str, str] = {}
"""Source text by the label it was compiled under, such as "Tensor.add"."""


def compile_function(label: str, function: str, source: str, document: str, **names: Any) -> Any:
    """The function called `function` in `source`; `names` are added to the shared globals."""
    FAST_GLOBALS.update(names)
    filename = f"<gaugeblock binding {label}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    SOURCES[label] = source
    space: dict[str, Any] = {}
    exec(compile(source, filename, "exec"), FAST_GLOBALS, space)
    made = space[function]
    made.__doc__ = document
    made.__module__ = "gaugeblock"
    made.__qualname__ = label
    made.__name__ = label.rpartition(".")[2]
    return made
