"""Gradients of functions of square matrices, read off the function of a matrix twice as large."""

from __future__ import annotations

from typing import Any

import gaugeblock as gb
from gaugeblock import Tensor


def _enlarged(A: Tensor, grad: Tensor) -> Tensor:
    """[[A^H, grad], [0, A^H]]: a function of it has the function's derivative along `grad` in the corner."""
    turned = A.adjoint()
    return gb.cat((gb.cat((turned, grad), -1), gb.cat((gb.zeros_like(turned), turned), -1)), -2)


def _corner(matrix: Tensor) -> Tensor:
    n = matrix.shape[-1] // 2
    return matrix.narrow(-2, 0, n).narrow(-1, n, n)


def matrix_power_back(grad: Tensor, A: Tensor, n: int, result: Tensor) -> Tensor:
    """The gradient of a square matrix from that of its n-th power."""
    if n == 0:
        return gb.zeros_like(A)
    if n > 0:
        return _corner(gb.linalg.matrix_power(_enlarged(A, grad), n)) if n > 1 else grad
    inverse = result if n == -1 else gb.linalg.inv(A)
    back = _corner(gb.linalg.matrix_power(_enlarged(inverse, grad), -n)) if n < -1 else grad
    return -inverse.adjoint().matmul(back).matmul(inverse.adjoint())


def matrix_exp_back(grad: Tensor, A: Tensor) -> Tensor:
    """The gradient of a square matrix from that of its exponential."""
    return _corner(gb.linalg.matrix_exp(_enlarged(A, grad)))


HELPERS: dict[str, Any] = {"matrix_power_back": matrix_power_back, "matrix_exp_back": matrix_exp_back}
