"""Strides of Fourier transforms: transformed dims are innermost; each group is ordered by the input's strides."""

from __future__ import annotations

from collections.abc import Sequence

from ...tensor.tensor_meta import TensorMeta, default_strides, preserve_format_strides

Ints = tuple[int, ...]


def fitted_layout(meta: TensorMeta, points: dict[int, int], *, cast: bool) -> tuple[Ints, Ints]:
    """Return sizes and strides of the input after it is cut or zero-padded to `points` along dims.

    Padding makes a new tensor. `cast` tells whether the elements are converted to another dtype first.
    """
    sizes, strides = meta.sizes, meta.strides
    if cast:
        strides = preserve_format_strides(sizes, strides)
    fitted = tuple([points.get(dim, size) for dim, size in enumerate(sizes)])
    longer = any(new > size for new, size in zip(fitted, sizes, strict=True))
    return fitted, default_strides(fitted) if longer else strides


def transformed_strides(sizes: Sequence[int], strides: Ints, dims: Sequence[int], *, last: bool = False) -> Ints:
    """Return the strides of a result of `sizes`, a transform over `dims` of an input with `strides`.

    With `last` the last of `dims`, which is halved or doubled, is the innermost.
    """
    free = dims[:-1] if last else dims
    inner = [*sorted(free, key=lambda dim: -strides[dim]), *(dims[-1:] if last else ())]
    outer = sorted(_apart(len(sizes), set(dims)), key=lambda dim: -strides[dim])
    result, step = [0] * len(sizes), 1
    for dim in reversed([*outer, *inner]):
        result[dim] = step
        step *= max(sizes[dim], 1)
    return tuple(result)


def _apart(ndim: int, dims: set[int]) -> list[int]:
    """Return the dims that are not in `dims`; each gap is filled with the last remaining dim, as oneMKL does."""
    order = list(range(ndim))
    low, high = 0, ndim - 1
    while True:
        while low <= high and order[low] not in dims:
            low += 1
        while low <= high and order[high] in dims:
            high -= 1
        if low > high:
            return order[:low]
        order[low], order[high] = order[high], order[low]
