"""Pooling with torch.nn.functional's signatures; with `return_indices` the places of the largest elements too."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..calls.functions import ops
from ..core.errors import type_error
from ..tensor.tensor import Tensor
from .checked import named, repeated

Ints = int | Sequence[int]
INDICES = "_with_indices"
"""The end of the names of functions that give the places too, whatever `return_indices` says."""


def _documented(function: Callable[..., Any], dims: int, ending: str, document: str) -> Callable[..., Any]:
    document = f"{document} And the place of each." if ending else document
    return named(function, f"{function.__name__}{dims}d{ending}", document)


def _max_pool(dims: int, ending: str = "") -> Callable[..., Any]:
    def max_pool(
        input: Tensor, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, dilation: Ints = 1,
        ceil_mode: bool = False, return_indices: bool = False,
    ) -> Any:  # fmt: skip
        name = f"max_pool{dims}d" + (INDICES if return_indices else ending)
        return getattr(ops, name)(input, kernel_size, () if stride is None else stride, padding, dilation, ceil_mode)

    return _documented(max_pool, dims, ending, f"The largest element of each window over the last {dims} dims.")


def _sizes(input: Tensor, output_size: Any, dims: int) -> tuple[int, ...]:
    """The output sizes, None standing for the input's."""
    given = repeated(output_size, dims)
    own = input.shape
    if len(own) <= len(given):
        raise ValueError(f"Input dimension should be at least {len(given) + 1}, got {len(own)}")
    return tuple(b if a is None else a for a, b in zip(given, own[len(own) - len(given) :], strict=True))


def _adaptive_max_pool(dims: int, ending: str = "") -> Callable[..., Any]:
    def adaptive_max_pool(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
        sizes = _sizes(input, output_size, dims)
        found = getattr(ops, f"adaptive_max_pool{dims}d")(input, sizes)
        return found if return_indices or ending else found[0]

    document = f"The largest element of each of `output_size` parts of the last {dims} dims."
    return _documented(adaptive_max_pool, dims, ending, document)


def _fractional(dims: int, ending: str = "") -> Callable[..., Any]:
    name = f"fractional_max_pool{dims}d"

    def fractional_max_pool(
        input: Tensor, kernel_size: Ints, output_size: Ints | None = None, output_ratio: Any = None,
        return_indices: bool = False, _random_samples: Tensor | None = None,
    ) -> Any:  # fmt: skip
        if input.ndim not in (dims + 1, dims + 2):
            raise RuntimeError(f"{name}(): Expected {dims + 1}D or {dims + 2}D tensor, but got: {list(input.shape)}")
        if output_size is None:
            if output_ratio is None:
                raise ValueError(f"{name}(): requires specifying either an output_size or an output_ratio")
            ratios = output_ratio if isinstance(output_ratio, (tuple, list)) else (output_ratio,) * dims
            own = input.shape[input.ndim - dims :]
            output_size = [int(size * ratio) for size, ratio in zip(own, ratios, strict=True)]
        if _random_samples is None:
            batch = 1 if input.ndim == dims + 1 else input.shape[0]
            shape = (batch, input.shape[-dims - 1], dims)
            _random_samples = ops.rand(shape, dtype=input.dtype, device=input.device)
        found = getattr(ops, name)(input, repeated(kernel_size, dims), repeated(output_size, dims), _random_samples)
        return found if return_indices or ending else found[0]

    document = "The largest element of windows at random distances, as many as sizes or ratios say."
    return _documented(fractional_max_pool, dims, ending, document)


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Any:
    """The mean of each of `output_size` parts of the last two dims; None keeps a size."""
    return ops.adaptive_avg_pool2d(input, _sizes(input, output_size, 2))


def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Any:
    """The mean of each of `output_size` parts of the last three dims; None keeps a size."""
    return ops.adaptive_avg_pool3d(input, _sizes(input, output_size, 3))


def _lp_pool(dims: int) -> Callable[..., Any]:
    def lp_pool(
        input: Any, norm_type: float, kernel_size: Ints, stride: Ints | None = None, ceil_mode: bool = False
    ) -> Any:
        if not isinstance(norm_type, (int, float)):
            type_error(f"lp_pool{dims}d", "norm_type", norm_type, "float")
        if isinstance(input, (int, float, complex)):  # whose powers would be computed
            type_error(f"lp_pool{dims}d", "input", input, "Tensor")
        if abs(norm_type) == math.inf:
            sign = 1 if norm_type > 0 else -1
            largest = getattr(ops, f"max_pool{dims}d")
            return largest(input.abs() * sign, kernel_size, () if stride is None else stride, 0, 1, ceil_mode) * sign
        mean = getattr(ops, f"avg_pool{dims}d")(
            input**norm_type, kernel_size, () if stride is None else stride, 0, ceil_mode
        )
        return (mean.sign() * mean.abs().relu() * math.prod(repeated(kernel_size, dims))) ** (1.0 / norm_type)

    document = f"The norm of order `norm_type` of each window over the last {dims} dims."
    return named(lp_pool, f"lp_pool{dims}d", document)


def _unpooled_sizes(
    input: Tensor, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int], given: Any
) -> tuple[int, ...]:
    dims = len(kernel)
    if input.ndim < dims:
        raise IndexError(f"max_unpool{dims}d(): input must have at least {dims} dims, got {input.ndim}")
    own = input.shape[input.ndim - dims :]
    usual = tuple((n - 1) * s + k - 2 * p for n, s, k, p in zip(own, stride, kernel, padding, strict=True))
    if given is None:
        return usual
    wanted = tuple(given)[2:] if len(given) == dims + 2 else tuple(given)
    if len(wanted) != dims:
        raise ValueError(
            f"output_size should be a sequence containing {dims} or {dims + 2} elements, but it has a length of "
            f"'{len(wanted)}'"
        )
    for d, (size, middle, step) in enumerate(zip(wanted, usual, stride, strict=True)):
        if not middle - step < size < middle + step:
            raise ValueError(
                f'invalid output_size "{list(wanted)}" (dim {d} must be between {middle - step} and {middle + step})'
            )
    return wanted


