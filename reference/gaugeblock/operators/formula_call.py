"""Running a formula of one's own over tensors: broadcasting, conversion, loops, vectors and threads come with it."""

from __future__ import annotations

from functools import reduce
from typing import Any

from ..core.device import cpu
from ..core.dtype import DType
from ..core.promotion import promote_types
from ..iteration.dimensions import broadcast_shapes, iteration_strides, loop_dimensions
from ..kernels.body import Formula
from ..kernels.pointwise import pointwise_kernel
from ..tensor.geometry import Geometry, remember
from ..tensor.tensor import Tensor
from ..tensor.versions import bump_version
from .launch import Launch


def map_into(out: Tensor, formula: Formula, *inputs: Tensor, compute: DType | None = None) -> Tensor:
    """Write ``formula(*inputs)``, element by element, to `out`, and return it.

    The inputs broadcast to out's sizes and are converted to `compute` (their promoted dtype if not given), the results
    to out's dtype. The formula is a function of lanes: it is called once per combination of dtypes, to be recorded.
    Raises RuntimeError for sizes that do not broadcast to out's, for no input, and for tensors without data.
    """
    if not inputs:
        raise RuntimeError("map_into(): expected at least one input")
    key = (formula, compute, *[tensor.geometry for tensor in inputs])
    plans = out.geometry.plans
    launch: Launch | None = plans.get(key)
    if launch is None:
        launch = remember(plans, key, _launch(out.geometry, formula, [t.geometry for t in inputs], compute))
    bump_version(out)
    if out.geometry.numel:
        launch.run([out.pointer, *[tensor.pointer for tensor in inputs]])
    return out


def _launch(out: Geometry, formula: Formula, inputs: list[Geometry], compute: DType | None) -> Launch:
    operands = [out, *inputs]
    for geometry in operands:
        if geometry.device is not cpu or geometry.lazy:
            raise RuntimeError(
                f"map_into(): expected tensors whose memory holds their values, got one on {geometry.device}"
                f"{', lazily conjugate or negative' if geometry.lazy else ''}"
            )
    if broadcast_shapes([geometry.sizes for geometry in operands]) != out.sizes:
        raise RuntimeError(f"map_into(): the inputs do not broadcast to the output's sizes {list(out.sizes)}")
    common = compute or reduce(promote_types, [geometry.dtype for geometry in inputs])
    strides = [iteration_strides(g.sizes, g.strides, out.sizes, g.dtype.itemsize) for g in operands]
    shape, steps = loop_dimensions(out.sizes, strides)
    name: Any = getattr(formula, "__name__", "formula")
    kernel = pointwise_kernel(name, formula, [g.dtype for g in inputs], common, (out.dtype,))
    return Launch(kernel, shape, steps, [g.dtype.itemsize for g in operands], range(len(operands)))
