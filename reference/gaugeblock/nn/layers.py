"""Modules with parameters: Linear, Conv1d to Conv3d, Embedding, and the normalizations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Self

from ..calls.functions import ops
from ..core.dtype import int64
from ..core.errors import type_error
from ..tensor.tensor import Tensor
from . import functional
from .module import Module
from .parameter import Parameter

F: Any = functional
"""The functions, some of which have the names of modules of this package."""
PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class Layer(Module):
    """Base class of modules that make their parameters: `weight`, and `bias` or None."""

    weight: Any
    bias: Any

    def _make(self, weight: Sequence[int] | None, bias: Sequence[int] | None, device: Any, dtype: Any) -> None:
        """Make the parameters of these sizes, None for none, and fill them."""
        for name, sizes in (("weight", weight), ("bias", bias)):
            made = None if sizes is None else Parameter(ops.empty(*sizes, device=device, dtype=dtype))
            self.register_parameter(name, made)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Fill the parameters anew: weights with ones and biases with zeros, unless a class draws them."""
        for parameter, number in ((self.weight, 1.0), (self.bias, 0.0)):
            if parameter is not None:
                parameter.data.fill_(number)

    def _draw(self, inputs: int) -> None:
        """Draw weight and bias from U(-b, b) with b = 1 / sqrt(inputs)."""
        bound = 1 / math.sqrt(inputs) if inputs > 0 else 0.0
        for parameter in self.parameters():
            parameter.data.uniform_(-bound, bound)  # type: ignore[attr-defined]


