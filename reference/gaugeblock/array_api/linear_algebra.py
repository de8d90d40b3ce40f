"""Products of matrices and vectors that the main namespace and linalg both offer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..calls.functions import ops
from ..core.dtype import DType
from ..tensor.tensor import Tensor
from . import reductions
from .operands import WIDE, axes_of, bits, check_array, check_kind, pair, unsigned

NUMERIC = "int float complex"


def _product(function: str, operator: Any, x1: Tensor, x2: Tensor) -> Tensor:
    first, second = pair(function, check_array(function, "x1", x1), check_array(function, "x2", x2))
    dtype: DType = first.meta.dtype
    check_kind(function, dtype, NUMERIC)
    if dtype in WIDE:
        return unsigned(operator(bits(first), bits(second)), dtype)  # type: ignore[no-any-return]
    return operator(first, second)  # type: ignore[no-any-return]


def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Return the matrix product; 1-D arrays are vectors. Raises ValueError for 0 dims."""
    for name, one in (("x1", x1), ("x2", x2)):
        if not check_array("matmul", name, one).meta.ndim:
            raise ValueError(f"matmul(): argument {name!r} has 0 dims")
    return _product("matmul", ops.matmul, x1, x2)


def matrix_transpose(x: Tensor, /) -> Tensor:
    """Return matrices with rows and columns exchanged. Raises ValueError for less than 2 dims."""
    if check_array("matrix_transpose", "x", x).meta.ndim < 2:
        raise ValueError(f"matrix_transpose(): an array of {x.meta.ndim} dims has no matrices")
    return ops.transpose(x, -2, -1)  # type: ignore[no-any-return]


def tensordot(x1: Tensor, x2: Tensor, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Tensor:
    """Return the sums of products over the last axes of x1 and the first of x2, or over those given for each."""
    dims = axes if isinstance(axes, int) else tuple([list(one) for one in axes])
    return _product("tensordot", lambda first, second: ops.tensordot(first, second, dims), x1, x2)


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Return the sums of products along an axis, counted from the end; x1 is conjugated. Raises ValueError for sizes
    along it that differ."""
    first, second = check_array("vecdot", "x1", x1), check_array("vecdot", "x2", x2)
    dims = min(first.meta.ndim, second.meta.ndim)
    if not -dims <= axis < 0:
        axes_of("vecdot", axis, dims)
        axis -= dims
    sizes = first.meta.sizes[axis], second.meta.sizes[axis]
    if sizes[0] != sizes[1]:
        raise ValueError(f"vecdot(): sizes {sizes[0]} and {sizes[1]} along axis {axis} differ")

    def operator(one: Any, other: Any) -> Any:
        one, other = ops.broadcast_tensors(one, other)
        products = (ops.conj_physical(one) if one.meta.dtype.is_complex else one) * other
        return ops.sum(products, (axis,), dtype=products.meta.dtype)

    return _product("vecdot", operator, first, second)


def trace(x: Tensor, /, *, offset: int = 0, dtype: DType | None = None) -> Tensor:
    """Return the sums of the diagonals of matrices."""
    return reductions.sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """Return the diagonals of matrices, `offset` places above the main ones."""
    return ops.diagonal(check_array("diagonal", "x", x), offset, -2, -1)  # type: ignore[no-any-return]


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Return the products of all pairs of elements of two vectors. Raises ValueError for other than 1 dim."""
    for name, one in (("x1", x1), ("x2", x2)):
        if check_array("outer", name, one).meta.ndim != 1:
            raise ValueError(f"outer(): argument {name!r} has {one.meta.ndim} dims, not 1")
    return _product("outer", lambda first, second: ops.unsqueeze(first, 1) * second, x1, x2)


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Return the cross products of vectors of 3 elements along an axis. Raises ValueError for other sizes."""
    dims = min(check_array("cross", name, one).meta.ndim for name, one in (("x1", x1), ("x2", x2)))
    for name, one in (("x1", x1), ("x2", x2)):
        (place,) = axes_of("cross", axis, one.meta.ndim if axis < 0 else dims)
        if one.meta.sizes[place] != 3:
            raise ValueError(f"cross(): argument {name!r} has size {one.meta.sizes[place]} along axis {axis}, not 3")

    def operator(first: Any, second: Any) -> Any:
        return ops.linalg_cross(*ops.broadcast_tensors(first, second), dim=axis)

    return _product("cross", operator, x1, x2)
