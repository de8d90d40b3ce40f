"""Fresh contiguous copies of what a view shows (select_copy, unbind_copy and their kin), and positive."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.memory_format import contiguous_format
from ..tensor.tensor import Tensor
from .invoke import invoke
from .registration import kernel

VIEWS = {
    "alias_copy": "detach",
    "as_strided_copy": "as_strided",
    "detach_copy": "detach",
    "diagonal_copy": "diagonal",
    "expand_copy": "expand",
    "narrow_copy": "narrow",
    "permute_copy": "permute",
    "select_copy.int": "select.int",
    "slice_copy.Tensor": "slice.Tensor",
    "split_copy.Tensor": "split.Tensor",
    "split_with_sizes_copy": "split_with_sizes",
    "squeeze_copy": "squeeze",
    "squeeze_copy.dim": "squeeze.dim",
    "squeeze_copy.dims": "squeeze.dims",
    "t_copy": "t",
    "transpose_copy.int": "transpose.int",
    "unbind_copy.int": "unbind.int",
    "unfold_copy": "unfold",
    "unsqueeze_copy": "unsqueeze",
    "view_as_complex_copy": "view_as_complex",
    "view_as_real_copy": "view_as_real",
    "view_copy": "view",
    "view_copy.dtype": "view.dtype",
}
"""Operator -> the view that it copies."""
# Views that no lazy tensor has, for its memory would be read as something else.
_OF_MEMORY = ("view_as_real", "view.dtype")


def copying(view: str) -> Callable[..., Any]:
    """The function that copies what `view` returns, each part of a list by itself."""

    def run(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        if view == "view":
            return invoke("clone", invoke("reshape", self, *args), memory_format=contiguous_format)
        if self.meta.lazy and view in _OF_MEMORY:
            self = invoke("clone", self)
        found = invoke(view, self, *args, **kwargs)
        if isinstance(found, (tuple, list)):
            return tuple(invoke("clone", part, memory_format=contiguous_format) for part in found)
        return invoke("clone", found, memory_format=contiguous_format)

    return run


for _name, _view in VIEWS.items():
    kernel(_name)(copying(_view))


@kernel("positive", "CompositeExplicitAutograd")
def positive(self: Tensor) -> Tensor:
    """`self`. Raises RuntimeError for bool."""
    if self.meta.dtype.kind == 0:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return self
