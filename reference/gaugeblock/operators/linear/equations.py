"""Linear equations: inverses and solutions of square systems."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.device import Device
from ...core.dtype import DType, int32
from ...iteration.dimensions import broadcast_shapes
from ...tensor.tensor import Tensor
from ..arrays import Array, outline, values
from ..named_results import result_type
from . import lapack
from .checks import check_float, check_matrix, check_one_dtype, check_square, matrices, store
from .errors import SINGULAR, LinAlgError, fail
from .triangles import factor, solve_factored


def _inverted(array: Array) -> tuple[Array, Array]:
    """Inverses, and infos as `factor` gives them; a singular matrix has inf and NaN."""
    with np.errstate(all="ignore"):
        try:
            return lapack.inv(array), np.zeros(array.shape[:-2], np.int32)
        except np.linalg.LinAlgError:
            factors, pivots, infos = factor(array)
            return solve_factored(factors, pivots, np.eye(array.shape[-1], dtype=array.dtype)), infos


def inverse_and_info(operator: str, matrix: Tensor, check_errors: bool) -> tuple[Tensor, Tensor]:
    """The inverse of each matrix of (..., n, n), and int32 infos: 0, or the first zero pivot counted from 1.

    Raises LinAlgError for a singular matrix if `check_errors`, RuntimeError for other shapes and dtypes.
    """
    dtype = check_float(operator, matrix)
    sizes = check_square(operator, matrix)
    device = matrix.meta.device
    result, target = matrices(sizes, dtype, device)
    info, infos = outline(sizes[:-2], int32, device)
    if target is not None:
        found = _inverted(values(matrix))
        if check_errors and found[1].any():
            fail(operator, found[1], SINGULAR)
        store(target, found[0])
        store(infos, found[1])
    return result, info


def linalg_inv_ex(A: Tensor, *, check_errors: bool = False) -> Any:
    """(inverse, info) of each matrix."""
    return result_type("linalg_inv_ex")(*inverse_and_info("linalg.inv_ex", A, check_errors))


def linalg_inv(A: Tensor) -> Tensor:
    """The inverse of each matrix. Raises LinAlgError for singular ones."""
    return inverse_and_info("linalg.inv", A, True)[0]


def inverse(self: Tensor) -> Tensor:
    """The inverse of each matrix. Raises LinAlgError for singular ones."""
    return inverse_and_info("linalg.inv", self, True)[0]


def is_vector(matrix: Tensor, right: Tensor) -> bool:
    """Return whether the right side is a vector for each matrix."""
    sizes = right.meta.sizes
    return len(sizes) == 1 or (len(sizes) == matrix.meta.ndim - 1 and sizes == matrix.meta.sizes[:-1])


def solved_sizes(operator: str, A: tuple[int, ...], B: tuple[int, ...], left: bool) -> tuple[int, ...]:
    """The sizes of X in ``A @ X = B``, or ``X @ A = B``. Raises RuntimeError when they do not fit."""
    if A[-1] != (B[-2] if left else B[-1]):
        equation = "AX = B" if left else "XA = B"
        raise RuntimeError(
            f"{operator}: Incompatible shapes of A and B for the equation {equation} ({A[-2]}x{A[-1]} and "
            f"{B[-2]}x{B[-1]})"
        )
    return broadcast_shapes((A[:-2], B[:-2])) + B[-2:]


def _solve(array: Array, right: Array) -> tuple[Array, Array]:
    with np.errstate(all="ignore"):
        try:
            return lapack.solve(array, right), np.zeros(array.shape[:-2], np.int32)
        except np.linalg.LinAlgError:
            factors, pivots, infos = factor(array)
            return solve_factored(factors, pivots, right), infos


def _operands(operator: str, A: Tensor, B: Tensor) -> tuple[DType, Device]:
    check_float(operator, A)
    check_square(operator, A)
    dtype, device = check_one_dtype(operator, A, B)
    if not B.meta.ndim:
        check_matrix(operator, B, "B")
    return dtype, device


def solution_and_info(operator: str, A: Tensor, B: Tensor, left: bool, check_errors: bool) -> tuple[Tensor, Tensor]:
    """X and int32 infos of ``A @ X = B``; leading dims broadcast; B is a matrix or, as `is_vector` says, a vector.

    Raises LinAlgError for a singular matrix if `check_errors`, RuntimeError for other shapes and dtypes.
    """
    dtype, device = _operands(operator, A, B)
    vector = is_vector(A, B)
    right = (*B.meta.sizes, 1) if vector else B.meta.sizes
    sizes = solved_sizes(operator, A.meta.sizes, right, left)
    result, target = matrices(sizes[:-1] if vector else sizes, dtype, device, column_major=left)
    info, infos = outline(A.meta.sizes[:-2], int32, device)
    if target is not None:
        array, given = values(A), values(B).reshape(right)
        if left:
            found = _solve(array, given)
        else:
            turned = _solve(np.swapaxes(array, -2, -1), np.swapaxes(given, -2, -1))
            found = (np.swapaxes(turned[0], -2, -1), turned[1])
        if check_errors and found[1].any():
            name = operator if operator.startswith("torch.") else f"torch.{operator}"
            flat = found[1].reshape(-1)
            where = f"(Batch element {int(flat.nonzero()[0][0])}): " if found[1].ndim else ""
            raise LinAlgError(f"{name}: {where}The solver failed because the input matrix is singular.")
        store(target, found[0].reshape(target.shape))
        store(infos, found[1])
    return result, info


def linalg_solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> Any:
    """(result, info) of ``A @ X = B``, or with `left` False of ``X @ A = B``."""
    return result_type("linalg_solve_ex")(*solution_and_info("linalg.solve_ex", A, B, left, check_errors))


def linalg_solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """X of ``A @ X = B``, or with `left` False of ``X @ A = B``. Raises LinAlgError for singular matrices."""
    return solution_and_info("linalg.solve", A, B, left, True)[0]
