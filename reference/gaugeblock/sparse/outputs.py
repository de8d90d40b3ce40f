"""``out=`` of sparse tensors, and sizes that change in place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core.errors import check_sizes, type_error
from ..operators.invoke import apply
from ..operators.registration import check_out_dtype, resize_out
from ..operators.rows import rows
from ..tensor.sparse_tensor import SparseTensor
from ..tensor.tensor import Tensor
from .coo_tensor import coo, dense_sizes, empty_coo, is_coo, parts_of, sparse_sizes
from .copying import become
from .invariants import refuse


def into(name: str) -> Callable[..., Tensor]:
    """Return the out= kernel of an operator: its result becomes what `out` holds. It raises RuntimeError for an `out`
    in another layout or on another device, and for a dtype that does not take the result."""
    row = rows()[name]

    def kernel(*args: Any, out: Any, **kwargs: Any) -> Tensor:
        if not isinstance(out, Tensor):
            type_error(row.base, "out", out, "Tensor")
        made = apply(name, *args, **kwargs)
        if made.layout is not out.layout:
            raise RuntimeError(
                f"{row.base}(): the result has layout {made.layout.name}, and out= has layout {out.layout.name}"
            )
        if made.meta.device is not out.meta.device:
            raise RuntimeError(
                f"Expected out tensor to be on device {made.meta.device}, but it is on {out.meta.device}"
            )
        check_out_dtype(row, made.meta.dtype, out.meta.dtype)
        if isinstance(out, SparseTensor):
            return become(out, apply("clone", made))
        resize_out(out, made.meta)
        return apply("copy_", out, made)

    kernel.__name__ = kernel.__qualname__ = row.base
    return kernel


def sparse_resize_(self: Tensor, size: Sequence[int], sparse_dim: int, dense_dim: int) -> Tensor:
    """Give a tensor in coordinate form other sizes in place; its specified elements stay, and new elements of dense
    blocks are 0. Raises RuntimeError for other numbers of dims and for smaller sizes unless nothing is specified."""
    sizes = _checked("sparse_resize_", size, sparse_dim, dense_dim)
    parts = parts_of(self)
    if not parts.nnz:
        return become(self, empty_coo(sizes, sparse_dim, self.meta.dtype, self.meta.device))
    for kind, before, dims, wanted in (
        ("sparse", sparse_sizes(self), sparse_dim, sizes[:sparse_dim]),
        ("dense", dense_sizes(self), dense_dim, sizes[sparse_dim:]),
    ):
        if len(before) != dims:
            refuse(
                f"changing the number of {kind} dimensions (from {len(before)} to {dims}) on a non-empty sparse tensor "
                f"is not supported."
            )
        if any(new < old for new, old in zip(wanted, before, strict=True)):
            refuse(
                f"shrinking the size of {kind} dimensions (from {list(before)} to {list(wanted)}) on a non-empty "
                f"sparse tensor is not supported."
            )
    grown = [(0, new - old) for new, old in zip(sizes[sparse_dim:], dense_sizes(self), strict=True)]
    padding = [width for pair in reversed(grown) for width in pair]
    values = apply("constant_pad_nd", parts.values, padding, 0) if any(padding) else parts.values
    return become(self, coo(parts.indices, values, sizes, coalesced=parts.coalesced))


def sparse_resize_and_clear_(self: Tensor, size: Sequence[int], sparse_dim: int, dense_dim: int) -> Tensor:
    """Give a tensor in coordinate form other sizes in place and drop all specified elements. Raises RuntimeError for
    sizes that do not go with the numbers of dims."""
    sizes = _checked("sparse_resize_and_clear_", size, sparse_dim, dense_dim)
    return become(self, empty_coo(sizes, sparse_dim, self.meta.dtype, self.meta.device))


def resize_as_sparse_(self: Tensor, the_template: Tensor) -> Tensor:
    """Give a tensor in coordinate form the sizes of another in place, as `sparse_resize_`. Raises RuntimeError for a
    template in another layout."""
    if not is_coo(the_template):
        refuse(f"resize_as_sparse_(): expected a template of layout sparse_coo, got {the_template.layout.name}")
    return sparse_resize_(
        self, the_template.meta.sizes, len(sparse_sizes(the_template)), len(dense_sizes(the_template))
    )


def _checked(name: str, size: Sequence[int], sparse_dim: int, dense_dim: int) -> tuple[int, ...]:
    check_sizes(name, size)
    if min(sparse_dim, dense_dim) < 0 or len(size) != sparse_dim + dense_dim:
        refuse(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, sparse_dim = "
            f"{sparse_dim}, dense_dim = {dense_dim}"
        )
    return tuple(size)


RESIZING: dict[str, Callable[..., Tensor]] = {
    "sparse_resize_": sparse_resize_, "sparse_resize_and_clear_": sparse_resize_and_clear_,
    "resize_as_sparse_": resize_as_sparse_,
}  # fmt: skip
"""Operator -> its kernel for tensors in coordinate form."""
