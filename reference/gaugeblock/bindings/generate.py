"""Compiling generated sources, so that tracebacks and `show_binding` can show them."""

from __future__ import annotations

import functools
import linecache
from collections.abc import Callable
from typing import Any

from ..core.device import cpu
from ..dispatch.overrides import NOT_OVERRIDDEN, intercept
from ..dispatch.state import SPECIAL, UNRECORDED
from ..kernels.bound_call import UNSET
from ..tensor.tensor import Tensor

COMMON: dict[str, Any] = {
    "Tensor": Tensor, "SPECIAL": SPECIAL, "UNRECORDED": UNRECORDED, "UNSET": UNSET, "cpu": cpu, "intercept": intercept,
    "NOT_OVERRIDDEN": NOT_OVERRIDDEN,
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


@functools.cache
def adapter(slots: tuple[int | str | None, ...], places: int, names: tuple[str, ...]) -> Callable[..., Any]:
    """Return a function of a kernel, of values for `places` places and of values for `names`. What that returns calls
    the kernel with other values in some `slots`, which are places, names, or None for a value that is left out.
    """
    given = {slot: f"value{k}" for k, slot in enumerate(slots) if slot is not None}
    passed = [given.get(place, f"place{place}") for place in range(places)]
    passed += [f"{name}={given.get(name, f'name_{name}')}" for name in names]
    held = ", ".join(["kernel", *(f"place{k}" for k in range(places)), *(f"name_{name}" for name in names)])
    values = ", ".join(f"value{k}" for k in range(len(slots)))
    space: dict[str, Any] = {}
    source = f"def adapt({held}):\n    return lambda {values}: kernel({', '.join(passed)})\n"
    exec(compile(source, "<gaugeblock binding adapter>", "exec"), space)
    made: Callable[..., Any] = space["adapt"]
    return made


def indent(text: str, levels: int) -> str:
    """Return `text` moved right by `levels` steps of four."""
    margin = "    " * levels
    return "".join(margin + line if line.strip() else line for line in text.splitlines(keepends=True))
