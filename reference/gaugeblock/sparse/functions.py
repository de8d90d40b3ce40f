"""Functions of recorded operators on the parts of sparse tensors, so that gradients need no rules of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core import lazy_numpy as np
from ..core.dtype import DType, float32, float64, int64
from ..core.errors import check_sizes, wrap_dim
from ..core.layout import Layout, sparse_coo, sparse_csc, sparse_csr, strided
from ..core.promotion import UPSTREAM_NAMES
from ..dispatch.dispatcher import REGISTRY, call
from ..operators.arrays import Array
from ..operators.invoke import apply
from ..tensor.sparse_tensor import SparseTensor
from ..tensor.tensor import Tensor
from .compressed_tensor import element_indices, parts_of
from .coo_tensor import columns, host_array, index_tensor, is_coo, places_of, sparse_sizes
from .matrix_product import check_matrices


def softmax(input: Tensor, dim: int, dtype: DType | None, log: bool) -> Tensor:
    """Return the softmax along a dim, or its logarithm, of the specified elements, coalesced. The others count as minus
    infinity. Raises NotImplementedError for another layout and for dtypes other than float32 and float64, IndexError
    for a dim out of range."""
    name = "sparse.log_softmax" if log else "sparse.softmax"
    if not is_coo(input):
        raise NotImplementedError(f"{name}(): takes tensors in coordinate form, got layout {input.layout.name}")
    dim = wrap_dim(name, dim, input.meta.ndim)
    given: Any = input if dtype is None else apply("to.dtype", input, dtype)
    if given.dtype not in (float32, float64):
        raise NotImplementedError(f"{name}(): takes float32 and float64, got {UPSTREAM_NAMES[given.dtype.name]}")
    whole = given.coalesce()
    found, split = whole.values(), whole.sparse_dim()
    if dim >= split:
        made = apply("log_softmax.int" if log else "softmax.int", found, dim - split + 1)
    else:
        made = _within_groups(found, _groups(whole, dim), log)
    sizes = tuple(whole.shape)
    indices = whole._indices()
    return _call("_sparse_coo_tensor_with_dims_and_tensors", split, whole.dense_dim(), sizes, indices, made,
                 is_coalesced=True)  # fmt: skip


def _groups(self: Tensor, dim: int) -> Tensor:
    """Return a group number for each specified element; elements of a group differ only in their index of `dim`."""
    indices, sizes = np.delete(columns(self), dim, 0), list(sparse_sizes(self))
    del sizes[dim]
    return index_tensor(np.unique(places_of(indices, sizes), return_inverse=True)[1], self.meta.device)


def _within_groups(found: Tensor, groups: Tensor, log: bool) -> Tensor:
    """Return the softmax of the values of each group. It is recorded."""
    if not found.meta.numel:
        return apply("clone", found)
    sizes = (int(host_array(groups).max()) + 1, *found.meta.sizes[1:])
    least = apply("new_full", found, sizes, -np.inf)
    detached = apply("detach", found)
    largest = apply("index_reduce", least, 0, groups, detached, "amax")
    shifted = apply("sub.Tensor", found, apply("index_select", largest, 0, groups))
    powers = apply("exp", shifted)
    totals = apply("index_add", apply("new_zeros", found, sizes), 0, groups, powers)
    if log:
        return apply("sub.Tensor", shifted, apply("index_select", apply("log", totals), 0, groups))
    return apply("div.Tensor", powers, apply("index_select", totals, 0, groups))


REDUCTIONS = ("sum", "mean", "amax", "amin")
"""Reductions of the products of a row's elements with those of a column."""


def reduced_product(input: Tensor, dense: Tensor, reduce: str) -> Tensor:
    """Return a product of a matrix in CSR form with a strided one whose sums are other reductions. Raises RuntimeError
    for other layouts and reductions, and for sizes and dtypes that do not fit."""
    name = "sparse.mm"
    if reduce not in REDUCTIONS:
        raise RuntimeError(f"{name}(): argument 'reduce' must be one of {', '.join(REDUCTIONS)}, got {reduce!r}")
    if input.layout is not sparse_csr or dense.layout is not strided:
        raise RuntimeError(
            f"{name}(): with 'reduce' mat1 must be of layout sparse_csr and mat2 strided, got {input.layout.name} and "
            f"{dense.layout.name}"
        )
    if reduce == "sum":
        return apply("mm", input, dense)
    check_matrices(name, input, dense)
    rows, across = [index_tensor(row, input.meta.device) for row in element_indices(input)]
    given: Any = input
    terms = apply("mul.Tensor", apply("index_select", dense, 0, across), apply("unsqueeze", given.values(), 1))
    zeros = apply("new_zeros", dense, (input.meta.sizes[0], dense.meta.sizes[1]))
    return apply("index_reduce", zeros, 0, rows, terms, reduce, include_self=False)


