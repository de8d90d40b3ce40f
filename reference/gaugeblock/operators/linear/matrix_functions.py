"""Powers and the exponential of square matrices."""

from __future__ import annotations

import math

import numpy as np

from ...core.device import cpu
from ...core.dtype import bool_
from ...tensor.tensor import Tensor
from ..arrays import Array, outline, values
from ..invoke import apply
from ..products import product
from . import lapack
from .checks import check_float, check_square, store
from .equations import inverse_and_info


def linalg_matrix_power(self: Tensor, n: int) -> Tensor:
    """The n-th power of each matrix; negative powers of the inverse, and the identity for 0.

    Raises RuntimeError for other shapes, NotImplementedError for bool, LinAlgError for a negative power of a singular
    matrix.
    """
    sizes = check_square("linalg.matrix_power", self)
    meta = self.meta
    if n == 0:
        result, target = outline(sizes, meta.dtype, meta.device)
        store(target, np.eye(sizes[-1]))
        return result
    if meta.dtype is bool_:
        raise NotImplementedError("\"linalg.matrix_power\" not implemented for 'Bool'")
    base = inverse_and_info("linalg.inv", self, True)[0] if n < 0 else self
    left, result_so_far = abs(n), None
    while left:
        if left & 1:
            result_so_far = base if result_so_far is None else product(result_so_far, base, sizes)
        left >>= 1
        if left:
            base = product(base, base, sizes)
    assert result_so_far is not None
    return apply("clone", result_so_far) if result_so_far is self else result_so_far


matrix_power = linalg_matrix_power

ORDER = 13
_PADE = [
    math.factorial(2 * ORDER - k) * math.factorial(ORDER) / (
        math.factorial(2 * ORDER) * math.factorial(ORDER - k) * math.factorial(k)
    )
    for k in range(ORDER + 1)
]  # fmt: skip
"""Numerator of the diagonal Pade approximant of exp; the denominator has the same numbers with alternating signs."""
LARGEST = 5.0
"""Matrices of at most this 1-norm are good enough for the approximant; larger ones are halved, and squared back."""


def exponential(array: Array) -> Array:
    """exp of a stack of matrices in double precision; NaN where one is not finite."""
    finite = np.asarray(np.isfinite(array).all((-2, -1)))
    given = np.where(finite[..., None, None], array, 0)
    norm = np.abs(given).sum(-2).max(-1, initial=0)
    with np.errstate(all="ignore"):
        halvings = np.maximum(np.ceil(np.log2(norm / LARGEST)), 0).astype(np.int64)
        scaled = given * np.exp2(-halvings)[..., None, None]
        odd, even = np.zeros_like(scaled), np.zeros_like(scaled)
        square, identity = np.matmul(scaled, scaled), np.eye(array.shape[-1])
        for k in range(ORDER, 0, -2):
            odd = np.matmul(odd, square) + _PADE[k] * identity
            even = np.matmul(even, square) + _PADE[k - 1] * identity
        odd = np.matmul(scaled, odd)
        result = lapack.solve(even - odd, even + odd)
        for k in range(int(halvings.max(initial=0))):
            result = np.where((k < halvings)[..., None, None], np.matmul(result, result), result)
    return np.where(finite[..., None, None], result, np.nan)


def linalg_matrix_exp(self: Tensor) -> Tensor:
    """The exponential of each matrix, by scaling, an approximant of order 13 and squaring, in double precision.

    Raises RuntimeError for other shapes, bool and ints.
    """
    dtype = check_float("linalg.matrix_exp", self, halves=True)
    sizes = check_square("linalg.matrix_exp", self)
    result, target = outline(sizes, dtype, self.meta.device)
    if self.meta.device is cpu and result.meta.numel:
        wide = np.complex128 if dtype.is_complex else np.float64
        store(target, exponential(values(self).astype(wide)))
    return result


matrix_exp = linalg_matrix_exp
