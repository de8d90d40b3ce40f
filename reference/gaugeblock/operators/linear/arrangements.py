"""Tensors laid out in blocks, and all ways to choose elements: block_diag, cartesian_prod, combinations."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations as chosen
from itertools import combinations_with_replacement
from math import comb

import numpy as np

from ...core.device import cpu
from ...core.dtype import float32
from ...core.promotion import common_dtype
from ...tensor.tensor import Tensor
from ..arguments import tensors_argument
from ..arrays import check_same_device, outline, values
from ..invoke import apply, invoke


def block_diag(tensors: Sequence[Tensor]) -> Tensor:
    """A matrix with the tensors on its diagonal, zeros elsewhere, in their promoted dtype; vectors are rows.

    Without tensors it is one row without columns. Raises RuntimeError for more than two dims.
    """
    if not tensors:
        return outline((1, 0), float32)[0]
    device = check_same_device("block_diag", *tensors)
    dtype = common_dtype((t.meta.dtype, 2 if t.meta.ndim else 1) for t in tensors)
    shapes = []
    for k, tensor in enumerate(tensors):
        sizes = tensor.meta.sizes
        if len(sizes) > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {k} has {len(sizes)} "
                f"dimensions"
            )
        shapes.append((1,) * (2 - len(sizes)) + sizes)
    result, target = outline([sum(shape[d] for shape in shapes) for d in (0, 1)], dtype, device)
    if target is not None:
        target[...] = 0
        row = column = 0
        for tensor, (height, width) in zip(tensors, shapes, strict=True):
            target[row : row + height, column : column + width] = values(tensor).reshape(height, width)
            row, column = row + height, column + width
    return result


def public_block_diag(*tensors: Tensor) -> Tensor:
    """block_diag of the arguments."""
    return apply("block_diag", tensors_argument("block_diag", tensors))


def cartesian_prod(tensors: Sequence[Tensor]) -> Tensor:
    """All ways to take one element of each vector, a row for each; of one vector that itself.

    Raises RuntimeError for other than vectors and for different dtypes.
    """
    for tensor in tensors:
        if tensor.meta.ndim != 1:
            raise RuntimeError(f"cartesian_prod(): Expect a 1D vector, but got shape {list(tensor.meta.sizes)}")
    if len(tensors) == 1:
        return tensors[0]
    grids = invoke("meshgrid.indexing", tuple(tensors), indexing="ij")
    return apply("stack", [apply("flatten.using_ints", grid) for grid in grids], 1)


def public_cartesian_prod(*tensors: Tensor) -> Tensor:
    """cartesian_prod of the arguments."""
    return apply("cartesian_prod", tensors_argument("cartesian_prod", tensors))


def combinations(self: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All ways to choose `r` elements of a vector in order of their places, a row for each.

    Raises RuntimeError for other than a vector and a negative `r`.
    """
    meta = self.meta
    if meta.ndim != 1:
        raise RuntimeError(f"combinations(): Expect a 1D vector, but got shape {list(meta.sizes)}")
    if r < 0:
        raise RuntimeError(f"combinations(): Expect a non-negative number, but got {r}")
    if r == 0:
        return outline((0,), meta.dtype, meta.device)[0]
    n = meta.numel
    count = comb(n + r - 1, r) if with_replacement and n else comb(n, r)
    result, target = outline((count, r), meta.dtype, meta.device)
    if meta.device is cpu and target is not None and count:
        ways = combinations_with_replacement(range(n), r) if with_replacement else chosen(range(n), r)
        places = np.fromiter((place for way in ways for place in way), np.int64, count * r)
        target[...] = values(self)[places.reshape(count, r)]
    return result
