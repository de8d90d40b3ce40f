"""Products of several matrices, multiplied in the cheapest order."""

from __future__ import annotations

from collections.abc import Sequence

from ...core.errors import type_error
from ...core.warn import warn_deprecated
from ...tensor.tensor import Tensor
from ..arguments import tensors_argument
from ..invoke import apply
from ..view_calls import reshape, unsqueeze


def cheapest(sizes: Sequence[int]) -> list[list[int]]:
    """Where to split each product of matrices i to j, matrix k being sizes[k] by sizes[k + 1]."""
    count = len(sizes) - 1
    cost = [[0] * count for _ in range(count)]
    split = [[0] * count for _ in range(count)]
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            cost[i][j], split[i][j] = min(
                (cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)
            )
    return split


def _product(matrices: Sequence[Tensor], split: list[list[int]], i: int, j: int) -> Tensor:
    if i == j:
        return matrices[i]
    k = split[i][j]
    found: Tensor = apply("mm", _product(matrices, split, i, k), _product(matrices, split, k + 1, j))
    return found


def linalg_multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """The product of matrices; the first and the last may be vectors, whose dim is dropped from the result.

    Raises RuntimeError for fewer than two tensors and for shapes that do not fit.
    """
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    matrices = list(tensors)
    result: list[int] = []
    for place, name in ((0, "first"), (-1, "last")):
        ndim = tensors[place].meta.ndim
        if ndim not in (1, 2):
            raise RuntimeError(f"multi_dot(): the {name} tensor must be 1D or 2D but got {ndim}D")
        if ndim == 1:
            matrices[place] = unsqueeze(tensors[place], 0 if place == 0 else -1)
        else:
            result.append(tensors[place].meta.sizes[place])
    for k, matrix in enumerate(matrices):
        if matrix.meta.ndim != 2:
            raise RuntimeError(f"multi_dot(): tensor {k} must be 2D but got {matrix.meta.ndim}D")
        if matrix.meta.dtype is not matrices[0].meta.dtype:
            raise RuntimeError(
                f"multi_dot(): all tensors must have the same dtype but tensor 0 is {matrices[0].meta.dtype.name} "
                f"and tensor {k} {matrix.meta.dtype.name}"
            )
        if k and matrices[k - 1].meta.sizes[1] != matrix.meta.sizes[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {k - 1} and {k} with shapes {list(tensors[k - 1].meta.sizes)} and "
                f"{list(tensors[k].meta.sizes)} cannot be multiplied"
            )
    sizes = [matrix.meta.sizes[0] for matrix in matrices] + [matrices[-1].meta.sizes[1]]
    found = _product(matrices, cheapest(sizes), 0, len(matrices) - 1)
    return reshape(found, tuple(result))


def chain_matmul(matrices: Sequence[Tensor]) -> Tensor:
    """The product of matrices; of one matrix a copy. Raises RuntimeError unless all have two dims."""
    warn_deprecated("chain_matmul", "linalg.multi_dot")
    for matrix in matrices:
        if matrix.meta.ndim != 2:
            raise RuntimeError(f"chain_matmul(): Tensor dimension is {matrix.meta.ndim}, expected 2 instead.")
    if not matrices:
        raise RuntimeError("chain_matmul(): Expecting at least one matrix")
    return apply("clone", matrices[0]) if len(matrices) == 1 else linalg_multi_dot(matrices)


def public_chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """chain_matmul of the arguments."""
    given = tensors_argument("chain_matmul", matrices)
    if out is not None and not isinstance(out, Tensor):
        type_error("chain_matmul", "out", out, "Tensor")
    return apply("chain_matmul", given) if out is None else apply("chain_matmul.out", given, out=out)
