"""Methods and functions of sparse layouts; what they call is loaded when the first of them is used."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from ..dispatch.dispatcher import REGISTRY
from ..tensor.sparse_tensor import SparseTensor
from ..tensor.tensor import Tensor
from . import dispatched

METHODS = frozenset(
    """to_sparse to_sparse_coo to_dense coalesce is_coalesced indices values _indices _values _nnz sparse_dim dense_dim
    sparse_mask crow_indices col_indices ccol_indices row_indices to_sparse_csr to_sparse_csc to_sparse_bsr
    to_sparse_bsc sparse_resize_ sparse_resize_and_clear_ resize_as_sparse_ smm sspaddmm""".split()
)
"""Methods of tensors of every layout."""


def _later(name: str) -> Callable[..., Any]:
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        return calls().METHODS[name](self, *args, **kwargs)

    method.__name__ = name
    method.__qualname__ = f"Tensor.{name}"
    return method


def calls() -> Any:
    """Return the module with the functions behind the methods, loaded now if it is not yet."""
    import_module("..autograd.sparse_gradients", __package__)
    return import_module("..sparse.calls", __package__)


FACTORIES = ("zeros", "empty.memory_format", "ones", "full")
"""Operators that make a tensor in the layout that they are asked for."""
FUNCTIONS = (
    "sparse_coo_tensor", "sparse_compressed_tensor", "sparse_csr_tensor", "sparse_csc_tensor", "sparse_bsr_tensor",
    "sparse_bsc_tensor", "resize_as_sparse_", "smm", "hspmm", "hsmm", "sspaddmm", "saddmm", "spmm", "dsmm",
)  # fmt: skip
"""Functions of the module that make, change or multiply sparse tensors."""


def __getattr__(name: str) -> Any:
    if name in FUNCTIONS:
        return calls().FUNCTIONS[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _factory(name: str) -> Callable[..., Any]:
    def kernel(*args: Any, **kwargs: Any) -> Any:
        return import_module("..sparse.factories", __package__).KERNELS[name](*args, **kwargs)

    return kernel


for _name in FACTORIES:
    for _device in ("CPU", "CUDA", "Meta"):
        REGISTRY.register(_name, f"Sparse{_device}", _factory(_name))
        REGISTRY.register(_name, f"SparseCsr{_device}", _factory(_name))
for _name in METHODS:
    setattr(Tensor, _name, _later(_name))

for _name in ("__getitem__", "__setitem__", "__iter__", "item"):
    setattr(SparseTensor, _name, dispatched.METHODS[_name])
for _name, _getter in dispatched.PROPERTIES.items():
    setattr(SparseTensor, _name, property(_getter))
