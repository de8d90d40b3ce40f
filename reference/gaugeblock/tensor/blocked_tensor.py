"""The class of tensors in the blocked layout, which keep their elements in blocks of channels that nobody sees."""

from __future__ import annotations

from typing import Any, NoReturn

from ..core.device import cpu
from ..core.dtype import DType
from ..core.layout import Layout, _mkldnn
from ..memory.storage import dataless_storage
from .tensor import Tensor, tensor_object
from .tensor_meta import FIXED, TensorMeta, contiguous_meta


class BlockedMeta(TensorMeta):
    """The meta of blocked tensors: sizes, dtype and device, but no strides, and no twin that autograd watches."""

    __slots__ = ()

    @property
    def strides(self) -> NoReturn:  # type: ignore[override]
        """Raise RuntimeError: elements are not found by strides."""
        raise RuntimeError("a tensor of layout _mkldnn has no strides: convert it with to_dense() first")

    byte_strides = strides

    @property
    def twin(self) -> NoReturn:  # type: ignore[override]
        """Raise RuntimeError: no gradient is computed through the layout."""
        raise RuntimeError(
            "tensors of layout _mkldnn take no part in autograd: use them with no_grad(), or convert them with "
            "to_dense() first"
        )


class BlockedTensor(Tensor):
    """A tensor whose elements lie in `blocks`, a strided tensor of which the layout alone knows the form."""

    __slots__ = ()

    blocks: Tensor

    @property
    def layout(self) -> Layout:
        """The blocked layout."""
        return _mkldnn

    @property
    def is_mkldnn(self) -> bool:
        """True."""
        return True

    @property
    def pointer(self) -> NoReturn:  # type: ignore[override]
        """Raise RuntimeError: there is no address of a first element."""
        raise RuntimeError("a tensor of layout _mkldnn has no data pointer: convert it with to_dense() first")


BlockedTensor.__name__ = BlockedTensor.__qualname__ = "Tensor"
_TABLE: dict[tuple[tuple[int, ...], DType], BlockedMeta] = {}
TABLE_LIMIT = 1 << 10


def blocked_meta(sizes: tuple[int, ...], dtype: DType, keys: int) -> BlockedMeta:
    """The meta of blocked tensors of sizes and a dtype, with these dispatch keys."""
    known = _TABLE.get((sizes, dtype))
    if known is None:
        model, made = contiguous_meta(sizes, dtype), _empty_meta()
        for name in FIXED:
            setattr(made, f"_{name}", getattr(model, name))
        made._contiguous = made._dense = False
        made._pool = made.transposed = None
        made.keys = keys
        made.calls, made.plans, made.views, made.arrays = {}, {}, {}, {}
        if len(_TABLE) >= TABLE_LIMIT:
            _TABLE.clear()
        known = _TABLE[sizes, dtype] = made
    return known


def _empty_meta() -> Any:
    return BlockedMeta()


def blocked_tensor(meta: BlockedMeta, blocks: Tensor) -> BlockedTensor:
    """A new tensor with these blocks."""
    made = tensor_object(BlockedTensor, meta, dataless_storage(0, cpu), 0)
    made._pointer = 0
    made.blocks = blocks
    return made
