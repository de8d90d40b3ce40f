"""To the blocked layout and back: blocks of 16 channels, each innermost in memory, the last one filled up.

A tensor of sizes (N, C, ...) is kept as a row-major one of sizes (N, ceil(C / 16), ..., 16), one of sizes (C) as if it
had a batch of one. What fills the last block up has no meaning.
"""

from __future__ import annotations

from typing import Any

from ..core.device import cpu
from ..core.dtype import DType, bfloat16, float16, float32, int8, uint8
from ..core.layout import _mkldnn
from ..dispatch.keys import BACKEND_BIT, FUNCTIONALITY_BIT
from ..tensor.blocked_tensor import BlockedTensor, blocked_meta, blocked_tensor
from ..tensor.tensor import Tensor, empty_tensor

BLOCK = 16
MOST_DIMS = 5
DTYPES = (float32, bfloat16, float16, uint8, int8)
KEYS = FUNCTIONALITY_BIT["MkldnnCPU"] | FUNCTIONALITY_BIT["ADInplaceOrView"] | BACKEND_BIT["CPU"]
"""The dispatch keys of blocked tensors, which autograd does not watch."""


def to_mkldnn(self: Tensor, dtype: DType | None = None) -> Tensor:
    """The tensor in the blocked layout, in its dtype or another.

    Raises RuntimeError for a dtype that the layout does not have, and for no dims or more than five.
    """
    meta = self.meta
    for name, one in (("self", meta.dtype), ("dtype", dtype or meta.dtype)):
        if one not in DTYPES:
            allowed = ", ".join(known.name for known in DTYPES)
            raise RuntimeError(f"to_mkldnn(): argument '{name}' must be of one of {allowed}, got {one}")
    if not 1 <= meta.ndim <= MOST_DIMS:
        raise RuntimeError(f"to_mkldnn(): expected a tensor of 1 to {MOST_DIMS} dims, got {meta.ndim}")
    if meta.device is not cpu:
        raise NotImplementedError(f"to_mkldnn(): only tensors on the CPU, got one on {meta.device}")
    source: Any = self if dtype is None else self.to(dtype)  # type: ignore[attr-defined]
    return blocked(source.meta.sizes, source.meta.dtype, to_blocks(source))


def blocked(sizes: tuple[int, ...], dtype: DType, blocks: Tensor) -> Tensor:
    """The blocked tensor of some sizes with these blocks."""
    return blocked_tensor(blocked_meta(sizes, dtype, KEYS), blocks)


def to_blocks(source: Any) -> Any:
    """The blocks of a strided tensor's elements."""
    if source.meta.ndim == 1:
        source = source.unsqueeze(0)
    batch, channels, *rest = source.meta.sizes
    whole = channels // BLOCK
    blocks: Any = empty_tensor((batch, -(-channels // BLOCK), *rest, BLOCK), source.meta.dtype)
    if whole:
        parts = source.narrow(1, 0, whole * BLOCK).unflatten(1, (whole, BLOCK))
        blocks.narrow(1, 0, whole).copy_(parts.movedim(2, -1))
    left = channels - whole * BLOCK
    if left:
        last = source.narrow(1, whole * BLOCK, left).unsqueeze(1).movedim(2, -1)
        blocks.narrow(1, whole, 1).zero_().narrow(-1, 0, left).copy_(last)
    return blocks


def to_dense(self: Tensor, dtype: DType | None = None, masked_grad: bool | None = None) -> Any:
    """The elements of a blocked tensor as a row-major one, in its dtype or another."""
    result: Any = empty_tensor(self.meta.sizes, self.meta.dtype)
    blocks: Any = blocks_of(self)
    target = result.unsqueeze(0) if self.meta.ndim == 1 else result
    channels = target.meta.sizes[1]
    whole = channels // BLOCK
    if whole:
        parts = target.narrow(1, 0, whole * BLOCK).unflatten(1, (whole, BLOCK))
        parts.movedim(2, -1).copy_(blocks.narrow(1, 0, whole))
    left = channels - whole * BLOCK
    if left:
        last = target.narrow(1, whole * BLOCK, left).unsqueeze(1).movedim(2, -1)
        last.copy_(blocks.narrow(1, whole, 1).narrow(-1, 0, left))
    return result if dtype is None else result.to(dtype)


def blocks_of(tensor: Tensor) -> Tensor:
    """The blocks of a blocked tensor. Raises RuntimeError for one of another layout."""
    if not isinstance(tensor, BlockedTensor):
        raise RuntimeError(
            f"expected a tensor of layout {_mkldnn.name}, got one of {tensor.layout.name}: convert one of them, with "
            f"to_mkldnn() or to_dense()"
        )
    return tensor.blocks
