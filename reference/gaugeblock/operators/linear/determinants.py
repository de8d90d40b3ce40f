"""Determinants: det, slogdet and logdet of batches of square matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...tensor.tensor import Tensor
from ..arrays import outline, values
from ..named_results import result_type
from . import lapack
from .checks import check_float, check_square, store


def determinant(operator: str, matrix: Tensor) -> Tensor:
    """The determinant of each matrix of (..., n, n); 1 for n = 0. Raises RuntimeError for other shapes and dtypes."""
    dtype = check_float(operator, matrix)
    sizes = check_square(operator, matrix)
    result, target = outline(sizes[:-2], dtype, matrix.meta.device)
    if target is not None:
        with np.errstate(all="ignore"):
            store(target, lapack.det(values(matrix)))
    return result


def linalg_det(A: Tensor) -> Tensor:
    """The determinant of each matrix."""
    return determinant("linalg.det", A)


def det(self: Tensor) -> Tensor:
    """The determinant of each matrix."""
    return determinant("linalg.det", self)


def sign_and_logarithm(operator: str, matrix: Tensor) -> tuple[Tensor, Tensor]:
    """Sign (of modulus 1 or 0) and logarithm of the modulus of each determinant, the latter real."""
    dtype = check_float(operator, matrix)
    sizes = check_square(operator, matrix)
    device = matrix.meta.device
    sign, signs = outline(sizes[:-2], dtype, device)
    logarithm, logarithms = outline(sizes[:-2], dtype.to_real(), device)
    if signs is not None:
        with np.errstate(all="ignore"):
            found = lapack.slogdet(values(matrix))
        store(signs, found[0])
        store(logarithms, found[1])
    return sign, logarithm


def linalg_slogdet(A: Tensor) -> Any:
    """(sign, logabsdet) of each matrix; (0, -inf) for singular ones."""
    return result_type("linalg_slogdet")(*sign_and_logarithm("linalg.slogdet", A))


def slogdet(self: Tensor) -> Any:
    """(sign, logabsdet) of each matrix; (0, -inf) for singular ones."""
    return result_type("slogdet")(*sign_and_logarithm("linalg.slogdet", self))


def logdet(self: Tensor) -> Tensor:
    """The logarithm of each determinant; NaN where it is negative, -inf where it is 0."""
    sign, logarithm = sign_and_logarithm("logdet", self)
    dtype = self.meta.dtype
    result, target = outline(sign.meta.sizes, dtype, sign.meta.device)
    if target is not None:
        with np.errstate(all="ignore"):
            signs = values(sign)
            store(target, values(logarithm) + np.log(signs))
    return result