class Linear(Layer):
    """Computes ``x @ weight.T + bias`` for x of shape ``(*, in_features)``. Weight and bias are drawn from U(-b, b)
    with b = 1 / sqrt(in_features). Source: torch.nn.Linear."""

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self._make((out_features, in_features), (out_features,) if bias else None, device, dtype)

    def reset_parameters(self) -> None:
        """Draw new values for weight and bias."""
        self._draw(self.in_features)

    def forward(self, input: Tensor) -> Any:
        """Return ``input @ weight.T + bias``, of shape ``(*, out_features)``."""
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Return the sizes and whether there is a bias, as text."""
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Convolution(Layer):
    """Base class of convolutions over `ndim` dims, behind those of the batch and of the channels.

    `padding` is a number for each dim, "valid" or "same"; `padding_mode` is "zeros", "reflect", "replicate" or
    "circular". Weight and bias are drawn from U(-b, b) with b = 1 / sqrt(in_channels / groups * elements of a kernel).
    Raises ValueError for groups that do not divide the channels, another padding or mode, and "same" with strides.
    """

    ndim: ClassVar[int]

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: int | Sequence[int], stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] | str = 0, dilation: int | Sequence[int] = 1, groups: int = 1, bias: bool = True,
        padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        for name, channels in (("in_channels", in_channels), ("out_channels", out_channels)):
            if channels % groups:
                raise ValueError(f"{name} must be divisible by groups")
        if isinstance(padding, str) and padding not in ("same", "valid"):
            raise ValueError(f"Invalid padding string {padding!r}, should be one of 'same', 'valid'")
        if padding_mode not in PADDING_MODES:
            raise ValueError(f"padding_mode must be one of {PADDING_MODES}, but got padding_mode='{padding_mode}'")
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride = self._each("kernel_size", kernel_size), self._each("stride", stride)
        self.dilation = self._each("dilation", dilation)
        self.padding = padding if isinstance(padding, str) else self._each("padding", padding)
        self.padding_mode = padding_mode
        if padding == "same" and any(step != 1 for step in self.stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
        sizes = (out_channels, in_channels // groups, *self.kernel_size)
        self._make(sizes, (out_channels,) if bias else None, device, dtype)

    def _each(self, name: str, value: Any) -> tuple[int, ...]:
        """Return a number for each dim."""
        if isinstance(value, int):
            return (value,) * self.ndim
        if not isinstance(value, (tuple, list)) or len(value) not in (1, self.ndim):
            type_error(type(self).__name__, name, value, f"int or {self.ndim} ints")
        return tuple(value) * (self.ndim // len(value))

    def reset_parameters(self) -> None:
        """Draw new values for weight and bias."""
        self._draw(self.in_channels // self.groups * math.prod(self.kernel_size))

    def _around(self) -> list[int]:
        """Return what is added before and behind each dim, the last one first, as `pad` takes it."""
        pairs: list[tuple[int, int]] = []
        for size, step, dim in zip(self.kernel_size, self.dilation, range(self.ndim), strict=True):
            if self.padding == "same":
                whole = step * (size - 1)
                pairs.append((whole // 2, whole - whole // 2))
            else:
                amount = 0 if isinstance(self.padding, str) else self.padding[dim]
                pairs.append((amount, amount))
        return [amount for pair in reversed(pairs) for amount in pair]

    def forward(self, input: Any) -> Any:
        """Return the convolution of the input, of shape ``(batch, in_channels, *sizes)`` or without the batch."""
        convolve, padding = getattr(F, f"conv{self.ndim}d"), self.padding
        if self.padding_mode != "zeros":
            input, padding = F.pad(input, self._around(), mode=self.padding_mode), (0,) * self.ndim
        return convolve(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)

    def extra_repr(self) -> str:
        """Return the sizes, and the options that are not the defaults, as text."""
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        usual = {"padding": (0,) * self.ndim, "dilation": (1,) * self.ndim, "groups": 1}
        text += "".join(
            f", {name}={getattr(self, name)}" for name, value in usual.items() if getattr(self, name) != value
        )
        text += "" if self.bias is not None else ", bias=False"
        return text if self.padding_mode == "zeros" else f"{text}, padding_mode={self.padding_mode}"


class Conv1d(Convolution):
    """Convolution over one dim, see Convolution. Source: torch.nn.Conv1d."""

    ndim = 1


class Conv2d(Convolution):
    """Convolution over two dims, see Convolution. Source: torch.nn.Conv2d."""

    ndim = 2


class Conv3d(Convolution):
    """Convolution over three dims, see Convolution. Source: torch.nn.Conv3d."""

    ndim = 3


class Embedding(Layer):
    """Rows of a table of `num_embeddings` rows of `embedding_dim` elements, drawn from N(0, 1); the row `padding_idx`
    holds zeros and gets no gradient.

    With `max_norm` the rows that are read are scaled in place to at most that norm of order `norm_type`.
    Raises ValueError for a `padding_idx` outside the table. Source: torch.nn.Embedding.
    """

    bias = None

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, max_norm: float | None = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False, _weight: Tensor | None = None,
        _freeze: bool = False, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise ValueError("Padding_idx must be within num_embeddings")
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = padding_idx % num_embeddings if padding_idx is not None else None
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        if _weight is None:
            self.weight = Parameter(ops.empty(num_embeddings, embedding_dim, device=device, dtype=dtype), not _freeze)
            self.reset_parameters()
        elif tuple(_weight.meta.sizes) != (num_embeddings, embedding_dim):
            raise ValueError("Shape of weight does not match num_embeddings and embedding_dim")
        else:
            self.weight = Parameter(_weight, not _freeze)

    @classmethod
    def from_pretrained(
        cls, embeddings: Tensor, freeze: bool = True, padding_idx: int | None = None, max_norm: float | None = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
    ) -> Self:  # fmt: skip
        """Return the module of a given table, which gets no gradient unless `freeze` is false. ValueError unless it has
        two dims."""
        if embeddings.meta.ndim != 2:
            raise ValueError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.meta.sizes
        return cls(
            rows, columns, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, embeddings, freeze
        )  # fmt: skip

    def reset_parameters(self) -> None:
        """Draw a new table."""
        self.weight.data.normal_()
        if self.padding_idx is not None:
            self.weight.data[self.padding_idx].zero_()

    def forward(self, input: Tensor) -> Any:
        """Return the rows that the indices in `input` name, of shape ``(*, embedding_dim)``."""
        return F.embedding(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse
        )

    def extra_repr(self) -> str:
        """Return the sizes, and the options that are not the defaults, as text."""
        usual = {
            "padding_idx": None, "max_norm": None, "norm_type": 2.0, "scale_grad_by_freq": False, "sparse": False,
        }  # fmt: skip
        shown = [f"{name}={getattr(self, name)}" for name, value in usual.items() if getattr(self, name) != value]
        return ", ".join([f"{self.num_embeddings}, {self.embedding_dim}", *shown])


class LayerNorm(Layer):
    """Normalizes the last dims, of sizes `normalized_shape`, to mean 0 and variance 1, then scales and shifts each
    element by weight and bias. Source: torch.nn.LayerNorm."""

    def __init__(
        self, normalized_shape: int | Sequence[int], eps: float = 1e-5, elementwise_affine: bool = True,
        bias: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        sizes = self.normalized_shape if elementwise_affine else None
        self._make(sizes, sizes if bias else None, device, dtype)

    def forward(self, input: Tensor) -> Any:
        """Return the normalized input."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Return the options as text."""
        affine = f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        return f"{self.normalized_shape}, eps={self.eps}, {affine}"


