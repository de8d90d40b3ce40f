"""NumPy's own functions by operator, without checks: what benchmarks time in place of the adapter's careful ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray


def _sort(x: NDArray[Any], dim: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Values and their places, as the operator gives them."""
    places = np.argsort(x, dim)
    return np.take_along_axis(x, places, dim), places


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add.Tensor": np.add,
    "sub.Tensor": np.subtract,
    "mul.Tensor": np.multiply,
    "div.Tensor": np.true_divide,
    "neg": np.negative,
    "abs": np.absolute,
    "sqrt": np.sqrt,
    "maximum": np.maximum,
    "exp": np.exp,
    "log": np.log,
    "tanh": np.tanh,
    "sin": np.sin,
    "where.self": np.where,
    "sum": np.sum,
    "mean.dim": np.mean,
    "amax": np.max,
    "cumsum": np.cumsum,
    "sort": _sort,
    "cat": np.concatenate,
    "gather": lambda x, dim, index: np.take_along_axis(x, index, dim),
    "clone": lambda x: x.copy("K"),
    "matmul": np.matmul,
    "empty.memory_format": lambda size: np.empty(size, np.float32),
    "t": np.transpose,
    "expand": np.broadcast_to,
    "reshape": np.reshape,
    "unsqueeze": np.expand_dims,
    "select.int": lambda x, dim, index: x[(slice(None),) * dim + (index,)],
}
