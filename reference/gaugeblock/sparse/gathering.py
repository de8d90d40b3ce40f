"""The elements of a strided or a sparse tensor at given indices."""

from __future__ import annotations

from ..core import lazy_numpy as np
from ..operators.invoke import apply
from ..tensor.tensor import Tensor
from .coalescing import coalesced
from .conversion import check_inside
from .coo_tensor import columns, flattened, host_array, index_tensor, is_coo, parts_of, places_of, with_values


def gathered(self: Tensor, indices: Tensor) -> Tensor:
    """Return the elements, or the dense blocks, at the columns of `indices`, zeros where a sparse tensor has none.
    Raises IndexError for an index out of range."""
    wanted = host_array(indices)
    sizes = self.meta.sizes[: wanted.shape[0]]
    check_inside(wanted, sizes)
    places, device = places_of(wanted, sizes), self.meta.device
    if not is_coo(self):
        return apply("index_select", flattened(self, sizes), 0, index_tensor(places, device))
    one = coalesced(self)
    known = places_of(columns(one), sizes)
    found = parts_of(one).values
    if not known.size:
        return apply("new_zeros", found, (places.size, *found.meta.sizes[1:]))
    rows = np.minimum(np.searchsorted(known, places), known.size - 1)
    taken = apply("index_select", found, 0, index_tensor(rows, device))
    absent = known[rows] != places
    if not absent.any():
        return taken
    where = index_tensor(np.flatnonzero(absent), device)
    return apply("index_fill.int_Scalar", taken, 0, where, 0)


def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """Return the elements of a strided or a sparse tensor at the indices of `mask`, which the result shares. Raises
    RuntimeError for other sizes, and unless `mask` is in coordinate form."""
    if not is_coo(mask):
        raise RuntimeError(f"sparse_mask(): expected mask in coordinate form, got layout {mask.layout.name}")
    if self.meta.sizes != mask.meta.sizes:
        raise RuntimeError(
            f"sparse_mask(): operands have incompatible sizes; self has size {list(self.meta.sizes)} but mask has size "
            f"{list(mask.meta.sizes)}"
        )
    return with_values(mask, gathered(self, parts_of(mask).indices))
