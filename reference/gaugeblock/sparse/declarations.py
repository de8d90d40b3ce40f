"""The operators of sparse layouts that strided tensors have no rows for, by upstream's schemas."""

from __future__ import annotations

from ..dispatch.dispatcher import REGISTRY

SCHEMAS = (
    "_to_sparse.sparse_dim(Tensor self, int sparse_dim) -> Tensor",
    "_to_sparse(Tensor self, *, Layout? layout=None, int[2]? blocksize=None, int? dense_dim=None) -> Tensor",
    "_to_dense(Tensor self, ScalarType? dtype=None, bool? masked_grad=None) -> Tensor",
    "_coalesce(Tensor self) -> Tensor",
    "indices(Tensor(a) self) -> Tensor(a)",
    "values(Tensor(a) self) -> Tensor(a)",
    "_indices(Tensor(a) self) -> Tensor(a)",
    "_values(Tensor(a) self) -> Tensor(a)",
    "_nnz(Tensor self) -> int",
    "is_coalesced(Tensor self) -> bool",
    "sparse_dim(Tensor self) -> int",
    "dense_dim(Tensor self) -> int",
    "crow_indices(Tensor(a) self) -> Tensor(a)",
    "col_indices(Tensor(a) self) -> Tensor(a)",
    "ccol_indices(Tensor(a) self) -> Tensor(a)",
    "row_indices(Tensor(a) self) -> Tensor(a)",
    "sparse_mask(Tensor self, Tensor mask) -> Tensor",
    "sparse_resize_(Tensor(a!) self, int[] size, int sparse_dim, int dense_dim) -> Tensor(a!)",
    "sparse_resize_and_clear_(Tensor(a!) self, int[] size, int sparse_dim, int dense_dim) -> Tensor(a!)",
    "resize_as_sparse_(Tensor(a!) self, Tensor the_template) -> Tensor(a!)",
    "_sparse_mm(Tensor sparse, Tensor dense) -> Tensor",
    "_sparse_coo_tensor_with_dims_and_tensors(int sparse_dim, int dense_dim, int[] size, Tensor indices, "
    "Tensor values, *, bool? is_coalesced=None) -> Tensor",
    "_sparse_compressed_tensor_unsafe(Tensor compressed_indices, Tensor plain_indices, Tensor values, int[] size, *, "
    "Layout? layout=None) -> Tensor",
)

REGISTRY.define_missing(SCHEMAS)