def _max_unpool(dims: int) -> Callable[..., Any]:
    def max_unpool(
        input: Any, indices: Any, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0,
        output_size: Any = None,
    ) -> Any:  # fmt: skip
        kernel, paddings = repeated(kernel_size, dims), repeated(padding, dims)
        steps = kernel if stride is None else repeated(stride, dims)
        if len(kernel) != dims:
            raise RuntimeError(f"max_unpool{dims}d(): argument 'kernel_size' must hold {dims} ints, got {len(kernel)}")
        for argument, given in (("stride", steps), ("padding", paddings)):
            if len(given) < dims:
                raise IndexError(f"max_unpool{dims}d(): argument '{argument}' must hold {dims} ints, got {len(given)}")
        sizes = _unpooled_sizes(input, kernel, steps[:dims], paddings[:dims], output_size)
        if dims == 1:
            return ops.max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), (*sizes, 1)).squeeze(-1)
        if dims == 2:
            return ops.max_unpool2d(input, indices, sizes)
        return ops.max_unpool3d(input, indices, sizes, steps, paddings)

    document = "The elements put back where max pooling found them, 0 elsewhere."
    return named(max_unpool, f"max_unpool{dims}d", document)


for _dims in (1, 2, 3):
    for _ending in ("", INDICES):
        for _make in (_max_pool, _adaptive_max_pool, *((_fractional,) if _dims > 1 else ())):
            _function = _make(_dims, _ending)
            globals()[_function.__name__] = _function
    globals().update({f"lp_pool{_dims}d": _lp_pool(_dims), f"max_unpool{_dims}d": _max_unpool(_dims)})
