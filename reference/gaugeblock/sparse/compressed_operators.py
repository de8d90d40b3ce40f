"""Operators on compressed tensors: on the values where the entries stay, else by way of coordinate form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core import lazy_numpy as np
from ..core.dtype import DType, float32, float64
from ..core.errors import wrap_dim
from ..core.layout import sparse_csc, sparse_csr, strided
from ..core.promotion import promote_types
from ..operators.arrays import from_array, values
from ..operators.invoke import apply
from ..tensor.tensor import Tensor
from ..tensor.versions import bump_version
from . import arithmetic, matrix_product, reductions, views
from .compressed_tensor import CompressedParts, element_indices, entries, is_compressed, parts_of, to_coo
from .compressing import compress
from .conversion import check_dim
from .coo_tensor import alias, coo, index_tensor, is_coo
from .gathering import gathered
from .members import unexpected


def named_part(name: str) -> Callable[[Tensor], Tensor]:
    """Return the kernel that gives one of the parts. It raises RuntimeError where the layout has none of that name."""
    def part(self: Tensor) -> Tensor:
        parts = parts_of(self)
        if name not in parts.names:
            unexpected(name, self.layout)
        return alias(parts.tensors[parts.names.index(name)])

    return part


def like(self: Tensor, made: Tensor) -> Tensor:
    """Return a tensor in coordinate form in the layout of another, with blocks of the same sizes."""
    return compress(made, self.layout, parts_of(self).block)


def as_coo(tensor: Tensor) -> Tensor:
    """Return a sparse tensor in coordinate form, a strided one as it is."""
    return to_coo(tensor) if is_compressed(tensor) else tensor


def with_values(self: Tensor, made: Tensor) -> Tensor:
    """Return a tensor with the entries of another and its own values."""
    parts = parts_of(self)
    return parts.remade(alias(parts.compressed), alias(parts.plain), made).tensor(self.meta.sizes)


def on_values(name: str) -> Callable[..., Tensor]:
    """Return the kernel that applies an operator to the values."""
    return lambda self, *args, **kwargs: with_values(self, apply(name, parts_of(self).values, *args, **kwargs))


def on_values_inplace(name: str) -> Callable[..., Tensor]:
    """Return the kernel that applies an in-place operator to the values."""

    def kernel(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        apply(name, parts_of(self).values, *args, **kwargs)
        bump_version(self)
        return self

    return kernel


def add_number(self: Tensor, other: Any, alpha: Any = 1) -> Tensor:
    """Raise RuntimeError: nothing is added to elements that are not specified."""
    return add(self, other, alpha=alpha)


def add(self: Tensor, other: Tensor, *, alpha: Any = 1) -> Tensor:
    """Return ``self + alpha * other``: in the layout of both if they have the same, else strided. Raises RuntimeError
    for other sizes and for two sparse layouts."""
    if not isinstance(self, Tensor) or not isinstance(other, Tensor) or self.meta.sizes != other.meta.sizes:
        first, second = (list(getattr(one, "shape", ())) for one in (self, other))
        raise RuntimeError(
            f"add: expected 'self' and 'other' to have same size, but self has size {first} while other has size "
            f"{second} (FYI: op2-sparse addition does not currently support broadcasting)"
        )
    if self.layout is other.layout:
        parts = parts_of(self)
        if not parts.form.blocks and not parts.batch and same_entries(self, other):
            checked_columns(self)
            return with_values(self, apply("add.Tensor", parts.values, parts_of(other).values, alpha=alpha))
        return like(self, arithmetic.add(to_coo(self), to_coo(other), alpha=alpha))
    if strided not in (self.layout, other.layout):
        raise RuntimeError(f"add: tensors of layouts {self.layout.name} and {other.layout.name} have no common layout")
    if is_compressed(self):
        dtype = promote_types(self.meta.dtype, other.meta.dtype)
        scaled = other if alpha == 1 else apply("mul.Scalar", other, alpha)
        coo = to_coo(self)
        return arithmetic.added_to_dense(apply("to.dtype", scaled, dtype), coo, coo.parts.values)  # type: ignore[attr-defined]
    return arithmetic.add(self, to_coo(other), alpha=alpha)


def same_entries(self: Tensor, other: Tensor) -> bool:
    """Return whether two tensors of one layout and equal sizes specify the same elements in the same order."""
    mine, theirs = parts_of(self), parts_of(other)
    return mine.values.meta.sizes == theirs.values.meta.sizes and all(
        one is another or (one.meta.dtype is another.meta.dtype and np.array_equal(values(one), values(another)))
        for one, another in zip(mine.tensors[:2], theirs.tensors[:2], strict=True)
    )


def add_(self: Tensor, other: Tensor, *, alpha: Any = 1) -> Tensor:
    """Add ``alpha * other`` in place. Raises RuntimeError where the sum has another layout or dtype."""
    return written("add_", self, add(self, other, alpha=alpha))


def sub(self: Tensor, other: Tensor, *, alpha: Any = 1) -> Tensor:
    """Return ``self - alpha * other``, as `add`."""
    return add(self, other, alpha=-alpha)


def written(operator: str, self: Tensor, made: Tensor) -> Tensor:
    """Give a tensor the elements of a result. Raises RuntimeError for another layout or dtype."""
    if made.layout is not self.layout or made.meta.dtype is not self.meta.dtype:
        raise RuntimeError(
            f"{operator}(): the result, of layout {made.layout.name} and dtype {made.meta.dtype.name}, does not fit a "
            f"tensor of layout {self.layout.name} and dtype {self.meta.dtype.name}"
        )
    if not is_compressed(self):
        return apply("copy_", self, made)
    parts_of(self).take(parts_of(made))
    bump_version(self)
    return self


def mul(self: Tensor, other: Tensor) -> Tensor:
    """Return the product, in the layout of the compressed operand. Raises RuntimeError for two sparse layouts."""
    if not is_compressed(self):
        return mul(other, self)
    if not isinstance(other, Tensor):
        return with_values(self, apply("mul.Scalar", parts_of(self).values, other))
    if not other.meta.ndim:
        return with_values(self, apply("mul.Tensor", parts_of(self).values, other))
    if other.layout not in (strided, self.layout):
        raise RuntimeError(f"mul: tensors of layouts {self.layout.name} and {other.layout.name} have no common layout")
    return like(self, arithmetic.mul(to_coo(self), as_coo(other)))


def mm(self: Tensor, mat2: Tensor) -> Tensor:
    """Return the product of two matrices: compressed if both are, else strided. Raises RuntimeError for what does not
    fit."""
    if is_compressed(self) and mat2.layout is strided:
        return by_dense(self, mat2)
    if self.layout is strided:
        return apply("t", apply("mm", apply("t", mat2), apply("t", self)))
    if is_coo(self) or is_coo(mat2):
        return matrix_product.mm(as_coo(self), as_coo(mat2))
    if self.layout is mat2.layout is sparse_csr and matrix_product.scipy_sparse() is not None:
        return product_of_rows(self, mat2)
    return compress(matrix_product.mm(to_coo(self), to_coo(mat2)), sparse_csr)


def product_of_rows(self: Tensor, mat2: Tensor) -> Tensor:
    """Return the product of two matrices in CSR form, in that form."""
    matrix_product.check_matrices("mm", self, mat2)
    if self.meta.dtype not in matrix_product.SCIPY_DTYPES:
        return compress(matrix_product.mm(to_coo(self), to_coo(mat2)), sparse_csr)
    factors = []
    for one in (self, mat2):
        checked_columns(one)
        parts = parts_of(one)
        arrays = values(parts.values), values(parts.plain), values(parts.compressed)
        factors.append(matrix_product.Matrix(*arrays, one.meta.sizes))
    made = matrix_product.row_product(*factors)
    parts = CompressedParts(
        sparse_csr, index_tensor(made.indptr), index_tensor(made.indices), from_array(made.data, self.meta.dtype)
    )
    return parts.tensor(made.shape)


def by_dense(self: Tensor, dense: Tensor) -> Tensor:
    """Return the strided product of a compressed and a strided matrix."""
    parts = parts_of(self)
    module = matrix_product.scipy_sparse() if self.meta.dtype in matrix_product.SCIPY_DTYPES else None
    plain = self.layout in (sparse_csr, sparse_csc) and not parts.batch and not parts.dense_dim
    fits = dense.meta.ndim == 2 and self.meta.sizes[1] == dense.meta.sizes[0] and dense.meta.dtype is self.meta.dtype
    if plain and fits and parts.form.rows and self.meta.dtype in (float32, float64) and dense.meta.sizes[1] >= FEW:
        return sums_of_rows(self, dense)
    if plain:
        checked_columns(self)
    if module is None or not (plain and parts.nnz and fits):
        return matrix_product.mm(to_coo(self), dense)
    kind = module.csr_array if parts.form.rows else module.csc_array
    matrix = kind((values(parts.values), values(parts.plain), values(parts.compressed)), shape=self.meta.sizes)
    return from_array(matrix @ values(dense), self.meta.dtype)


FEW = 2
"""SciPy's loops multiply matrices of fewer columns faster."""


