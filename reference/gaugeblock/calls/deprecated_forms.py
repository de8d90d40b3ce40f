"""Deprecated positional forms, such as ``add(x, alpha, y)``: accepted with a warning, as in PyTorch.

Each is converted to a keyword call of the current form. The warning is given once per process.
"""

from __future__ import annotations

from collections.abc import Mapping
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
_WARNED: list[None] = []


def modern(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], *, is_method: bool) -> dict[str, Any] | None:
    """Return the arguments of a call in a deprecated form by name, and warn; return None for any other call."""
    for form in FORMS.get(name.removesuffix("_"), ()):
        names = form.split()
        if is_method:
            names = ["self", *(one for one in names if one != "self")]
        if len(names) == len(args) and not kwargs.keys() & set(names):
            if not _WARNED:
                _WARNED.append(None)
                shown = f"{name}({', '.join(names)})"
                warn(f"This overload is deprecated: {shown}; give the tensors by position and the numbers by keyword")
            return {**dict(zip(names, args, strict=True)), **kwargs}
    return None
