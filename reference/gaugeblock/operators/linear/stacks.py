"""Stacks of matrices: what linear algebra asks of them and raises, and the column-major tensors that hold results."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NoReturn

from ...core import lazy_numpy as np
from ...core.away import away
from ...core.device import Device, cpu
from ...core.dtype import DType
from ...core.promotion import UPSTREAM_NAMES
from ...iteration.dimensions import broadcast_shapes
from ...tensor.tensor import Tensor
from ...tensor.tensor_meta import TensorMeta, contiguous_meta, default_strides, meta_of
from ..arrays import Array, check_same_device


class LinAlgError(RuntimeError):
    """A matrix is singular, not positive-definite, or an algorithm did not converge."""


def fail(operator: str, infos: Array, reason: str, error: type[RuntimeError] = LinAlgError) -> NoReturn:
    """Raise `error` for the first matrix whose info is not 0; `reason` may contain {info}."""
    flat = np.asarray(infos).reshape(-1)
    place = int(np.flatnonzero(flat)[0])
    where = "" if np.ndim(infos) == 0 else f"(Batch element {place}): "
    raise error(f"{operator}: {where}{reason.format(info=int(abs(flat[place])))}")


SINGULAR = (
    "The diagonal element {info} is zero, the inversion could not be completed because the input matrix is singular."
)
NOT_POSITIVE = (
    "The factorization could not be completed because the input is not positive-definite (the leading minor of order "
    "{info} is not positive-definite)."
)
ZERO_PIVOT = (
    "U[{info},{info}] is zero and using it on lu_solve would result in a division by zero. If you still want to "
    "perform the factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
)
NOT_FINITE = "The algorithm failed to converge because the input matrix contained non-finite values."
NOT_CONVERGED = (
    "The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated values."
)


FULL = frozenset({"float32", "float64", "complex64", "complex128"})
"""The dtypes that LAPACK has."""


WITHOUT_KERNEL = frozenset({
    "cholesky", "cholesky_inverse", "cholesky_solve", "geqrf", "ormqr", "orgqr", "linalg.householder_product",
    "linalg.eigh", "linalg.solve_triangular", "triangular_solve",
})  # fmt: skip
"""Operators that do not refuse integers by name, but have no kernel for them."""
BY_NAME = frozenset({"linalg.inv", "linalg.inv_ex", "inverse"})
"""Operators that refuse half precision by name."""


def check_float(operator: str, tensor: Tensor, argument: str = "A", *, halves: bool = False) -> DType:
    """The dtype of an operand. Raises RuntimeError for bool and ints and, unless `halves`, for half precision; where
    the lack of a kernel is all that is wrong, that is a NotImplementedError."""
    dtype = tensor.meta.dtype
    name = UPSTREAM_NAMES[dtype.name]
    if dtype.kind < 2:
        refusal = NotImplementedError if operator in WITHOUT_KERNEL else RuntimeError
        raise refusal(f"{operator}: Expected a floating point or complex tensor as input. Got {name}")
    if not halves and dtype.name not in FULL:
        refusal = RuntimeError if operator in BY_NAME else NotImplementedError
        raise refusal(f"{operator}: Low precision dtypes not supported. Got {name} for argument '{argument}'")
    return dtype


def check_matrix(operator: str, tensor: Tensor, argument: str = "A") -> tuple[int, ...]:
    """The sizes of a batch of matrices. Raises RuntimeError below two dims."""
    if tensor.meta.ndim < 2:
        raise RuntimeError(
            f"{operator}: The input tensor {argument} must have at least 2 dimensions, got {tensor.meta.ndim}."
        )
    return tensor.meta.sizes


def check_square(operator: str, tensor: Tensor, argument: str = "A") -> tuple[int, ...]:
    """The sizes of a batch of square matrices. Raises RuntimeError for others."""
    sizes = check_matrix(operator, tensor, argument)
    if sizes[-1] != sizes[-2]:
        raise RuntimeError(
            f"{operator}: {argument} must be batches of square matrices, but they are {sizes[-2]} by {sizes[-1]} "
            f"matrices"
        )
    return sizes


def check_one_dtype(
    operator: str, left: Tensor, right: Tensor, names: tuple[str, str] = ("A", "B")
) -> tuple[DType, Device]:
    """The dtype and device that two operands share. Raises RuntimeError when they differ."""
    device = check_same_device(operator, left, right)
    mine, theirs = left.meta.dtype, right.meta.dtype
    if mine is not theirs:
        raise RuntimeError(
            f"{operator}: Expected {names[0]} and {names[1]} to have the same dtype, but found {names[0]} of type "
            f"{UPSTREAM_NAMES[mine.name]} and {names[1]} of type {UPSTREAM_NAMES[theirs.name]} instead"
        )
    return mine, device


def column_major(sizes: Sequence[int], dtype: DType, device: Device = cpu) -> TensorMeta:
    """The meta of a tensor whose last two dims are column-major, as LAPACK leaves them."""
    if len(sizes) < 2:
        return contiguous_meta(tuple(sizes), dtype, device)
    *batch, rows, columns = sizes
    strides = default_strides((*batch, columns, rows))
    return meta_of(tuple(sizes), (*strides[:-2], strides[-1], strides[-2]), dtype, device)


def check_squares(operator: str, tensor: Tensor) -> tuple[DType, tuple[int, ...]]:
    """The dtype and the sizes of a batch of square matrices of floats. Raises as `check_float` and `check_square`."""
    return check_float(operator, tensor), check_square(operator, tensor)


def adjoint_of(array: Array) -> Array:
    """The conjugate transpose of each matrix."""
    return np.conjugate(np.swapaxes(array, -2, -1))


def is_vector(matrix: tuple[int, ...], right: tuple[int, ...]) -> bool:
    """Return whether the right side of these sizes is a vector for each matrix."""
    return len(right) == 1 or right == matrix[:-1]


def solved_sizes(operator: str, A: tuple[int, ...], B: tuple[int, ...], left: bool) -> tuple[int, ...]:
    """The sizes of X in ``A @ X = B``, or ``X @ A = B``. Raises RuntimeError when they do not fit."""
    if A[-1] != (B[-2] if left else B[-1]):
        equation = "AX = B" if left else "XA = B"
        raise RuntimeError(
            f"{operator}: Incompatible shapes of A and B for the equation {equation} ({A[-2]}x{A[-1]} and "
            f"{B[-2]}x{B[-1]})"
        )
    return broadcast_shapes((A[:-2], B[:-2])) + B[-2:]


LAPACK_STEPS = {"svd": 64.0, "eig": 256.0, "eigvals": 128.0, "eigh": 64.0, "qr": 16.0}
"""Steps for each element and column of a matrix, about; 8 for the others."""


def lapack(name: str, array: Any, *args: Any, **kwargs: Any) -> Any:
    """NumPy's linear algebra by name, called so that Ctrl-C is answered during long calls."""
    shape = np.shape(array)
    work = LAPACK_STEPS.get(name, 8.0) * prod(shape) * min(shape[-2:], default=0)
    with np.errstate(all="ignore"):
        return away(work, getattr(np.linalg, name), array, *args, **kwargs)
