"""Normalizations with torch.nn.functional's signatures."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ..calls.functions import ops
from ..core.errors import type_error
from ..tensor.tensor import Tensor

Maybe = Tensor | None


def _check_count(operator_name: str, count: int, sizes: Sequence[int], of: str) -> None:
    if count == 1:
        raise ValueError(f"{operator_name}(): Expected more than 1 {of} when training, got input size {list(sizes)}")


def batch_norm(
    input: Tensor, running_mean: Maybe, running_var: Maybe, weight: Maybe = None, bias: Maybe = None,
    training: bool = False, momentum: float = 0.1, eps: float = 1e-5,
) -> Any:  # fmt: skip
    """Each channel normalized over the batch. Raises ValueError for one value per channel in training."""
    if training:
        sizes = input.shape
        _check_count("batch_norm", prod((sizes[0], *sizes[2:])), sizes, "value per channel")
    return ops.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, True)


def instance_norm(
    input: Tensor, running_mean: Maybe = None, running_var: Maybe = None, weight: Maybe = None, bias: Maybe = None,
    use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5,
) -> Any:  # fmt: skip
    """Each channel of each sample normalized. Raises ValueError for one spatial element."""
    if use_input_stats:
        _check_count("instance_norm", prod(input.shape[2:]), input.shape, "spatial element")
    return ops.instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True)


def _shape(name: str, normalized_shape: Sequence[int]) -> tuple[int, ...]:
    """Return the sizes of the dims to normalize over. Raise TypeError unless they are a sequence; an int is none."""
    if not isinstance(normalized_shape, list | tuple):
        type_error(name, "normalized_shape", normalized_shape, "a tuple of ints")
    return tuple(normalized_shape)


def layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Maybe = None, bias: Maybe = None, eps: float = 1e-5
) -> Any:
    """Normalized over the last dims, which have the sizes `normalized_shape`."""
    return ops.layer_norm(input, _shape("layer_norm", normalized_shape), weight, bias, eps, True)


def rms_norm(input: Tensor, normalized_shape: Sequence[int], weight: Maybe = None, eps: float | None = None) -> Any:
    """Divided by the root of the mean square over the last dims."""
    return ops.rms_norm(input, _shape("rms_norm", normalized_shape), weight, eps)


def group_norm(input: Tensor, num_groups: int, weight: Maybe = None, bias: Maybe = None, eps: float = 1e-5) -> Any:
    """Groups of channels of each sample normalized. Raises ValueError for one value per group, RuntimeError without
    channels."""
    sizes = input.shape
    if len(sizes) < 2:
        raise RuntimeError(f"group_norm(): Expected at least 2 dimensions for input tensor but received {len(sizes)}")
    if num_groups > 0:
        values = sizes[0] * sizes[1] // num_groups * prod(sizes[2:])
        _check_count("group_norm", values, sizes, "value per channel")
    return ops.group_norm(input, num_groups, weight, bias, eps, True)


def normalize(input: Any, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Maybe = None) -> Any:
    """input divided by its norm along a dim, which is taken as `eps` at least."""
    norm = ops.norm(input, p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    return ops.div(input, norm) if out is None else ops.div(input, norm, out=out)


def local_response_norm(input: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Any:
    """input / (k + alpha * mean of squares over `size` neighbouring channels)**beta. Raises ValueError below 3 dims."""
    sizes = input.shape
    if len(sizes) < 3:
        raise ValueError(
            f"local_response_norm(): Expected 3D or higher dimensionality input (got {len(sizes)} dimensions)"
        )
    if not input.numel():
        return input
    squares = (input * input).reshape(sizes[0], 1, sizes[1], prod(sizes[2:]))
    padded = ops.constant_pad_nd(squares, (0, 0, size // 2, (size - 1) // 2))
    mean = ops.avg_pool2d(padded, (size, 1), 1).reshape(sizes)
    return input / (mean * alpha + k) ** beta
