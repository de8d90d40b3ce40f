"""The functions and methods of sparse layouts as they are called from outside: arguments are checked, then operators
dispatched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core.dtype import DType
from ..core.errors import check_int, check_ints, type_error
from ..core.layout import Layout, sparse_coo
from ..dispatch.dispatcher import REGISTRY, call
from ..dispatch.overrides import overridable
from ..tensor.tensor import Tensor
from . import members
from . import registration as registration
from .compressed_construction import FUNCTIONS as COMPRESSED
from .compressed_tensor import FORMS
from .construction import sparse_coo_tensor
from .coo_tensor import parts_of


def run(name: str, *args: Any, **kwargs: Any) -> Tensor:
    """Return the tensor that an operator gives."""
    found: Tensor = call(REGISTRY.find(name), *args, **kwargs)
    return found


def to_sparse(
    self: Tensor, sparse_dim: int | None = None, *, layout: Layout | None = None,
    blocksize: Sequence[int] | None = None, dense_dim: int | None = None,
) -> Tensor:  # fmt: skip
    """Return the tensor in a sparse layout (coordinate form if none is named), with `sparse_dim` or without `dense_dim`
    dims sparse. Raises TypeError for anything but ints and layouts, RuntimeError for what does not fit together."""
    if layout is not None and not isinstance(layout, Layout):
        type_error("to_sparse", "layout", layout, "Layout")
    if blocksize is not None:
        blocksize = check_ints("to_sparse", "blocksize", blocksize)
    if dense_dim is not None:
        dense_dim = check_int("to_sparse", "dense_dim", dense_dim)
    if sparse_dim is not None:
        return run("_to_sparse.sparse_dim", self, check_int("to_sparse", "sparse_dim", sparse_dim))
    return run("_to_sparse", self, layout=layout, blocksize=blocksize, dense_dim=dense_dim)


def to_dense(self: Tensor, dtype: DType | None = None, *, masked_grad: bool | None = None) -> Tensor:
    """Return a sparse tensor with strides, a strided one itself or in another dtype. The gradient of the result reaches
    specified elements alone unless `masked_grad` is False. Raises RuntimeError for a sparse tensor and a dtype."""
    return run("_to_dense", self, dtype, masked_grad)


def to_sparse_form(name: str, layout: Layout) -> Callable[..., Tensor]:
    """Return the method that converts to one compressed layout."""

    def convert(self: Tensor, dense_dim: int | None = None) -> Tensor:
        dims = None if dense_dim is None else check_int(name, "dense_dim", dense_dim)
        return run("_to_sparse", self, layout=layout, dense_dim=dims)

    def convert_blocks(self: Tensor, blocksize: Sequence[int], dense_dim: int | None = None) -> Tensor:
        dims = None if dense_dim is None else check_int(name, "dense_dim", dense_dim)
        block = check_ints(name, "blocksize", blocksize)
        return run("_to_sparse", self, layout=layout, blocksize=block, dense_dim=dims)

    return _named(name, convert_blocks if FORMS[layout].blocks else convert)


def coalesce(self: Tensor) -> Tensor:
    """Return the tensor, if it is coalesced itself, with equal indices summed and in order. Raises RuntimeError unless
    it is in coordinate form."""
    if self.layout is not sparse_coo:
        members.unexpected("coalesce", self.layout)
    return self if parts_of(self).coalesced else run("_coalesce", self)


def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """Return the elements at the indices of a sparse tensor. Raises RuntimeError for other sizes, TypeError for a mask
    that is no tensor."""
    if not isinstance(mask, Tensor):
        type_error("sparse_mask", "mask", mask, "Tensor")
    return run("sparse_mask", self, mask)


def of_self(name: str) -> Callable[..., Any]:
    """Return the method that is an operator of the tensor alone."""

    def method(self: Tensor) -> Any:
        return call(REGISTRY.find(name), self)

    return _named(name, method)


def _named(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """Give a method the name under which Python tells of arguments that it does not take."""
    method.__name__ = method.__qualname__ = name
    return method


METHODS: dict[str, Callable[..., Any]] = {
    "to_sparse": to_sparse, "to_dense": to_dense, "coalesce": coalesce, "sparse_mask": sparse_mask,
    **{f"to_sparse_{FORMS[one].name}": to_sparse_form(f"to_sparse_{FORMS[one].name}", one) for one in FORMS},
    **{name: of_self(name) for name in (
        "is_coalesced", "indices", "values", "_indices", "_values", "_nnz", "sparse_dim", "dense_dim", "crow_indices",
        "col_indices", "ccol_indices", "row_indices")},
}  # fmt: skip
"""Method of tensors -> its function."""
FUNCTIONS: dict[str, Callable[..., Any]] = {
    name: overridable(one) for name, one in {"sparse_coo_tensor": sparse_coo_tensor, **COMPRESSED}.items()
}
"""Function of the public module -> itself."""
