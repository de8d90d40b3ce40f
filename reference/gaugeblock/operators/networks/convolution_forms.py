"""Convolutions by number of dims: padding by name, inputs without batch, transposed ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core.warn import warn_once
from ...tensor.tensor import Tensor
from ..invoke import apply
from ..plan import Planned, plannable, planned
from .windows import repeated

Ints = Sequence[int]


def convolved(input: Tensor, weight: Tensor, bias: Tensor | None, *options: Any) -> Tensor:
    """convolution, of complex numbers by way of their parts."""
    if not (input.meta.dtype.is_complex and weight.meta.dtype is input.meta.dtype):
        return apply("convolution", input, weight, bias, *options)
    pairs = [apply("view_as_real", apply("resolve_conj", t)) for t in (input, weight)]
    parts = [[apply("select.int", pair, -1, k) for k in (0, 1)] for pair in pairs]
    products = [[apply("convolution", left, right, None, *options) for right in parts[1]] for left in parts[0]]
    real = apply("sub.Tensor", products[0][0], products[1][1])
    imaginary = apply("add.Tensor", products[0][1], products[1][0])
    result = apply("view_as_complex", apply("stack", (real, imaginary), -1))
    if bias is None:
        return result
    channel = (bias.meta.numel, *(1,) * (input.meta.ndim - 2))
    return apply("add.Tensor", result, apply("reshape", bias, channel))


def _in_batch(name: str, dims: int, input: Tensor, run: Callable[[Tensor], Tensor]) -> Tensor:
    """The convolution of an input with or without batch. Raises RuntimeError for other numbers of dims."""
    ndim = input.meta.ndim
    if ndim == dims + 2:
        return run(input)
    if ndim != dims + 1:
        raise RuntimeError(
            f"{name}(): Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {name}, but got input of "
            f"size: {list(input.meta.sizes)}"
        )
    return apply("squeeze.dim", run(apply("unsqueeze", input, 0)), 0)


def _convolve(dims: int) -> Callable[..., Tensor]:
    name = f"conv{dims}d"

    @plannable
    def conv(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Ints = (1,),
        padding: Ints | str = (0,),
        dilation: Ints = (1,),
        groups: int = 1,
    ) -> Tensor | Planned[Tensor]:
        if isinstance(padding, str):
            given = (weight, bias, stride, padding, dilation, groups)
            return _in_batch(name, dims, input, lambda batch: _named_padding(name, batch, *given))
        options = (stride, padding, dilation, False, (0,) * dims, groups)
        if input.meta.ndim == dims + 2 and not input.meta.dtype.is_complex:
            return planned("convolution", input, weight, bias, *options)
        return _in_batch(name, dims, input, lambda batch: convolved(batch, weight, bias, *options))

    return conv


def _named_padding(
    name: str, input: Tensor, weight: Tensor, bias: Any, stride: Ints, padding: str, dilation: Ints, groups: int
) -> Tensor:
    kernel = weight.meta.sizes[2:]
    dims = len(kernel)
    nothing = (0,) * dims
    if padding == "valid":
        return convolved(input, weight, bias, stride, nothing, dilation, False, nothing, groups)
    if padding != "same":
        raise RuntimeError(f"{name}(): Invalid padding string: '{padding}', expected 'valid' or 'same'")
    if any(step != 1 for step in stride):
        raise RuntimeError(
            f"{name}(): padding='same' is not supported for strided convolutions, got stride={list(stride)}"
        )
    spread = repeated(name, "dilation", dilation, dims)
    totals = [d * (k - 1) for d, k in zip(spread, kernel, strict=True)]
    before = [total // 2 for total in totals]
    surplus = [total - 2 * half for total, half in zip(totals, before, strict=True)]
    if any(surplus):
        warn_once(f"{name}(): padding='same' with an even kernel and an odd dilation may need a padded copy")
        input = apply("constant_pad_nd", input, [n for extra in reversed(surplus) for n in (0, extra)], 0)
    return convolved(input, weight, bias, stride, before, dilation, False, nothing, groups)


def _spread(dims: int) -> Callable[..., Tensor]:
    name = f"conv_transpose{dims}d"

    def conv_transpose(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Ints = (1,),
        padding: Ints = (0,),
        output_padding: Ints = (0,),
        groups: int = 1,
        dilation: Ints = (1,),
    ) -> Tensor:
        options = (stride, padding, dilation, True, output_padding, groups)
        return _in_batch(name, dims, input, lambda batch: convolved(batch, weight, bias, *options))

    return conv_transpose


conv1d, conv2d, conv3d = (_convolve(dims) for dims in (1, 2, 3))
conv_transpose1d, conv_transpose2d, conv_transpose3d = (_spread(dims) for dims in (1, 2, 3))
