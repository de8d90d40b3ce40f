"""Fused formulas as pointwise operators and in gradients, checks of a row's dtypes, and results in the memory format
of an image."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ...core.device import cpu
from ...core.dtype import DType, float32, float64
from ...core.promotion import UPSTREAM_NAMES
from ...dispatch.keys import any_autograd
from ...iteration.tensor_iterator import Number
from ...kernels.bound_call import Fresh, nothing
from ...kernels.conversion import Immediate
from ...kernels.pointwise import Launch
from ...tensor.hooks import SPECIAL
from ...tensor.tensor import Tensor
from ...tensor.tensor_meta import (
    TensorMeta,
    contiguous_meta,
    format_strides,
    meta_of,
    recalled,
    remember,
    suggested_format,
)
from ..composition import Part
from ..launch import element_launch
from ..plan import Planned, plannable
from ..pointwise import Call, PointwiseRule, planned_run
from ..rows import rows


@functools.cache
def _rule(row: str, promotion: str, result: str) -> PointwiseRule:
    return PointwiseRule(rows()[row]._replace(promotion=promotion, result=result))


@plannable
def evaluated(
    row: str, formula: str, operands: Sequence[Tensor | Number], numbers: Sequence[Number] = (), *,
    result: str = "common",
) -> Tensor | Planned[Tensor]:  # fmt: skip
    """A formula of the tables over broadcast operands, computed and refused as the row's dtypes say; works on meta."""
    call = Call(formula, tuple(operands), tuple(numbers))
    return planned_run(_rule(row, "default", result), call, None, inplace=False)


def check_dtype(row: str, tensor: Tensor) -> None:
    """NotImplementedError unless the row of the operator lists the tensor's dtype."""
    name = tensor.meta.dtype.name
    if name not in rows()[row].dtypes:
        allowed = ", ".join(rows()[row].dtypes)
        raise NotImplementedError(f"\"{row}\" not implemented for '{UPSTREAM_NAMES[name]}'; it computes in {allowed}")


def made(
    part: Part, formula: str, results: Sequence[TensorMeta], inputs: Sequence[Tensor], compute: DType,
    numbers: Sequence[float] = (),
) -> Any:  # fmt: skip
    """Return new tensors, or one, with the results of a formula of the tables computed in `compute`; the inputs
    broadcast to their sizes, and `numbers` are its last operands."""
    launched = _launched(formula, results, [tensor.meta for tensor in inputs], compute, numbers)
    return part.fresh(launched, *inputs, *numbers)


def _launched(
    formula: str, results: Sequence[TensorMeta], inputs: Sequence[TensorMeta], compute: DType, numbers: Sequence[float]
) -> Fresh:
    """Return the call of the inputs and numbers."""
    meta = results[0]
    launch: Launch | None = None
    if meta.device is cpu and meta.numel:
        operands: list[TensorMeta | Immediate] = [*inputs, *[Immediate(compute) for _ in numbers]]
        key = (formula, compute, *inputs, *results[1:])
        launch = recalled(meta.plans, key, element_launch, formula, meta, operands, compute, results[1:])
    kernel, tail = (None, ()) if launch is None else launch.call()
    return Fresh(kernel, tuple(results), tail)


def normalized(
    part: Part, meta: TensorMeta, input: Tensor, mean: Tensor, deviation: Tensor, weight: Tensor | None,
    bias: Tensor | None,
) -> Tensor:  # fmt: skip
    """(input - mean) * deviation * weight + bias in a new tensor; `deviation` is its inverse, in the dtype computed
    in."""
    parts = [(name, tensor) for name, tensor in (("weight", weight), ("bias", bias)) if tensor is not None]
    formula = ".".join(["normalized", *(name for name, _ in parts)])
    inputs = [input, mean, deviation, *(tensor for _, tensor in parts)]
    found: Tensor = made(part, formula, [meta], inputs, deviation.meta.dtype)
    return found


def suggested(meta: TensorMeta, sizes: tuple[int, ...] | None = None, dtype: DType | None = None) -> TensorMeta:
    """Return the meta of a new tensor like one of `meta`, of other sizes and dtype if given: channels last if it
    resembles that."""
    chosen = suggested_format(meta.sizes, meta.strides)
    wanted, kind = meta.sizes if sizes is None else sizes, dtype or meta.dtype
    target = contiguous_meta(wanted, kind, meta.device)
    return target if chosen is None else meta_of(wanted, format_strides("clone", wanted, (), chosen), kind, meta.device)


def unrecorded(*tensors: Tensor) -> bool:
    """Return whether all are plain float32 or float64 tensors on the CPU that no graph or mode follows."""
    dtype = tensors[0].meta.dtype
    plain = all(
        one.__class__ is Tensor and one.meta.device is cpu and not one.meta.lazy and one.meta.dtype is dtype
        for one in tensors
    )
    return plain and dtype in (float32, float64) and not SPECIAL and not any_autograd(tensors, {})


def fused(formula: str, self: Any, *others: Any) -> Any:
    """Return a formula of the tables over `self` and what broadcasts to it; None for tensors that are followed."""
    given = (self, *others)
    if SPECIAL or any(one.__class__ is not Tensor for one in given):
        return None
    key = ("fused", formula, *[one.meta for one in others])
    call = self.meta.plans.get(key)
    if call is None:
        call = remember(self.meta.plans, key, _fused_call(formula, given))
    return call(*given)


def _fused_call(formula: str, given: Sequence[Tensor]) -> Callable[..., Any]:
    if not unrecorded(*given):
        return nothing
    results, inputs = [suggested(given[0].meta)], [one.meta for one in given]
    return _launched(formula, results, inputs, given[0].meta.dtype, ()).native()
