"""Equations whose matrix is triangular: linalg.solve_triangular and triangular_solve."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.warn import warn_deprecated
from ...iteration.dimensions import broadcast_shapes
from ...tensor.tensor import Tensor
from ..arrays import values
from ..named_results import result_type
from .checks import check_float, check_matrix, check_one_dtype, check_square, matrices, store
from .equations import solved_sizes
from .triangles import substitute


def linalg_solve_triangular(
    self: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Tensor:
    """X of ``A @ X = B`` (``X @ A = B`` if not `left`), A being one triangle of `self`, with ones if `unitriangular`.

    A zero on the diagonal gives inf and NaN. Raises RuntimeError unless sizes and dtypes fit.
    """
    operator = "linalg.solve_triangular"
    check_float(operator, self)
    dtype, device = check_one_dtype(operator, self, B)
    check_matrix(operator, B, "B")
    sizes = solved_sizes(operator, check_square(operator, self), B.meta.sizes, left)
    result, target = matrices(sizes, dtype, device, column_major=left)
    if target is not None:
        array, right = values(self), values(B)
        if left:
            store(target, substitute(array, right, upper=upper, unit=unitriangular))
        else:
            turned = np.swapaxes(array, -2, -1), np.swapaxes(right, -2, -1)
            store(target, np.swapaxes(substitute(*turned, upper=not upper, unit=unitriangular), -2, -1))
    return result


def triangular_solve(
    self: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    """(solution, cloned_coefficient) of ``A @ X = self``, or of ``A.mT @ X = self`` if `transpose`.

    Raises RuntimeError unless sizes and dtypes fit.
    """
    operator = "triangular_solve"
    warn_deprecated(operator, "linalg.solve_triangular")
    for tensor, name in ((self, "b"), (A, "A")):
        if tensor.meta.ndim < 2:
            raise RuntimeError(
                f"torch.{operator}: Expected {name} to have at least 2 dimensions, but it has {tensor.meta.ndim} "
                f"dimensions instead"
            )
    check_float(operator, A)
    dtype, device = check_one_dtype(operator, self, A, ("b", "A"))
    square, b = check_square(operator, A), self.meta.sizes
    if square[-1] != b[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for {operator}: each A matrix is {square[-2]} by {square[-1]} but each b "
            f"matrix is {b[-2]} by {b[-1]}"
        )
    sizes = solved_sizes(operator, square, b, True)
    batch = broadcast_shapes((sizes[:-2], A.meta.sizes[:-2]))
    solution, target = matrices(sizes, dtype, device)
    clone, copied = matrices(batch + A.meta.sizes[-2:], dtype, device)
    if target is not None:
        array = values(A)
        store(copied, array)
        matrix, upper = (array.swapaxes(-1, -2), not upper) if transpose else (array, upper)
        store(target, substitute(matrix, values(self), upper=upper, unit=unitriangular))
    return result_type("triangular_solve")(solution, clone)