def sampled_addmm(input: Tensor, mat1: Tensor, mat2: Tensor, beta: Any, alpha: Any) -> Tensor:
    """Return ``beta * input + alpha * (mat1 @ mat2)`` where `input`, in CSR form, specifies elements; no other is
    computed. Batches go together. Raises NotImplementedError for another layout, RuntimeError for sizes and dtypes that
    do not fit."""
    name = "sampled_addmm"
    if not isinstance(input, SparseTensor) or input.layout is not sparse_csr:
        raise NotImplementedError(f"{name}(): 'input' must be of layout sparse_csr, got {input.layout.name}")
    _check_sampled(name, input, mat1, mat2)
    parts = parts_of(input)
    *lead, rows, across = [index_tensor(row, input.meta.device) for row in element_indices(input)]
    first = apply("index.Tensor", mat1, [*lead, rows])
    second = apply("index.Tensor", apply("transpose.int", mat2, -2, -1), [*lead, across])
    product = apply("sum.dim_IntList", apply("mul.Tensor", first, second), (-1,))
    given: Any = input
    kept = given.values()
    made = apply("mul.Scalar", apply("reshape", product, tuple(kept.shape)), alpha)
    made = apply("add.Tensor", made, apply("mul.Scalar", kept, beta))
    return _call("_sparse_compressed_tensor_unsafe", parts.compressed, parts.plain, made, tuple(input.shape),
                 layout=sparse_csr)  # fmt: skip


def _check_sampled(name: str, input: Tensor, mat1: Tensor, mat2: Tensor) -> None:
    for label, one in (("mat1", mat1), ("mat2", mat2)):
        if one.layout is not strided:
            raise RuntimeError(f"{name}(): {label} must be strided, got layout {one.layout.name}")
        if one.meta.dtype is not input.meta.dtype:
            raise RuntimeError(
                f"{name}(): expected input, mat1 and mat2 to have the same dtype, but got "
                f"{UPSTREAM_NAMES[input.meta.dtype.name]} and {UPSTREAM_NAMES[one.meta.dtype.name]} of {label}"
            )
        if one.meta.ndim != input.meta.ndim or one.meta.sizes[:-2] != input.meta.sizes[:-2]:
            raise RuntimeError(
                f"{name}(): expected input and {label} to have the same batch size, but got sizes "
                f"{list(input.meta.sizes)} and {list(one.meta.sizes)}"
            )
    if input.meta.dtype.kind < 2:
        raise RuntimeError(
            f"{name}(): expected input to be a floating-point or complex tensor, but got "
            f"{UPSTREAM_NAMES[input.meta.dtype.name]}"
        )
    (rows, inner), (other, across) = mat1.meta.sizes[-2:], mat2.meta.sizes[-2:]
    if inner != other:
        raise RuntimeError(
            f"{name}(): mat1 and mat2 shapes cannot be multiplied ({rows}x{inner} and {other}x{across})"
        )
    if (rows, across) != input.meta.sizes[-2:]:
        raise RuntimeError(
            f"{name}(): input of sizes {list(input.meta.sizes)} does not fit a product of {rows} x {across}"
        )


def sspaddmm(self: Tensor, mat1: Tensor, mat2: Tensor, beta: Any, alpha: Any) -> Tensor:
    """Return ``beta * self + alpha * mat1 @ mat2`` for sparse `self` and `mat1` and a strided `mat2`: the elements of
    `self`, then all of the rows of the product that `mat1` specifies, so that indices may repeat. Raises RuntimeError
    for other layouts and sizes that do not fit."""
    if not is_coo(self) or sparse_sizes(self) != self.meta.sizes or self.meta.ndim != 2:
        raise RuntimeError(f"sspaddmm(): expected 'self' to be a matrix in coordinate form, got {_told(self)}")
    rows, values = rows_of_product("sspaddmm", mat1, mat2)
    sizes = (mat1.meta.sizes[0], mat2.meta.sizes[1])
    if self.meta.sizes != sizes:
        raise RuntimeError(f"sspaddmm(): expected 'self' to have sizes {list(sizes)}, got {list(self.meta.sizes)}")
    across = np.tile(np.arange(sizes[1]), rows.size)
    product = index_tensor(np.stack([np.repeat(rows, sizes[1]), across]), self.meta.device)
    given: Any = self
    indices = apply("cat", [given._indices(), product], 1)
    scaled = [apply("mul.Scalar", given._values(), beta), apply("mul.Scalar", apply("reshape", values, (-1,)), alpha)]
    return _call("_sparse_coo_tensor_with_dims_and_tensors", 2, 0, sizes, indices, apply("cat", scaled, 0))


