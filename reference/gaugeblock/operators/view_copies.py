"""Fresh contiguous copies of what a view shows (select_copy, unbind_copy and their kin), and positive."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.memory_format import contiguous_format
from ..tensor.tensor import Tensor
from .composition import Part, composite
from .registration import kernel

COPIES = """as_strided_copy detach_copy diagonal_copy expand_copy narrow_copy permute_copy select_copy.int
    slice_copy.Tensor split_copy.Tensor split_with_sizes_copy squeeze_copy squeeze_copy.dim squeeze_copy.dims t_copy
    transpose_copy.int unbind_copy.int unfold_copy unsqueeze_copy view_as_complex_copy view_as_real_copy view_copy
    view_copy.dtype""".split()
"""Operators named after the view that they copy."""
# Views that no lazy tensor has, for its memory would be read as something else.
_OF_MEMORY = ("view_as_real", "view.dtype")


def copying(view: str) -> Callable[..., Any]:
    """The function that copies what `view` returns, each part of a list by itself."""

    def copy(part: Part, self: Tensor, *args: Any, **kwargs: Any) -> Any:
        given = part("clone", self) if self.meta.lazy and view in _OF_MEMORY else self
        found: Any = part("reshape" if view == "view" else view, given, *args, **kwargs)
        if isinstance(found, (tuple, list)):
            return tuple([part("clone", one, memory_format=contiguous_format) for one in found])
        return part("clone", found, memory_format=contiguous_format)

    return composite(copy)


kernel("alias_copy")(copying("detach"))
for _name in COPIES:
    kernel(_name)(copying(_name.replace("_copy", "")))


@kernel("positive", "CompositeExplicitAutograd")
def positive(self: Tensor) -> Tensor:
    """`self`. Raises RuntimeError for bool."""
    if self.meta.dtype.kind == 0:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return self