def sums_of_rows(self: Tensor, dense: Tensor) -> Tensor:
    """Return the strided product of a matrix in CSR form and a strided one: each row is a bag of rows of `dense` with
    the values as their factors."""
    parts = parts_of(self)
    check_pointers(self)
    if 0 in (self.meta.sizes[0], dense.meta.sizes[0], parts.nnz):
        checked_columns(self)
        return apply("new_zeros", dense, (self.meta.sizes[0], dense.meta.sizes[1]))
    try:
        given = (dense, parts.plain, parts.compressed, False, 0, False, parts.values, True)
        found: Any = apply("embedding_bag", *given)
    except (IndexError, RuntimeError):
        checked_columns(self)  # raises an error that names the indices of the layout
        raise
    made: Tensor = found[0]
    return made


def check_pointers(self: Tensor) -> None:
    """Raise RuntimeError for wrong pointers."""
    parts = parts_of(self)
    pointers = values(parts.compressed)
    if pointers[0] != 0 or pointers[-1] != parts.nnz or (pointers[1:] < pointers[:-1]).any():
        entries(self)


def checked_columns(self: Tensor) -> None:
    """Raise RuntimeError for wrong pointers, IndexError for a plain index outside of the sizes."""
    check_pointers(self)
    parts = parts_of(self)
    plain = values(parts.plain)
    across = self.meta.sizes[1 if parts.form.rows else 0]
    if plain.size and (plain.min() < 0 or plain.max() >= across):
        raise IndexError(f"{parts.names[1]} must be in [0, {across}), got {int(plain.min())} to {int(plain.max())}")


