"""What operators give, by NumPy in float64: a wrong result is not worth timing."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from gaugeblock_conformance.backends.numpy import NumpyBackend
from gaugeblock_conformance.backends.numpy_functions import FUNCTIONS
from numpy.typing import NDArray

from ..cases import Case
from ..operands import operands
from .task import OperatorTask, Task, looked_up, sampled

Array = NDArray[Any]
MOST = 1_000_000
"""Results of more elements are compared with the first backend's alone."""
TOLERANCES = {"float32": 1e-3, "bfloat16": 3e-2}
"""Of the largest element: far above any rounding, far below a wrong formula."""


def softmax(x: Array, dim: int) -> Array:
    powers = np.exp(x - x.max(dim, keepdims=True))
    result: Array = powers / powers.sum(dim, keepdims=True)
    return result


def layer_norm(x: Array, sizes: tuple[int, ...]) -> Array:
    result: Array = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    return result


def conv2d(x: Array, w: Array) -> Array:
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (2, 3))
    result: Array = np.einsum("bchwij,ocij->bohw", windows, w, optimize=True)
    return result


_EXPECTED: dict[str, Callable[..., Any]] = {
    **FUNCTIONS,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "gelu": lambda x: x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2))),
    "softmax.int": softmax,
    "layer_norm": layer_norm,
    "conv2d": conv2d,
}


def expected(task: Task) -> tuple[tuple[int, ...], Array] | None:
    """Shape and sampled elements of a right result; None where no oracle is asked."""
    if not isinstance(task, OperatorTask) or task.case.size > MOST:
        return None
    return _of(task.case)


@lru_cache(maxsize=4)
def _of(case: Case) -> tuple[tuple[int, ...], Array] | None:
    function = _EXPECTED.get(case.operator.call)
    if function is None:
        return None
    arrays = NumpyBackend()
    given = [_wide(array) for array in operands(case, arrays, 0)]
    named = dict(zip(case.operator.operands, given, strict=True))
    return sampled(arrays, function(*[looked_up(argument, named) for argument in case.arguments]))


def _wide(array: Array) -> Array:
    return array if array.dtype.kind in "bi" else array.astype(np.float64)


def difference(dtype: str, got: tuple[tuple[int, ...], Array], right: tuple[tuple[int, ...], Array]) -> str:
    """In what a result differs from the right one; nothing where it does not."""
    if got[0] != right[0]:
        return f"shape {got[0]} where {right[0]} is right"
    if not right[1].size:
        return ""
    finite = np.abs(right[1][np.isfinite(right[1])])
    limit = TOLERANCES.get(dtype, 1e-3) * max(float(finite.max(initial=0.0)), 1e-30)
    with np.errstate(invalid="ignore"):
        same = (np.abs(got[1] - right[1]) <= limit) | (got[1] == right[1]) | (np.isnan(got[1]) & np.isnan(right[1]))
    if same.all():
        return ""
    place = int(np.argmin(same))
    return f"{got[1][place]:.6g} where {right[1][place]:.6g} is right"
