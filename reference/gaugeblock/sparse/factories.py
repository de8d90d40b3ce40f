"""Factories that are asked for a sparse layout: tensors without specified elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core.device import Device, as_device
from ..core.dtype import DEFAULTS, DType
from ..core.errors import check_sizes
from ..core.layout import Layout, sparse_coo
from ..tensor.tensor import Tensor
from .compressed_construction import empty_parts
from .coo_tensor import empty_coo


def zeros(
    size: Sequence[int], *, dtype: DType | None = None, layout: Layout = sparse_coo,
    device: Device | str | None = None, pin_memory: bool | None = None, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """Return a tensor without specified elements, all of its dims sparse. Raises RuntimeError for a compressed layout
    with fewer than two dims."""
    check_sizes("zeros", size)
    kind, place = dtype or DEFAULTS.dtype, as_device(device)
    if layout is sparse_coo:
        return empty_coo(tuple(size), len(size), kind, place)
    if len(size) < 2:
        raise RuntimeError(f"zeros(): a tensor of layout {layout.name} has at least two dims, got sizes {list(size)}")
    return empty_parts(layout, size, kind, place).tensor(size)


def refused(size: Sequence[int], *values: Any, layout: Layout = sparse_coo, **options: Any) -> Tensor:
    """Raise RuntimeError: every element of the tensor would be specified."""
    raise RuntimeError(f"full(...) is not implemented for sparse layout, got layout {layout.name}")


KERNELS: dict[str, Callable[..., Tensor]] = {
    "zeros": zeros, "empty.memory_format": zeros, "ones": refused, "full": refused,
}  # fmt: skip
"""Factory -> its kernel."""
