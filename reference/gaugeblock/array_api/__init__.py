"""The Python array API standard 2024.12 over tensors: ``x.__array_namespace__()`` is this module.

Functions follow the standard where PyTorch, and with it the rest of gaugeblock, does otherwise: dtypes promote whatever
the number of dims, sums of unsigned integers are unsigned, `axis` may be a tuple, and all functions take uint16, uint32
and uint64. Methods and operators of tensors stay PyTorch's: ``x.size`` is a method, and slices do not run backwards.
"""

from __future__ import annotations

from math import e, inf, nan, pi
from typing import Any

from ..core.dtype import BY_NAME as _BY_NAME
from . import elementwise as _elementwise
from . import fft, linalg
from .creation import (
    arange,
    asarray,
    empty,
    empty_like,
    eye,
    from_dlpack,
    full,
    full_like,
    linspace,
    meshgrid,
    ones,
    ones_like,
    tril,
    triu,
    zeros,
    zeros_like,
)
from .data_types import NAMES as _DTYPES
from .data_types import astype, can_cast, finfo, iinfo, isdtype, result_type
from .inspection import ArrayNamespaceInfo as _ArrayNamespaceInfo
from .linear_algebra import matmul, matrix_transpose, tensordot, vecdot
from .manipulation import (
    broadcast_arrays,
    broadcast_shapes,
    broadcast_to,
    concat,
    expand_dims,
    flip,
    moveaxis,
    permute_dims,
    repeat,
    reshape,
    roll,
    squeeze,
    stack,
    tile,
    unstack,
)
from .reductions import (
    all,
    any,
    count_nonzero,
    cumulative_prod,
    cumulative_sum,
    diff,
    max,
    mean,
    min,
    prod,
    std,
    sum,
    var,
)
from .searching import (
    argmax,
    argmin,
    argsort,
    isin,
    nonzero,
    searchsorted,
    sort,
    take,
    take_along_axis,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
)

__array_api_version__ = "2024.12"
newaxis = None

globals().update({name: getattr(_elementwise, name) for name in _elementwise.FUNCTIONS})
globals().update({name: _BY_NAME[name] for name in _DTYPES})

__all__ = [
    "__array_api_version__", "__array_namespace_info__", "all", "any", "arange", "argmax", "argmin", "argsort",
    "asarray", "astype", "broadcast_arrays", "broadcast_shapes", "broadcast_to", "can_cast", "concat", "count_nonzero",
    "cumulative_prod", "cumulative_sum", "diff", "e", "empty", "empty_like", "expand_dims", "eye", "fft", "finfo",
    "flip", "from_dlpack", "full", "full_like", "iinfo", "inf", "isdtype", "isin", "linalg", "linspace", "matmul",
    "matrix_transpose", "max", "mean", "meshgrid", "min", "moveaxis", "nan", "newaxis", "nonzero", "ones", "ones_like",
    "permute_dims", "pi", "prod", "repeat", "reshape", "result_type", "roll", "searchsorted", "sort", "squeeze",
    "stack", "std", "sum", "take", "take_along_axis", "tensordot", "tile", "tril", "triu", "unique_all",
    "unique_counts", "unique_inverse", "unique_values", "unstack", "var", "vecdot", "zeros", "zeros_like",
    *_elementwise.FUNCTIONS, *_DTYPES,
]  # fmt: skip


def __array_namespace_info__() -> _ArrayNamespaceInfo:
    """Return what the namespace offers."""
    return _ArrayNamespaceInfo()


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    raise AttributeError(f"the array API standard {__array_api_version__} has no {name!r}")
