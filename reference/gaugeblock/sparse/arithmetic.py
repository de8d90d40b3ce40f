"""Sums, products and quotients with sparse tensors in coordinate form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ..core import lazy_numpy as np
from ..core.promotion import can_cast, promote_types
from ..operators.invoke import apply
from ..tensor.tensor import Tensor
from ..tensor.versions import bump_version
from .coalescing import coalesced
from .conversion import check_inside
from .coo_tensor import columns, coo, flattened, index_tensor, is_coo, parts_of, places_of, sparse_sizes, with_values


def add(self: Tensor, other: Tensor, *, alpha: Any = 1) -> Tensor:
    """Return ``self + alpha * other``: sparse if both are, strided if `self` alone is not. Raises RuntimeError for a
    sparse `self` with a strided `other`, and for other sizes."""
    if not is_coo(other) or not isinstance(self, Tensor):
        return not_supported()
    check_sizes("add", self, other)
    dtype = promote_types(self.meta.dtype, other.meta.dtype)
    if not is_coo(self):
        return added_to_dense(apply("to.dtype", self, dtype), other, scaled(other, alpha))
    if parts_of(self).sparse_dim != parts_of(other).sparse_dim:
        raise RuntimeError(
            f"add: expected 'self' and 'other' to have same number of sparse dimensions, but got "
            f"{parts_of(self).sparse_dim} and {parts_of(other).sparse_dim}"
        )
    mine, theirs = parts_of(self), parts_of(other)
    indices = apply("cat", [mine.indices, theirs.indices], 1)
    values = [apply("to.dtype", one, dtype) for one in (mine.values, scaled(other, alpha))]
    made = coo(indices, apply("cat", values, 0), self.meta.sizes)
    return coalesced(made) if mine.coalesced and theirs.coalesced else made


def not_supported(*_: Any, **__: Any) -> NoReturn:
    """Raise RuntimeError: a sparse tensor plus a strided one would be strided."""
    raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")


def scaled(tensor: Tensor, alpha: Any) -> Tensor:
    """Return the values times a number."""
    values = parts_of(tensor).values
    return values if alpha == 1 else apply("mul.Scalar", values, alpha)


def check_sizes(operator: str, self: Tensor, other: Tensor) -> None:
    """Raise RuntimeError unless the sizes are equal."""
    if self.meta.sizes != other.meta.sizes:
        raise RuntimeError(
            f"{operator}: expected sizes of 'self' and 'other' to match, but {list(self.meta.sizes)} != "
            f"{list(other.meta.sizes)}"
        )


def added_to_dense(dense: Tensor, other: Tensor, values: Tensor) -> Tensor:
    """Return a strided tensor with `values` added at the indices of a sparse one."""
    sizes = sparse_sizes(other)
    indices = columns(other)
    check_inside(indices, sizes)
    rows = index_tensor(places_of(indices, sizes))
    flat = apply("index_add", flattened(dense, sizes), 0, rows, apply("to.dtype", values, dense.meta.dtype))
    return apply("reshape", flat, dense.meta.sizes)


def add_(self: Tensor, other: Tensor, *, alpha: Any = 1) -> Tensor:
    """Add ``alpha * other`` in place, as `add`. Raises RuntimeError where `self` cannot hold the dtype of the sum."""
    return written("add_", self, add(self, other, alpha=alpha))


def written(operator: str, self: Tensor, result: Tensor) -> Tensor:
    """Give a tensor the elements of a result. Raises RuntimeError if its dtype cannot hold them."""
    if not can_cast(result.meta.dtype, self.meta.dtype):
        raise RuntimeError(
            f"{operator}(): result type {result.meta.dtype} can't be cast to the desired output type {self.meta.dtype}"
        )
    if not is_coo(self):
        return apply("copy_", self, result)
    made = apply("to.dtype", result, self.meta.dtype)
    parts_of(self).take(parts_of(made))
    bump_version(self)
    return self


def sub(self: Tensor, other: Tensor, *, alpha: Any = 1) -> Tensor:
    """Return ``self - alpha * other``, as `add`."""
    return add(self, other, alpha=-alpha)


def sub_(self: Tensor, other: Tensor, *, alpha: Any = 1) -> Tensor:
    """Subtract ``alpha * other`` in place, as `add_`."""
    return written("sub_", self, sub(self, other, alpha=alpha))


def mul(self: Tensor, other: Tensor) -> Tensor:
    """Return the sparse product of a sparse tensor with a sparse one, or a strided one that expands to its sizes.
    Raises RuntimeError for other sizes."""
    if not is_coo(self):
        return mul(other, self)
    if not isinstance(other, Tensor):
        return with_values(self, apply("mul.Scalar", parts_of(self).values, other))
    if is_coo(other):
        return product(self, other)
    if not other.meta.ndim:
        return with_values(self, apply("mul.Tensor", parts_of(self).values, other))
    sizes = sparse_sizes(self)
    spread = apply("expand", other, self.meta.sizes)
    indices = columns(self)
    check_inside(indices, sizes)
    rows = index_tensor(places_of(indices, sizes))
    factors = apply("index_select", flattened(spread, sizes), 0, rows)
    return with_values(self, apply("mul.Tensor", parts_of(self).values, factors))


def product(self: Tensor, other: Tensor) -> Tensor:
    """Return the product of two sparse tensors: specified where both are."""
    if self.meta.sizes != other.meta.sizes or parts_of(self).sparse_dim != parts_of(other).sparse_dim:
        raise RuntimeError(
            f"mul(): expects sparse inputs with equal dimensionality, number of sparse dimensions, and shape of sparse "
            f"dimensions, got {list(self.meta.sizes)} and {list(other.meta.sizes)}"
        )
    first, second = coalesced(self), coalesced(other)
    sizes = sparse_sizes(self)
    own, other_places = places_of(columns(first), sizes), places_of(columns(second), sizes)
    _, mine, theirs = np.intersect1d(own, other_places, assume_unique=True, return_indices=True)
    factors = [
        apply("index_select", parts_of(one).values, 0, index_tensor(rows))
        for one, rows in ((first, mine), (second, theirs))
    ]
    indices = index_tensor(columns(first)[:, mine])
    return coo(indices, apply("mul.Tensor", *factors), self.meta.sizes, coalesced=True)


def mul_(self: Tensor, other: Tensor) -> Tensor:
    """Multiply in place. Raises RuntimeError for a strided `self`, whose layout the product does not have."""
    if not is_coo(self):
        raise RuntimeError("mul_(): a strided tensor cannot take the product with a sparse one, which is sparse")
    return written("mul_", self, mul(self, other))


def by_number(name: str, linear: bool) -> Callable[..., Tensor]:
    """Return the kernel of a sparse tensor and a number, which acts on the values."""

    def kernel(self: Tensor, other: Any, **options: Any) -> Tensor:
        one = self if linear and not options else coalesced(self)
        return with_values(one, apply(name, parts_of(one).values, other, **options))

    kernel.__name__ = kernel.__qualname__ = name.partition(".")[0]
    return kernel


def by_tensor(name: str, linear: bool) -> Callable[..., Tensor]:
    """Return the kernel of a sparse tensor and a strided one without dims. It raises RuntimeError for any other."""
    kernel = by_number(name, linear)

    def checked(self: Tensor, other: Any, **options: Any) -> Tensor:
        if not isinstance(other, Tensor):
            return kernel(self, other, **options)
        if is_coo(other) or other.meta.ndim or not is_coo(self):
            raise RuntimeError(
                f"{name.partition('.')[0]}(): Sparse division requires a scalar or zero-dim dense tensor divisor (got "
                f"shape {list(other.meta.sizes)} for divisor)"
            )
        return kernel(self, other, **options)

    checked.__name__ = checked.__qualname__ = kernel.__name__
    return checked


def inplace(name: str, kernel: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return the in-place form of a kernel whose result is sparse."""
    return lambda self, *args, **options: written(name, self, kernel(self, *args, **options))


def power(self: Tensor, exponent: Any) -> Tensor:
    """Return the values raised to a power. Raises RuntimeError for the power 0, of which zeros give 1."""
    if exponent == 0:
        raise RuntimeError(
            "pow: cannot raise to zeroth power on sparse tensor; it would make the result tensor dense"
        )
    one = coalesced(self)
    return with_values(one, apply("pow.Tensor_Scalar", parts_of(one).values, exponent))
