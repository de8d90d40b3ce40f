"""out= of operators that return a list of parts: a list of the same number of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..iteration.dimensions import resize_output
from ..operators.invoke import invoke
from ..tensor.tensor import Tensor

WRITING_PARTS = frozenset({"split_copy", "split_with_sizes_copy", "unbind_copy"})
"""Functions that accept a list as out=."""
BROADCASTING = frozenset({"split_copy"})
"""Functions that copy into any dtype and broadcast; the others resize tensors of the part's dtype."""


def write_parts(name: str, parts: Sequence[Tensor], out: Any) -> None:
    """Copy each of `parts` into its tensor of `out`.

    Raises TypeError unless `out` is a list or tuple of tensors, RuntimeError for another number of them, for sizes or a
    dtype that do not fit, and when an argument requires a gradient.
    """
    if not isinstance(out, (tuple, list)) or not all(isinstance(one, Tensor) for one in out):
        raise TypeError(f"{name}(): argument 'out' must be tuple of Tensors, not {type(out).__name__}")
    if len(out) != len(parts):
        raise RuntimeError(f"{name}(): argument 'out' must have {len(parts)} tensors, got {len(out)}")
    if any(one.requires_grad for one in (*out, *parts)):
        raise RuntimeError(f"{name}(): calls with out= are not differentiated, but an argument requires a gradient")
    for one, part in zip(out, parts, strict=True):
        if name not in BROADCASTING and one.meta.dtype is not part.meta.dtype:
            raise RuntimeError(f"{name}(): argument 'out' must have {part.meta.dtype}, got {one.meta.dtype}")
        if name not in BROADCASTING and one.meta.sizes != part.meta.sizes:
            resize_output(one, part.meta)
        invoke("copy_", one, part)
