"""Tensors over foreign memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core.dtype import DEFAULTS, DType
from ..core.errors import check_int, check_ints, check_sizes, type_error
from ..memory.storage import blob_storage
from ..tensor.tensor import Tensor, make_tensor
from ..tensor.tensor_meta import default_strides, extent, meta_of


def from_blob(
    pointer: int, sizes: Sequence[int], dtype: DType | None = None, *, strides: Sequence[int] | None = None,
    deleter: Callable[[int], object] | None = None, owner: Any = None,
) -> Tensor:  # fmt: skip
    """A tensor on the memory at `pointer`, row-major unless `strides` (in elements) are given.

    ``deleter(pointer)`` runs exactly once, when the last tensor over it is gone. Raises RuntimeError for negative
    sizes or strides and for a pointer that is null or no address, TypeError for arguments of other types.
    """
    address = check_int("from_blob", "pointer", pointer)
    if dtype is not None and not isinstance(dtype, DType):
        type_error("from_blob", "dtype", dtype, "a dtype")
    if deleter is not None and not callable(deleter):
        type_error("from_blob", "deleter", deleter, "callable")
    shape = check_ints("from_blob", "sizes", sizes)
    check_sizes("from_blob", shape, "sizes")
    steps = default_strides(shape) if strides is None else check_ints("from_blob", "strides", strides)
    if len(steps) != len(shape) or any(step < 0 for step in steps):
        raise RuntimeError(
            f"from_blob(): argument 'strides' must have {len(shape)} non-negative members, got {list(steps)}"
        )
    kind = dtype or DEFAULTS.dtype
    storage = blob_storage(address, extent(shape, steps) * kind.itemsize, deleter=deleter, owner=owner)
    return make_tensor(meta_of(shape, steps, kind), storage, 0, None)