class RMSNorm(Layer):
    """Divides the last dims, of sizes `normalized_shape`, by the root of the mean of their squares, then scales each
    element by weight. Source: torch.nn.RMSNorm."""

    def __init__(
        self, normalized_shape: int | Sequence[int], eps: float | None = None, elementwise_affine: bool = True,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self._make(self.normalized_shape if elementwise_affine else None, None, device, dtype)

    def forward(self, input: Tensor) -> Any:
        """Return the normalized input."""
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """Return the options as text."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(Layer):
    """Normalizes groups of channels to mean 0 and variance 1, then scales and shifts each channel by weight and bias.
    Raises ValueError for groups that do not divide the channels. Source: torch.nn.GroupNorm."""

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, device: Any = None,
        dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        sizes = (num_channels,) if affine else None
        self._make(sizes, sizes if bias else None, device, dtype)

    def forward(self, input: Tensor) -> Any:
        """Return the normalized input, of shape ``(batch, num_channels, *)``."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Return the options as text."""
        affine = f"affine={self.affine}, bias={self.bias is not None}"
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, {affine}"


class BatchNormalization(Layer):
    """Base class of the normalizations of each channel over the batch, whose inputs have one of `ndims` dims.

    In training mode the statistics of the batch are used, and running ones are kept as buffers, moved by `momentum`, or
    averaged over all batches if that is None; evaluation uses these. Raises ValueError for another number of dims.
    """

    ndims: ClassVar[tuple[int, ...]]

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
        track_running_stats: bool = True, device: Any = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        made = [ops.empty(num_features, device=device, dtype=dtype) for _ in range(2)] if track_running_stats else []
        counted = ops.zeros((), dtype=int64, device=device) if track_running_stats else None
        for name, buffer in zip(("running_mean", "running_var"), made or (None, None), strict=True):
            self.register_buffer(name, buffer)
        self.register_buffer("num_batches_tracked", counted)
        sizes = (num_features,) if affine else None
        self._make(sizes, sizes if bias else None, device, dtype)

    def reset_running_stats(self) -> None:
        """Set the running statistics to mean 0 and variance 1."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Fill the parameters anew, weights with ones and biases with zeros, and the running statistics."""
        self.reset_running_stats()
        super().reset_parameters()

    def forward(self, input: Any) -> Any:
        """Return the normalized input, of shape ``(batch, num_features, *)``."""
        if input.ndim not in self.ndims:
            expected = " or ".join(f"{ndim}D" for ndim in self.ndims)
            raise ValueError(f"expected {expected} input (got {input.ndim}D input)")
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                momentum = 1.0 / float(self.num_batches_tracked)
        of_batch = self.training or self.running_mean is None
        kept = (self.running_mean, self.running_var) if not self.training or self.track_running_stats else (None, None)
        return F.batch_norm(input, *kept, self.weight, self.bias, of_batch, momentum, self.eps)

    def extra_repr(self) -> str:
        """Return the options as text."""
        affine = f"affine={self.affine}, bias={self.bias is not None}"
        tracked = f"track_running_stats={self.track_running_stats}"
        return f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, {affine}, {tracked}"


class BatchNorm1d(BatchNormalization):
    """Of vectors or sequences, see BatchNormalization. Source: torch.nn.BatchNorm1d."""

    ndims = (2, 3)


class BatchNorm2d(BatchNormalization):
    """Of images, see BatchNormalization. Source: torch.nn.BatchNorm2d."""

    ndims = (4,)


class BatchNorm3d(BatchNormalization):
    """Of volumes, see BatchNormalization. Source: torch.nn.BatchNorm3d."""

    ndims = (5,)
