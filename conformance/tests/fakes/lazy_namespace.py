"""NumPy by the array API, whose sums are computed when they are asked for, and whose ``int32`` is no dtype."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import *  # noqa: F403
from numpy import asarray as _asarray

__version__ = "1.0"


class int32:
    """A field of a schema."""


class Array(np.ndarray):
    """The class of all arrays of this namespace."""


class Deferred:
    """The sum of two arrays, which ``asarray`` computes."""

    def __init__(self, x: Any, y: Any) -> None:
        self.operands = x, y
        self.dtype = np.result_type(x, y)
        self.shape = np.shape(x)


class Info:
    """The inspection API, in part."""

    def dtypes(self, *, kind: str) -> dict[str, Any]:
        return {"int32": np.dtype("int32"), "float32": np.dtype("float32")}


def asarray(x: Any, dtype: Any = None, copy: bool | None = None) -> Array:
    if isinstance(x, Deferred):
        return np.add(*x.operands)
    return _asarray(x, dtype=dtype, copy=copy).view(Array)


def add(x: Any, y: Any) -> Deferred:
    return Deferred(x, y)


def __array_namespace_info__() -> Info:
    return Info()
