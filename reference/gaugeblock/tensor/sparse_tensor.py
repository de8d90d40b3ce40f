"""The class of tensors in sparse layouts, whose elements lie in parts that are tensors themselves."""

from __future__ import annotations

from typing import Any, NoReturn

from ..core.device import Device
from ..core.dtype import DType
from ..core.layout import Layout, sparse_coo, sparse_csr
from ..memory.storage import dataless_storage
from .tensor import Tensor, tensor_object
from .tensor_meta import AUTOGRAD_KEY, FIXED, TABLE_LIMIT, TensorMeta, contiguous_meta


class SparseTensor(Tensor):
    """A tensor whose elements lie in `parts`: strided tensors of indices and of values, and what is known of them.

    Its storage has no bytes and serves as its identity. The record of autograd shares the parts, so that what is
    written through one is seen through the other.
    """

    __slots__ = ()

    parts: Any

    @property
    def layout(self) -> Layout:
        """The layout, one of the sparse ones."""
        layout: Layout = self.parts.layout
        return layout

    @property
    def is_sparse(self) -> bool:
        """Return whether the tensor is in coordinate form."""
        return self.parts.layout is sparse_coo

    @property
    def is_sparse_csr(self) -> bool:
        """Return whether the tensor is in compressed row form."""
        return self.parts.layout is sparse_csr

    @property
    def pointer(self) -> NoReturn:  # type: ignore[override]
        """Raise NotImplementedError: there is no address."""
        raise NotImplementedError(
            f"a tensor of layout {self.parts.layout.name} has no memory of its own: the call reached a kernel for "
            f"strided tensors"
        )


SparseTensor.__name__ = SparseTensor.__qualname__ = "Tensor"
_TABLE: dict[tuple[tuple[int, ...], DType, Device, int], TensorMeta] = {}


def sparse_meta(sizes: tuple[int, ...], dtype: DType, device: Device, keys: int) -> TensorMeta:
    """Return the meta of sparse tensors with these dispatch keys: neither dense nor contiguous, with empty caches. Its
    twin is that of tensors that autograd watches. Raises RuntimeError for negative or impossible sizes."""
    key = (sizes, dtype, device, keys)
    known = _TABLE.get(key)
    if known is None:
        model = contiguous_meta(sizes, dtype, device)
        known, twin = _like(model, keys, False), _like(model, keys | AUTOGRAD_KEY, True)
        known.twin, twin.twin = twin, known
        if len(_TABLE) >= TABLE_LIMIT:
            _TABLE.clear()
        _TABLE[key] = known
    return known


def _like(model: TensorMeta, keys: int, has_autograd: bool) -> TensorMeta:
    made: Any = TensorMeta()
    for name in FIXED:
        setattr(made, f"_{name}", getattr(model, name))
    made._contiguous = made._dense = False
    made._pool = made.transposed = None
    made._has_autograd = has_autograd
    made.keys = keys
    made.calls, made.plans, made.views, made.arrays = {}, {}, {}, {}
    return made  # type: ignore[no-any-return]


def sparse_tensor(meta: TensorMeta, parts: Any) -> SparseTensor:
    """Return a new tensor with these parts."""
    made = tensor_object(SparseTensor, meta, dataless_storage(0, meta.device), 0)
    made._pointer = 0
    made.parts = parts
    return made
