"""Joining tensors along a dim: cat, stack and the NumPy-named ones built on them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from ..core.device import cpu
from ..core.errors import wrap_dim
from ..core.promotion import promote_types
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import TensorMeta, channels_last_strides, default_strides, meta_of, recalled, suggested_format
from ..tensor.views import unsqueeze
from .arrays import check_same_device
from .composition import Part, composite
from .copy import formula_of_copy
from .loop_plan import LoopPlan
from .plan import Planned, plannable
from .pointwise import formula_kernel
from .registration import kernel

Ints = tuple[int, ...]


@kernel("cat")
@plannable
def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor | Planned[Tensor]:
    """The tensors one after another along `dim`, in their promoted dtype; 1-D tensors without elements are skipped.
    Raises ValueError for an empty list, RuntimeError for 0-dim tensors and for sizes that differ outside `dim`."""
    if not tensors:
        raise ValueError("cat(): expected a non-empty list of Tensors")
    meta = tensors[0].meta
    key = ("cat", dim, *[tensor.meta for tensor in tensors])
    plan = recalled(meta.plans, key, _joining, tensors, dim)
    call = plan.call
    return Planned.unrun(plan.fresh, tensors, lambda tensors: call(*tensors), None, listed=True)


def _joining(tensors: Sequence[Tensor], dim: int) -> LoopPlan:
    for position, tensor in enumerate(tensors):
        if not tensor.meta.ndim:
            raise RuntimeError(f"zero-dimensional tensor (at position {position}) cannot be concatenated")
    device = check_same_device("cat", *tensors)
    joined = [tensor for tensor in tensors if tensor.meta.sizes != (0,)]
    first = (joined or tensors)[0].meta.sizes
    place = wrap_dim("cat", dim, len(first)) if joined else 0
    for position, tensor in enumerate(joined):
        given = tensor.meta.sizes
        if len(first) != len(given):
            raise RuntimeError(f"Tensors must have same number of dimensions: got {len(first)} and {len(given)}")
        for other, (wanted, found) in enumerate(zip(first, given, strict=True)):
            if other != place and wanted != found:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {place}. Expected size {wanted} but got size "
                    f"{found} for tensor number {position} in the list."
                )
    length = sum(tensor.meta.sizes[place] for tensor in joined)
    sizes = (*first[:place], length, *first[place + 1 :])
    dtype = reduce(promote_types, [tensor.meta.dtype for tensor in tensors])
    result = meta_of(sizes, joined_strides([tensor.meta for tensor in tensors], sizes), dtype, device)
    plan, offset = LoopPlan([tensor.meta for tensor in tensors], [result]), 0
    for tensor, source in zip(tensors, plan.inputs, strict=True):
        if device is cpu and tensor.meta.sizes != (0,):
            formula, compute = formula_of_copy(result, tensor.meta)
            target = plan.results[0].narrow(place, offset, source.sizes[place])
            plan.loop(formula_kernel(formula, [source.dtype], compute, dtype), [target], [source])
            offset += source.sizes[place]
    return plan


def joined_strides(metas: Sequence[TensorMeta], sizes: Ints) -> Ints:
    """Return the strides of joined tensors: channels last if all, those that are skipped too, resemble that."""
    wanted = suggested_format(metas[0].sizes, metas[0].strides)
    alike = wanted is not None and all(suggested_format(meta.sizes, meta.strides) is wanted for meta in metas)
    return channels_last_strides(sizes, wanted) if alike and wanted is not None else default_strides(sizes)


@kernel("stack")
@plannable
def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor | Planned[Tensor]:
    """Tensors of equal sizes along a new dim. Raises RuntimeError for an empty list or sizes that differ."""
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    sizes = tensors[0].meta.sizes
    place = wrap_dim("stack", dim, len(sizes) + 1)
    for position, tensor in enumerate(tensors):
        if tensor.meta.sizes != sizes:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(sizes)} at entry 0 and "
                f"{list(tensor.meta.sizes)} at entry {position}"
            )
    return cat.planned([unsqueeze(tensor, place) for tensor in tensors], place)


def _register_joined(name: str, ndim: int, dim: int) -> None:
    """Register cat along `dim` of tensors with at least `ndim` dims; hstack joins 1-D ones along dim 0."""

    @kernel(name, "CompositeImplicitAutograd")
    @composite
    def joined(part: Part, tensors: Sequence[Tensor]) -> Tensor:
        if not tensors:
            raise RuntimeError(f"{name} expects a non-empty TensorList")
        parts = [widened(part, tensor, ndim) for tensor in tensors]
        return part("cat", parts, 0 if dim == 1 and parts[0].meta.ndim == 1 else dim)


def widened(part: Part, tensor: Tensor, ndim: int) -> Tensor:
    """Return a tensor with at least `ndim` dims, as atleast_1d, atleast_2d and atleast_3d do."""
    found = tensor.meta.ndim
    if not found:
        return part("reshape", tensor, (1,) * ndim)
    if found == 1 < ndim:
        tensor, found = part("unsqueeze", tensor, 0), 2
    return part("unsqueeze", tensor, -1) if found == 2 < ndim else tensor


for _name, _ndim, _dim in (("hstack", 1, 1), ("vstack", 2, 0), ("dstack", 3, 2)):
    _register_joined(_name, _ndim, _dim)


@kernel("column_stack", "CompositeImplicitAutograd")
@composite
def column_stack(part: Part, tensors: Sequence[Tensor]) -> Tensor:
    """hstack of the tensors, vectors and 0-dim tensors as columns. Raises RuntimeError for no tensors."""
    if not tensors:
        raise RuntimeError("column_stack expects a non-empty TensorList")
    columns = [part("reshape", one, (one.meta.numel, 1)) if one.meta.ndim < 2 else one for one in tensors]
    return part("cat", columns, 1)
