"""Matrices whose columns are powers of a vector: vander and linalg.vander."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.dtype import bool_, int64
from ...tensor.tensor import Tensor
from ..arrays import outline, values
from .checks import store


def linalg_vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """Powers 0 to N - 1 of each element in a new last dim, int64 for ints; N defaults to the size of the last dim.

    Raises RuntimeError for bool, half precision and N below 2.
    """
    dtype, sizes = x.meta.dtype, x.meta.sizes
    if dtype is bool_ or dtype.name in ("float16", "bfloat16"):
        raise RuntimeError(f"linalg.vander supports floating point, complex, and integer tensors, but got {dtype.name}")
    count = N if N is not None else sizes[-1] if sizes else 1
    if count <= 1:
        raise RuntimeError(f"linalg.vander: N must be greater than 1, got {count}.")
    dtype = int64 if dtype.kind < 2 else dtype
    result, target = outline((*(sizes or (1,)), count), dtype, x.meta.device)
    if target is not None:
        store(target, _powers(values(x).reshape(sizes or (1,)).astype(dtype.numpy), count))
    return result


def _powers(array: Any, count: int) -> Any:
    with np.errstate(all="ignore"):
        first = np.ones((*array.shape, 1), array.dtype)
        rest = np.repeat(array[..., None], max(count - 1, 0), -1)
        return np.cumprod(np.concatenate([first, rest], -1), -1, dtype=array.dtype)[..., :count]


def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """Powers of the elements of a vector in N columns (as many as elements by default), falling unless `increasing`.

    Raises RuntimeError for other than a vector and a negative N.
    """
    if x.meta.ndim != 1:
        raise RuntimeError(f"vander(): x must be a one-dimensional tensor, got {x.meta.ndim} dims.")
    count = x.meta.numel if N is None else N
    if count < 0:
        raise RuntimeError(f"vander(): N must be non-negative, got {count}.")
    dtype = int64 if x.meta.dtype.kind < 2 else x.meta.dtype
    result, target = outline((x.meta.numel, count), dtype, x.meta.device)
    if target is not None and count:
        found = _powers(values(x).astype(dtype.numpy), count)
        store(target, found if increasing else found[:, ::-1])
    return result
