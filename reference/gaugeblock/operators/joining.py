"""Joining tensors along a dim: cat, stack and the NumPy-named ones built on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import NamedTuple

from ..core.errors import wrap_dim
from ..core.promotion import promote_types
from ..kernels.pointwise import Launch
from ..tensor.tensor import Tensor, new_like
from ..tensor.tensor_meta import TensorMeta, channels_last_strides, default_strides, meta_of, remember, suggested_format
from ..tensor.views import unsqueeze
from .arrays import check_same_device
from .copy import copying
from .invoke import apply, invoke
from .plan import Planned, plannable
from .registration import kernel

Ints = tuple[int, ...]


@kernel("cat")
@plannable
def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor | Planned[Tensor]:
    """The tensors one after another along `dim`, in their promoted dtype; 1-D tensors without elements are skipped.

    Raises ValueError for an empty list, RuntimeError for 0-dim tensors and for sizes that differ outside `dim`.
    """
    if not tensors:
        raise ValueError("cat(): expected a non-empty list of Tensors")
    meta = tensors[0].meta
    key = ("cat", dim, *[tensor.meta for tensor in tensors])
    plan: _Joining | None = meta.plans.get(key)
    if plan is None:
        plan = remember(meta.plans, key, _joining(tensors, dim))
    result = new_like(plan.meta)
    for tensor, (offset, launch) in zip(tensors, plan.parts, strict=True):
        if launch is not None:
            launch.run([result.pointer + offset, tensor.pointer])
    return Planned(result, plan.call()) if all(launch is not None for _, launch in plan.parts) else result


class _Joining(NamedTuple):
    """The meta of the result, and for each tensor where it goes, in bytes, and the copy to there if any."""

    meta: TensorMeta
    parts: tuple[tuple[int, Launch | None], ...]

    def call(self) -> Callable[[Sequence[Tensor]], Tensor]:
        """Return the function that joins tensors of the same metas, all of which are copied."""
        meta = self.meta
        copies = [(offset, *launch.call()) for offset, launch in self.parts if launch is not None]

        def run(tensors: Sequence[Tensor]) -> Tensor:
            joined = new_like(meta)
            pointer = joined.pointer
            for tensor, (offset, builtin, tail) in zip(tensors, copies, strict=True):
                builtin(pointer + offset, tensor.pointer, *tail)
            return joined

        return run


def _joining(tensors: Sequence[Tensor], dim: int) -> _Joining:
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
    result = meta_of(sizes, _strides(tensors, sizes), dtype, device)
    parts: list[tuple[int, Launch | None]] = []
    offset = 0
    for tensor in tensors:
        source = tensor.meta
        if source.sizes == (0,):
            parts.append((offset, None))
            continue
        target = meta_of(source.sizes, result.strides, dtype, device)
        parts.append((offset, copying(target, source)))
        offset += source.sizes[place] * result.strides[place] * dtype.itemsize
    return _Joining(result, tuple(parts))


def _strides(tensors: Sequence[Tensor], sizes: Ints) -> Ints:
    """Channels last if all tensors, those that are skipped too, resemble that."""
    wanted = suggested_format(tensors[0].meta.sizes, tensors[0].meta.strides)
    alike = wanted is not None and all(
        suggested_format(tensor.meta.sizes, tensor.meta.strides) is wanted for tensor in tensors
    )
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
    """Register cat along `dim` of tensors made at least `ndim`-D; hstack joins 1-D ones along dim 0. RuntimeError."""

    @kernel(name, "CompositeImplicitAutograd")
    def joined(tensors: Sequence[Tensor]) -> Tensor:
        if not tensors:
            raise RuntimeError(f"{name} expects a non-empty TensorList")
        parts = invoke(f"atleast_{ndim}d.Sequence", tensors)
        return apply("cat", parts, 0 if dim == 1 and parts[0].meta.ndim == 1 else dim)


for _name, _ndim, _dim in (("hstack", 1, 1), ("vstack", 2, 0), ("dstack", 3, 2)):
    _register_joined(_name, _ndim, _dim)
