"""A filled copy, and sums that undo a broadcast: fill, sum_to_size."""

from __future__ import annotations

from collections.abc import Sequence

from ...iteration.tensor_iterator import Number
from ...tensor.tensor import Tensor
from ..invoke import apply


def fill_Scalar(self: Tensor, value: Number) -> Tensor:
    """A tensor like `self` with one number everywhere."""
    return apply("fill_.Scalar", apply("empty_like", self), value)


def fill_Tensor(self: Tensor, value: Tensor) -> Tensor:
    """A tensor like `self` with the value of a 0-dim tensor everywhere. Raises RuntimeError for another."""
    return apply("fill_.Tensor", apply("empty_like", self), value)


def sum_to_size(self: Tensor, size: Sequence[int]) -> Tensor:
    """The sum over the dims by which `self` is larger than `size`. Raises RuntimeError unless `size` expands to it."""
    sizes, wanted = self.meta.sizes, tuple(size)
    extra = len(sizes) - len(wanted)
    fits = extra >= 0 and all(a in (1, b) for a, b in zip(wanted, sizes[extra:], strict=True))
    if not fits:
        raise RuntimeError(f"sum_to_size(): size {list(wanted)} is not expandable to size {list(sizes)}.")
    if not wanted:
        return apply("sum", self)
    gone = [d for d in range(len(sizes)) if d < extra or (wanted[d - extra] == 1 and sizes[d] != 1)]
    total = apply("sum.dim_IntList", self, gone, True) if gone else self
    return apply("view", apply("contiguous", total), wanted) if extra else total