def addmm(self: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """Return ``beta * self + alpha * mat1 @ mat2``; with `beta` 0 the elements of `self` do not count. Raises
    RuntimeError for sizes that do not fit."""
    made = apply("mm", mat1, mat2)
    scaled = made if alpha == 1 else apply("mul.Scalar", made, alpha)
    if beta == 0:
        return scaled
    return apply("add.Tensor", self if beta == 1 else apply("mul.Scalar", self, beta), scaled)


def mv(self: Tensor, vec: Tensor) -> Tensor:
    """Return the product of a compressed matrix and a strided vector. Raises RuntimeError for what does not fit."""
    if not is_compressed(self) or vec.layout is not strided or vec.meta.ndim != 1:
        return matrix_product.mv(as_coo(self), vec)
    if self.meta.sizes[-1] != vec.meta.sizes[0]:
        raise RuntimeError("mv: expected self.size(-1) == vec.size(-1)")
    return apply("squeeze.dim", by_dense(self, apply("unsqueeze", vec, 1)), 1)


def bmm(self: Tensor, mat2: Tensor) -> Tensor:
    """Return the products of a batch of compressed matrices with strided ones. Raises RuntimeError for what does not
    fit."""
    return matrix_product.bmm(as_coo(self), mat2)


def fill_(self: Tensor, value: Any) -> Tensor:
    """Give all specified elements a number."""
    apply("fill_.Scalar", parts_of(self).values, value)
    bump_version(self)
    return self


def full_like(self: Tensor, fill_value: Any, *, dtype: DType | None = None, **options: Any) -> Tensor:
    """Return a tensor whose elements, specified as those of another, are a number."""
    return with_values(self, apply("full_like", parts_of(self).values, fill_value, dtype=dtype))


def total(self: Tensor, *, dtype: DType | None = None) -> Tensor:
    """Return the sum of all values, a strided tensor without dims."""
    return apply("sum", parts_of(self).values, dtype=dtype)


def sum_dims(
    self: Tensor, dim: Sequence[int] | int | None, keepdim: bool = False, *, dtype: DType | None = None
) -> Tensor:
    """Return the sums over some dims, which stay with size 1, in the same layout. Raises RuntimeError without
    `keepdim`, and for blocks."""
    if not keepdim:
        raise RuntimeError("sum(): reduction operations on CSR tensors with keepdim=False is unsupported")
    if parts_of(self).form.blocks:
        raise RuntimeError(f"sum(): reduction operations on layout {self.layout.name} are unsupported")
    return like(self, reductions.sum_dims(to_coo(self), dim, True, dtype=dtype))


def transpose(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """Return the tensor with two dims of a kind exchanged. Exchanging rows and columns gives the layout that compresses
    the other of them, over the same parts. Raises RuntimeError for dims of two kinds."""
    ndim, parts = self.meta.ndim, parts_of(self)
    first, second = sorted((wrap_dim("transpose", dim0, ndim), wrap_dim("transpose", dim1, ndim)))
    lead = len(parts.batch)
    kinds = ["Batch" if dim < lead else "Sparse" if dim < lead + 2 else "Dense" for dim in (first, second)]
    if kinds[0] != kinds[1]:
        raise RuntimeError(
            f"transpose(): can only transpose dimensions of the same type (Batch, Sparse, Dense), got {first}"
            f"({kinds[0]}) and {second}({kinds[1]})"
        )
    if first == second:
        return with_values(self, alias(parts.values))
    sizes = list(self.meta.sizes)
    sizes[first], sizes[second] = sizes[second], sizes[first]
    if kinds[0] != "Sparse":
        return like(self, views.transpose(to_coo(self), first, second))
    place = parts.plain.meta.ndim
    turned = apply("transpose.int", parts.values, place, place + 1) if parts.form.blocks else alias(parts.values)
    made = CompressedParts(parts.form.transposed, alias(parts.compressed), alias(parts.plain), turned)
    return made.tensor(sizes)


def t(self: Tensor) -> Tensor:
    """Return a matrix with its dims exchanged. Raises RuntimeError for more than two dims."""
    if self.meta.ndim != 2:
        raise RuntimeError(f"t() expects a tensor with 2 dimensions in layout {self.layout.name}, got {self.meta.ndim}")
    return transpose(self, 0, 1)


def select(self: Tensor, dim: int, index: int) -> Tensor:
    """Return the part of a dim at an index: of a batch dim in the same layout, else in coordinate form. Raises
    IndexError out of range."""
    place = wrap_dim("select", dim, self.meta.ndim)
    parts = parts_of(self)
    if parts.form.rows and not parts.form.blocks and not parts.batch and place == 0:
        return row_of(self, index)
    made = views.select(to_coo(self), dim, index)
    return like(self, made) if place < len(parts.batch) else made


def row_of(self: Tensor, index: int) -> Tensor:
    """Return a row of a matrix in CSR form in coordinate form. Raises IndexError out of range, RuntimeError for wrong
    pointers."""
    count, across = self.meta.sizes[:2]
    if not -count <= index < count:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(self.meta.sizes)} at dimension 0"
        )
    parts = parts_of(self)
    begin, end = (int(one) for one in values(parts.compressed)[index % count : index % count + 2])
    if not 0 <= begin <= end <= parts.nnz:
        entries(self)
    chosen = values(parts.plain)[begin:end].astype(np.int64)
    check_dim(1, chosen, across)
    made = apply("clone", apply("narrow", parts.values, 0, begin, end - begin))
    return coo(index_tensor(chosen[None]), made, self.meta.sizes[1:], coalesced=bool((chosen[1:] > chosen[:-1]).all()))