def hspmm(mat1: Tensor, mat2: Tensor) -> Tensor:
    """Return the product of a sparse and a strided matrix with the rows that `mat1` specifies, as dense blocks. Raises
    RuntimeError for other layouts and sizes that do not fit."""
    rows, values = rows_of_product("hspmm", mat1, mat2)
    sizes = (mat1.meta.sizes[0], mat2.meta.sizes[1])
    indices = index_tensor(rows[None], mat1.meta.device)
    return _call("_sparse_coo_tensor_with_dims_and_tensors", 1, 1, sizes, indices, values)


def rows_of_product(name: str, mat1: Tensor, mat2: Tensor) -> tuple[Array, Tensor]:
    """Return the rows of a sparse matrix that have specified elements, and those rows of its product with a strided
    one."""
    if not is_coo(mat1) or sparse_sizes(mat1) != mat1.meta.sizes or mat1.meta.ndim != 2:
        raise RuntimeError(f"{name}(): expected 'mat1' to be a matrix in coordinate form, got {_told(mat1)}")
    if mat2.layout is not strided or mat2.meta.ndim != 2:
        raise RuntimeError(f"{name}(): expected 'mat2' to be a strided matrix, got {_told(mat2)}")
    rows = np.unique(columns(mat1)[0])
    return rows, apply("index_select", apply("mm", mat1, mat2), 0, index_tensor(rows, mat1.meta.device))


def _told(tensor: Tensor) -> str:
    return f"sizes {list(tensor.meta.sizes)} in layout {tensor.layout.name}"


def spdiags(diagonals: Tensor, offsets: Tensor, shape: Sequence[int], layout: Layout | None) -> Tensor:
    """Return the matrix whose diagonals are rows of a tensor: element j of a row lies in column j. Raises RuntimeError
    for what does not fit, offsets that repeat, and another layout than COO, CSR and CSC."""
    name = "spdiags"
    check_sizes(name, shape, "shape")
    if len(shape) != 2:
        raise RuntimeError(f"{name}(): shape must have two sizes, got {list(shape)}")
    height, width = shape
    if diagonals.meta.ndim not in (1, 2):
        raise RuntimeError(f"{name}(): diagonals must be a vector or a matrix, got {diagonals.meta.ndim} dims")
    if offsets.meta.ndim > 1:
        raise RuntimeError(f"{name}(): offsets must be a scalar or a vector, got {offsets.meta.ndim} dims")
    if offsets.meta.dtype is not int64:
        raise RuntimeError(f"{name}(): offsets must have dtype Long but got {UPSTREAM_NAMES[offsets.meta.dtype.name]}")
    if layout not in (None, sparse_coo, sparse_csr, sparse_csc):
        raise RuntimeError(f"{name}(): layout must be sparse_coo, sparse_csr or sparse_csc, got {layout}")
    rows: Any = apply("unsqueeze", diagonals, 0) if diagonals.meta.ndim == 1 else diagonals
    places = host_array(offsets).reshape(-1)
    if rows.shape[0] != places.size:
        raise RuntimeError(
            f"{name}(): number of diagonals ({rows.shape[0]}) does not match the number of offsets ({places.size})"
        )
    if np.unique(places).size != places.size:
        raise RuntimeError(f"{name}(): offsets contain duplicate values: {places.tolist()}")
    across = np.arange(min(width, rows.shape[1]))
    down = across - places[:, None]
    diagonal, column = np.nonzero((down >= 0) & (down < height))
    indices, *found = (
        index_tensor(one, rows.device) for one in (np.stack([down[diagonal, column], column]), diagonal, column)
    )
    taken = apply("index.Tensor", rows, found)
    made: Any = _call("_sparse_coo_tensor_with_dims_and_tensors", 2, 0, (height, width), indices, taken)
    return made if layout in (None, sparse_coo) else made.to_sparse(layout=layout)  # type: ignore[no-any-return]


def _call(name: str, *args: Any, **kwargs: Any) -> Tensor:
    return call(REGISTRY.find(name), *args, **kwargs)  # type: ignore[no-any-return]
