"""Running a formula of whole windows over arrays of one shape."""

from __future__ import annotations

from collections.abc import Sequence

from ...iteration.coalesce import coalesce_dimensions
from ...kernels.pointwise import PointwiseKernel
from ..arrays import Array
from ..launch import Launch

MOST_PLACES = 32
"""Windows of more places are done in other ways."""


def run_over(kernel: PointwiseKernel, results: Sequence[Array], operands: Sequence[Array]) -> None:
    """Fill the results, which are row-major, from operands of the same shape."""
    arrays = [*results, *operands]
    order = range(results[0].ndim - 1, -1, -1)
    shape, strides = coalesce_dimensions(
        tuple(results[0].shape[d] for d in order), [tuple(array.strides[d] for d in order) for array in arrays]
    )
    launch = Launch(kernel, shape, strides, [array.itemsize for array in arrays], range(len(arrays)))
    launch.run([array.ctypes.data for array in arrays])
