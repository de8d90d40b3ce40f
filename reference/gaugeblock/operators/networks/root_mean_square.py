"""Normalization by the root of the mean square over the last dims."""

from __future__ import annotations

from functools import partial

from ...core.dtype import float32, float64
from ...core.limits import finfo
from ...core.promotion import UPSTREAM_NAMES
from ...kernels import reduction_ops, rowwise_normalization
from ...tensor.tensor import Tensor, empty_tensor
from ..plan import Planned, plannable
from ..reduce_call import reduce
from .calls import apply, apply_for_many
from .layer_normalization import Sizes, normalized_dims
from .row_normalizing import normalized_rows, normalizing_call


def _fused_rms_norm(
    input: Tensor, normalized_shape: Sizes, weight: Tensor | None, eps: float | None
) -> tuple[Tensor, Tensor]:
    """(input / sqrt(mean of squares + eps) * weight, the inverse of the root), the latter float32 for half precision.

    Without eps the distance of 1 to the next number of the dtype computed in. Raises RuntimeError for shapes that do
    not fit, NotImplementedError for what is no float.
    """
    count = normalized_dims("rms_norm", input, normalized_shape, weight)
    meta = input.meta
    own = meta.dtype
    dims = tuple(range(meta.ndim - count, meta.ndim))
    if own.is_complex:
        return _complex(input, dims, weight, eps)
    if own.kind != 2:
        raise NotImplementedError(f"\"rms_norm\" not implemented for '{UPSTREAM_NAMES[own.name]}'")
    wide = float64 if own is float64 else float32
    small = finfo(wide).eps if eps is None else eps
    weighted = weight is not None
    found = normalized_rows(
        "rms_norm", partial(rowwise_normalization.rms_norm, own, weighted), input, count, (weight,), (wide,), small
    )
    if found is not None:
        return found[0], found[1]
    inverse = reduce("rms_norm", reduction_ops.mean_square_reduction(own), input, dims, True, own, (wide,), (small,))[0]
    return empty_tensor(meta.sizes, own, meta.device), inverse


def _complex(
    input: Tensor, dims: tuple[int, ...], weight: Tensor | None, eps: float | None
) -> tuple[Tensor, Tensor]:
    """The same with the complex square, which is no magnitude."""
    small = finfo(input.meta.dtype).eps if eps is None else eps
    mean = apply("mean.dim", apply("mul.Tensor", input, input), dims, True)
    inverse = apply("rsqrt", apply("add.Scalar", mean, small))
    result = apply("mul.Tensor", input, inverse)
    return result if weight is None else apply("mul.Tensor", result, weight), inverse


@plannable
def rms_norm(
    input: Tensor, normalized_shape: Sizes, weight: Tensor | None = None, eps: float | None = None
) -> Tensor | Planned[Tensor]:
    """The first result of _fused_rms_norm. Raises as it does."""
    result = apply_for_many("_fused_rms_norm", input, normalized_shape, weight, eps)[0]
    own = input.meta.dtype
    if own.is_complex:
        return result
    small = finfo(float64 if own is float64 else float32).eps if eps is None else eps
    program = partial(rowwise_normalization.rms_norm, own, weight is not None)
    return Planned(result, normalizing_call("rms_norm", program, input, len(normalized_shape), (weight,), small))
