"""Calls that meet subnormal numbers, on a library that documents to take them for zero."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np

from ..backend import Array, DType, Unsupported, numpy_dtype
from .array_api_python import PROTOCOLS

REASON = "subnormal numbers count as zero on a CPU, as documented"


def check(backend: Any, operator: str, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
    """Raise Unsupported for a call with subnormal operands or results to which NumPy, which keeps them, has another
    answer."""
    expression = backend.table.get(operator)
    if expression is None and operator not in PROTOCOLS:
        return
    operands = list(_arrays(backend, [*args, *kwargs.values()]))
    if not any(array.dtype.kind in "fcV" for array in operands):
        return
    try:
        with np.errstate(all="ignore"):
            if expression is not None:
                given = expression.bind(args, kwargs).items()
                kept = expression.function(np)(**{name: _of_numpy(backend, value) for name, value in given})
            else:
                kept = PROTOCOLS[operator](backend, *[_of_numpy(backend, value) for value in args])
    except (TypeError, ValueError, AttributeError):
        kept = None
    wanted, got = list(_arrays(backend, [kept])), list(_arrays(backend, [result]))
    met = any(map(_subnormal, [*operands, *wanted])) or any(_small(value, operands) for value in args)
    if met and not (len(wanted) == len(got) and all(map(_same, wanted, got))):
        raise Unsupported(operator, REASON)


def _of_numpy(backend: Any, value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(_of_numpy(backend, item) for item in value)
    if type(value) is DType:
        return numpy_dtype(value)
    return backend.to_numpy(value) if backend.is_array(value) else value


def _arrays(backend: Any, values: Any) -> Iterator[Array]:
    """All arrays in nested lists, as NumPy's."""
    for value in values:
        if isinstance(value, list | tuple):
            yield from _arrays(backend, value)
        elif isinstance(value, np.ndarray | np.generic):
            yield np.asarray(value)
        elif backend.is_array(value):
            yield backend.to_numpy(value)


def _tiny(array: Array) -> float:
    limits: Any = ml_dtypes.finfo
    return float(limits(array.dtype).smallest_normal)


def _subnormal(array: Array) -> bool:
    if array.dtype.kind == "c":
        return _subnormal(array.real) or _subnormal(array.imag)
    if array.dtype.kind not in "fV":
        return False
    # What is rounded up to the smallest normal number was subnormal before.
    size = np.abs(array.astype(np.float64))
    return bool(np.any((size > 0) & (size <= _tiny(array))))


def _small(value: Any, operands: list[Array]) -> bool:
    """Return whether a number is subnormal in the dtype of the operands beside it."""
    return type(value) is float and any(
        0 < abs(value) < _tiny(array.real) for array in operands if array.dtype.kind in "fcV"
    )


def _same(one: Array, other: Array) -> bool:
    return one.shape == other.shape and bool(np.array_equal(one, other, equal_nan=one.dtype.kind in "fc"))
