"""Drawn arrays that are mostly zero, and drawn tensors in sparse layouts with what they stand for."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as hs

from ..backend import Array, numpy_dtype
from ..strategies import sizes

DTYPES = ("float32", "float64", "int64", "int32", "bool")
_FLOATS = (0.0, -0.0, 1.0, -2.5, 3.0, float("nan"), float("inf"), float("-inf"))
_NUMBERS = {"f": _FLOATS, "i": (0, 1, -2, 3, 100), "b": (False, True)}


@hs.composite
def dense_arrays(draw: hs.DrawFn, min_dims: int = 0, max_dims: int = 3) -> Array:
    """Arrays of which half of the elements are zero, with NaN, infinities and zeros of both signs where there are."""
    dtype = numpy_dtype(draw(hs.sampled_from(DTYPES)))
    dims = draw(sizes(min_dims, max_dims))
    count = int(np.prod(dims))
    zero = hs.just(_NUMBERS[dtype.kind][0])
    elements = hs.one_of(zero, hs.sampled_from(_NUMBERS[dtype.kind]))
    return np.array(draw(hs.lists(elements, min_size=count, max_size=count)), dtype).reshape(dims)
