"""Deprecated positional forms, such as ``add(x, alpha, y)``: accepted with a warning, as in PyTorch.

Each is converted to a keyword call of the current form. The warning is given once per process.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any

from ..core.warn import warn


def _products(first: str, second: str) -> tuple[str, ...]:
    return f"beta self alpha {first} {second}", f"beta self {first} {second}"


FORMS: dict[str, tuple[str, ...]] = {
    "add": ("self alpha other",), "sub": ("self alpha other",),
    "addcmul": ("self value tensor1 tensor2",), "addcdiv": ("self value tensor1 tensor2",),
    "addmm": _products("mat1", "mat2"), "addmv": _products("mat", "vec"), "addr": _products("vec1", "vec2"),
    "addbmm": _products("batch1", "batch2"), "baddbmm": _products("batch1", "batch2"),
}  # fmt: skip
"""Operator -> the deprecated argument orders of its function; a method call puts self first."""


def modern(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], *, is_method: bool) -> dict[str, Any] | None:
    """Return the arguments of a call in a deprecated form by name, and warn; return None for any other call."""
    for form in FORMS.get(name.removesuffix("_"), ()):
        names = form.split()
        if is_method:
            names = ["self", *(one for one in names if one != "self")]
        if len(names) == len(args) and not kwargs.keys() & set(names):
            _warn(f"{name}({', '.join(names)})")
            return {**dict(zip(names, args, strict=True)), **kwargs}
    return None


@functools.cache
def _warned() -> list[None]:
    return []


def _warn(form: str) -> None:
    if not _warned():
        _warned().append(None)
        warn(f"This overload is deprecated: {form}; give the tensors by position and the numbers by keyword")


def accepting(function: str, name: str, text: str, caller: Callable[..., Any]) -> tuple[str, dict[str, Any]]:
    """Return the source of the binding `name`, changed to pass deprecated forms to `caller`, and the names it uses."""
    head, _, body = text.partition("\n")
    parts = re.sub(r"^def \w+\(|\):$", "", head).split(", ")
    if function.removesuffix("_") not in FORMS or parts[0].startswith("*"):
        return text, {}
    count = next((place for place, part in enumerate(parts) if part.startswith("*")), len(parts))
    values, options = parts[:count], [part for part in parts[count:] if part != "*"]
    first = ", ".join(part.partition("=")[0] for part in values)
    named = [part.partition("=")[0] for part in options]
    passed = ", ".join(one if one.startswith("**") else f"{one}={one}" for one in named)
    taken = (
        f"{head.partition('(')[0]}({', '.join([*values, '*more_values', *options])}):\n"
        f"    if more_values:\n"
        f"        return deprecated_form(deprecated_{name}, ({first}, *more_values), dict({passed}))\n{body}"
    )
    return taken, {"deprecated_form": given, f"deprecated_{name}": caller}


def given(caller: Callable[..., Any], values: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Call `caller` with more positional values than its form has; options at their default are left out."""
    plain = {"alpha": 1, "value": 1, "out": None}
    return caller(*values, **{name: value for name, value in options.items() if value is not plain.get(name, values)})
