"""Loops of formulas over tensors that exist already: a formula by name, or any function of lanes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from ..core.device import cpu
from ..core.dtype import DType
from ..core.promotion import promote_types
from ..iteration.dimensions import broadcast_shapes, iteration_strides
from ..iteration.tensor_iterator import TensorIterator
from ..kernels.body import Formula
from ..kernels.conversion import Immediate
from ..kernels.pointwise import Launch, pointwise_kernel
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import TensorMeta, recalled
from ..tensor.versions import bump_version
from .pointwise import formula_kernel


def element_launch(
    formula: str, out: TensorMeta, inputs: Sequence[TensorMeta | Immediate], compute: DType,
    more: Sequence[TensorMeta] = (),
) -> Launch | None:  # fmt: skip
    """The launch that writes `formula` of the inputs, broadcast, to `out`; None when there is nothing to write. Further
    results of the formula go to `more`, of the same sizes. Dims that `out` repeats (stride 0) are written once."""
    if out.numel == 0:
        return None
    shape = tuple([1 if step == 0 else size for size, step in zip(out.sizes, out.strides, strict=True)])
    outputs = [out, *more]
    memory = [*outputs, *(value for value in inputs if not isinstance(value, Immediate))]
    strides = [iteration_strides(g.sizes, g.strides, out.sizes, g.dtype.itemsize) for g in memory]
    iterator = TensorIterator.restrided(shape, strides, [g.dtype for g in memory])
    operands = [v if isinstance(v, Immediate) else v.dtype for v in inputs]
    places = [place for place, value in enumerate(inputs, len(outputs)) if not isinstance(value, Immediate)]
    slots = [*range(len(outputs)), *places]
    kernel = formula_kernel(formula, operands, compute, *(one.dtype for one in outputs))
    return Launch(kernel, iterator.shape, iterator.strides, [g.dtype.itemsize for g in memory], slots)


def map_into(out: Tensor, formula: Formula, *inputs: Tensor, compute: DType | None = None) -> Tensor:
    """Write ``formula(*inputs)``, element by element, to `out`, and return it.

    The inputs broadcast to out's sizes and are converted to `compute` (their promoted dtype if not given), the results
    to out's dtype. The formula is called once per combination of dtypes, with expressions, to be recorded.
    Raises RuntimeError for sizes that do not broadcast to out's, for no input, and for tensors without data.
    """
    if not inputs:
        raise RuntimeError("map_into(): expected at least one input")
    key = (formula, compute, *[tensor.meta for tensor in inputs])
    launch = recalled(out.meta.plans, key, _launch, out.meta, formula, [tensor.meta for tensor in inputs], compute)
    bump_version(out)
    if out.meta.numel:
        launch.run([out.pointer, *[tensor.pointer for tensor in inputs]])
    return out


def _launch(out: TensorMeta, formula: Formula, inputs: list[TensorMeta], compute: DType | None) -> Launch:
    operands = [out, *inputs]
    for meta in operands:
        if meta.device is not cpu or meta.lazy:
            raise RuntimeError(
                f"map_into(): expected tensors whose memory holds their values, got one on {meta.device}"
                f"{', lazily conjugate or negative' if meta.lazy else ''}"
            )
    if broadcast_shapes([meta.sizes for meta in operands]) != out.sizes:
        raise RuntimeError(f"map_into(): the inputs do not broadcast to the output's sizes {list(out.sizes)}")
    common = compute or reduce(promote_types, [meta.dtype for meta in inputs])
    strides = [iteration_strides(g.sizes, g.strides, out.sizes, g.dtype.itemsize) for g in operands]
    iterator = TensorIterator.restrided(out.sizes, strides, [g.dtype for g in operands])
    name: Any = getattr(formula, "__name__", "formula")
    kernel = pointwise_kernel(name, formula, [g.dtype for g in inputs], common, (out.dtype,))
    return Launch(kernel, iterator.shape, iterator.strides, [g.dtype.itemsize for g in operands], range(len(operands)))
