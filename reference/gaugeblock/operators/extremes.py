"""Largest and smallest elements and their positions: amax, amin, max, min, aminmax, argmax, argmin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.dtype import int64
from ..kernels import reduction_ops
from ..tensor.tensor import Tensor
from .composition import Part, composite
from .invoke import result_type
from .operand_checks import check_implemented
from .plan import Planned, plannable, planned_fresh
from .reductions import Dims, check_not_empty, plan_reduction, planned_reduction, reduced_dims
from .registration import kernel


def _extreme(name: str, self: Tensor, dims: Dims, keepdim: bool, largest: bool) -> Planned[Tensor]:
    own = self.meta.dtype
    return planned_reduction(name, reduction_ops.extreme_reduction(own, largest), self, dims, keepdim, own, own)


def _register(largest: bool) -> None:
    word = "max" if largest else "min"

    @kernel(f"a{word}")
    @plannable
    def over_dims(self: Tensor, dim: int | Sequence[int] = (), keepdim: bool = False) -> Tensor | Planned[Tensor]:
        operator = f"a{word}"
        check_implemented(operator, self.meta.dtype, not self.meta.dtype.is_complex)
        dims = reduced_dims(operator, dim, self.meta.ndim)
        check_not_empty(operator, self.meta, dims, full=dim == () or dim == [])
        return _extreme(operator, self, dims, keepdim, largest)

    @kernel(word)
    @plannable
    def of_all(self: Tensor) -> Tensor | Planned[Tensor]:
        check_implemented(word, self.meta.dtype, not self.meta.dtype.is_complex)
        dims = tuple(range(self.meta.ndim))
        check_not_empty(word, self.meta, dims, full=True)
        return _extreme(f"a{word}", self, dims, False, largest)

    @kernel(f"{word}.dim")
    @plannable
    def along(self: Tensor, dim: int, keepdim: bool = False) -> Planned[Any]:
        if self.meta.dtype.is_complex:
            raise RuntimeError(f"{word}(): does not support complex input")
        dims = reduced_dims(word, dim, self.meta.ndim)
        check_not_empty(word, self.meta, dims, full=False)
        own, reduction = self.meta.dtype, reduction_ops.position_reduction(self.meta.dtype, largest, False)
        both = plan_reduction(word, reduction, self.meta, dims, keepdim, own, (own, int64))
        return planned_fresh(both, self, kind=result_type(f"{word}.dim"))

    @kernel(f"arg{word}")
    @plannable
    def position(self: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor | Planned[Tensor]:
        operator = f"arg{word}"
        kind = self.meta.dtype.category
        if kind in ("bool", "complex"):
            raise RuntimeError(f"{operator}(): does not support {kind} input")
        dims = reduced_dims(operator, dim, self.meta.ndim)
        check_not_empty(operator, self.meta, dims, full=dim is None, error=IndexError)
        reduction = reduction_ops.position_reduction(self.meta.dtype, largest, True)
        return planned_reduction(operator, reduction, self, dims, keepdim, self.meta.dtype, int64)


_register(True)
_register(False)


@kernel("aminmax")
@composite
def aminmax(part: Part, self: Tensor, *, dim: int | None = None, keepdim: bool = False) -> Any:
    """(smallest, largest) in all or along a dim; NaN wins. Raises RuntimeError, IndexError for no elements."""
    check_implemented("aminmax", self.meta.dtype, not self.meta.dtype.is_complex)
    dims = reduced_dims("aminmax", dim, self.meta.ndim)
    check_not_empty("aminmax", self.meta, dims, full=dim is None)
    return result_type("aminmax")(*[part(name, self, dims, keepdim) for name in ("amin", "amax")])
