"""What tensors tell of their parts: indices, values, numbers of dims and of specified elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ..core.layout import UPSTREAM_NAMES, Layout
from ..tensor.tensor import Tensor
from .coo_tensor import alias, parts_of

EXPECTED = {
    "indices": "sparse coordinate", "coalesce": "sparse coordinate", "is_coalesced": "sparse coordinate",
    "values": "sparse", "crow_indices": "sparse row compressed", "col_indices": "sparse row compressed",
    "ccol_indices": "sparse column compressed", "row_indices": "sparse column compressed",
}  # fmt: skip
"""Operator -> the layout that it expects, in words."""


def unexpected(name: str, layout: Layout) -> NoReturn:
    """Raise RuntimeError: the operator expects another layout."""
    raise RuntimeError(f"{name} expected {EXPECTED[name]} tensor layout but got {UPSTREAM_NAMES[layout]}")


def expecting(name: str) -> Callable[[Tensor], Any]:
    """Return the kernel of an operator for tensors of other layouts than it expects."""
    return lambda self: unexpected(name, self.layout)


def coo_indices(self: Tensor) -> Tensor:
    """Return the indices. Raises RuntimeError for a tensor that is not coalesced."""
    return alias(_of_coalesced("indices", self).indices)


def coo_values(self: Tensor) -> Tensor:
    """Return the values. Raises RuntimeError for a tensor that is not coalesced."""
    return alias(_of_coalesced("values", self).values)


def _of_coalesced(name: str, self: Tensor) -> Any:
    parts = parts_of(self)
    if not parts.coalesced:
        raise RuntimeError(f"Cannot get {name} on an uncoalesced tensor, please call .coalesce() first")
    return parts


def is_same_size(self: Tensor, other: Tensor) -> bool:
    """Return whether the sizes are equal."""
    return self.meta.sizes == other.meta.sizes


def is_nonzero(self: Tensor) -> bool:
    """Return whether the only element is not zero. Raises RuntimeError unless there is exactly one."""
    return bool(self.item())  # type: ignore[attr-defined]


COO: dict[str, Callable[..., Any]] = {
    "indices": coo_indices,
    "values": coo_values,
    "_indices": lambda self: alias(parts_of(self).indices),
    "_values": lambda self: alias(parts_of(self).values),
    "_nnz": lambda self: parts_of(self).nnz,
    "is_coalesced": lambda self: parts_of(self).coalesced,
    "sparse_dim": lambda self: parts_of(self).sparse_dim,
    "dense_dim": lambda self: self.meta.ndim - parts_of(self).sparse_dim,
}
"""Operator -> its kernel for tensors in coordinate form."""
STRIDED: dict[str, Callable[..., Any]] = {
    "sparse_dim": lambda self: 0,
    "dense_dim": lambda self: self.meta.ndim,
}
"""Operator -> its kernel for strided tensors."""
