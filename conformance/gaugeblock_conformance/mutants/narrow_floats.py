"""Wrong 8-bit floats: their numbers, how they are rounded to, and where they end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..backend import Array, DType
from ..dtypes.test_float8 import FORMATS
from .mutant import Intercepted, rows
from .patches import accepts

_NARROW = tuple(FORMATS)


def _first_changed(change: Callable[[Array, str], Array]) -> Callable[[Intercepted], Any]:
    """Conversions to an 8-bit float of other values than the given ones."""

    def patch(c: Intercepted) -> Any:
        x, target, *_ = (*c.args, None)
        if target not in FORMATS or c.backend.dtype(x) not in ("float32", "float64"):
            return c.right()
        changed = change(c.array(x).astype(np.float32), str(target))
        return c.instead(c.tensor(np.ascontiguousarray(changed)), *c.args[1:], **c.kwargs)

    return patch


def _cut_off(array: Array, dtype: str) -> Array:
    dropped = (1 << 23 - FORMATS[dtype].fraction) - 1
    return (array.view(np.uint32) & np.uint32(0xFFFFFFFF ^ dropped)).view(np.float32)


def _middles_go_up(array: Array, dtype: str) -> Array:
    half = np.uint32(1 << 22 - FORMATS[dtype].fraction)
    return ((array.view(np.uint32) + half) & np.uint32(0xFFFFFFFF ^ (2 * int(half) - 1))).view(np.float32)


def _nan_beyond(array: Array, dtype: str) -> Array:
    return np.where(np.abs(array) > 464, np.float32(np.nan), array) if dtype == "float8_e4m3fn" else array


def _clipped(array: Array, dtype: str) -> Array:
    largest = {"float8_e4m3fnuz": 240.0}.get(dtype, 57344.0)
    return np.clip(array, -largest, largest).astype(np.float32)


def _halved(c: Intercepted) -> Any:
    """The fnuz dtypes are read with the bias of the others."""
    result = c.right()
    if not str(c.backend.dtype(c.args[0])).endswith("fnuz") or c.backend.dtype(result) != "float32":
        return result
    return c.tensor(c.array(result) * np.float32(2))


def _without_subnormals(c: Intercepted) -> Any:
    result = c.right()
    if c.backend.dtype(c.args[0]) not in FORMATS or c.backend.dtype(result) != "float32":
        return result
    array = c.array(result)
    return c.tensor(np.where(np.abs(array) < 2.0**-14, np.float32(0), array))


def _not_written(c: Intercepted) -> Any:
    return c.args[0] if c.backend.dtype(c.args[0]) in FORMATS else c.right()


def _widened(c: Intercepted) -> Any:
    """An 8-bit float joins a wider dtype."""
    return DType(next((str(one) for one in c.args if one not in FORMATS), "float32"))


def _added(c: Intercepted) -> Any:
    wide = [c.do("to.dtype", one, DType("float32")) for one in c.args[:2]]
    return c.do("to.dtype", c.do("add.Tensor", *wide), DType(c.backend.dtype(c.args[0])))


MUTANTS = (
    *rows(
        "dtypes",
        ("float8-conversion-cuts-off", "dtypes/float8-conversion-rounds-to-nearest-even", ("to",),
         _first_changed(_cut_off)),
        ("float8-middles-go-up", "dtypes/float8-conversion-rounds-to-nearest-even", ("to",),
         _first_changed(_middles_go_up)),
        ("float8-e4m3fn-ends-in-nan", "dtypes/float8-dtypes-end-in-their-own-ways", ("to",),
         _first_changed(_nan_beyond)),
        ("float8-infinities-are-clipped", "dtypes/float8-dtypes-end-in-their-own-ways", ("to",),
         _first_changed(_clipped)),
        ("float8-fnuz-has-the-bias-of-the-others", "dtypes/float8-values-are-exact-in-float32", ("to",), _halved),
        ("float8-subnormals-are-zero", "dtypes/float8-values-are-exact-in-float32", ("to",), _without_subnormals),
        ("float8-copies-are-lost", "dtypes/float8-dtypes-store-and-move", ("copy_",), _not_written),
        ("float8-fills-are-lost", "dtypes/float8-dtypes-store-and-move", ("fill_",), _not_written),
        ("float8-promotes", "dtypes/float8-dtypes-do-not-add-or-promote", ("promote_types",),
         accepts(RuntimeError, _widened)),
        ("float8-adds", "dtypes/float8-dtypes-do-not-add-or-promote", ("add", "__add__"),
         accepts(NotImplementedError, _added)),
    ),
)  # fmt: skip