def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """Return the elements at those that a compressed tensor specifies. Raises RuntimeError for other sizes and for a
    mask in another layout."""
    if not is_compressed(mask):
        raise RuntimeError(f"sparse_mask(): expected mask in a compressed layout, got layout {mask.layout.name}")
    if self.meta.sizes != mask.meta.sizes:
        raise RuntimeError(
            f"sparse_mask(): operands have incompatible sizes; self has size {list(self.meta.sizes)} but mask has size "
            f"{list(mask.meta.sizes)}"
        )
    return with_values(mask, values_like(self, mask))


def values_like(self: Tensor, mask: Tensor) -> Tensor:
    """Return the elements of a tensor that a compressed one specifies, as its values lie."""
    indices = index_tensor(element_indices(mask))
    return apply("reshape", gathered(as_coo(self), indices), parts_of(mask).values.meta.sizes)


MEMBERS: dict[str, Callable[..., Any]] = {
    **{
        name: named_part(name)
        for name in ("crow_indices", "col_indices", "ccol_indices", "row_indices", "values")
    },
    "_values": named_part("values"), "_nnz": lambda self: parts_of(self).nnz, "sparse_dim": lambda self: 2,
    "dense_dim": lambda self: parts_of(self).dense_dim,
}  # fmt: skip
"""What tells of the parts -> kernel."""
ON_PARTS: dict[str, Callable[..., Any]] = {
    **MEMBERS, "sum": total, "add.Scalar": add_number, "fill_.Scalar": fill_, "full_like": full_like,
    **{name: on_values(name) for name in ("mul.Scalar", "div.Scalar")},
    **{f"{name}_.Scalar": on_values_inplace(f"{name}_.Scalar") for name in ("mul", "div")},
}  # fmt: skip
"""Operator -> its kernel, which works wherever the parts lie."""
ON_INDICES: dict[str, Callable[..., Any]] = {
    "add.Tensor": add, "add_.Tensor": add_, "sub.Tensor": sub, "mul.Tensor": mul, "mm": mm, "_sparse_mm": mm,
    "addmm": addmm, "addmm_": matrix_product.addmm_, "mv": mv, "addmv": matrix_product.addmv, "bmm": bmm,
    "matmul": matrix_product.matmul, "sum.dim_IntList": sum_dims, "transpose.int": transpose, "t": t,
    "select.int": select, "unbind.int": views.unbind, "sparse_mask": sparse_mask,
}  # fmt: skip
"""Operator -> its kernel, which reads indices in host memory."""
