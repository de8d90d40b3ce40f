"""Operators of tensors with one scale and one zero point, each in terms of the same operator of strided tensors.

Operators that move or compare elements work on the integers, since a greater integer stands for a greater number. The
others work on the numbers and round the result, by the quantizer of the tensor or by one that the operator brings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gaugeblock_spec.schema import parse

from ..core.dtype import float32, float64
from ..core.quantized_dtype import QuantizedDType, qint8, qint32, quint8
from ..operators.invoke import apply
from ..operators.rows import rows
from ..tensor.tensor import Tensor
from .conversion import (
    as_tensor,
    dequantize,
    fill_per_tensor,
    int_repr,
    like_meta,
    make_per_tensor,
    per_tensor_quantizer,
)
from .kernels import clone, copy_, empty_like, fill_
from .quantizer import PerTensor, data_of, empty_quantized, quantizer_of

Kernel = Callable[..., Any]

MOVING = """
    index_select index.Tensor flip rot90 repeat tile roll reflection_pad1d reflection_pad2d reflection_pad3d
    pixel_shuffle pixel_unshuffle channel_shuffle fliplr flipud max min max.dim min.dim sort sort.stable topk embedding
    alias_copy detach_copy diagonal_copy expand_copy narrow_copy permute_copy select_copy.int slice_copy.Tensor
    split_copy.Tensor split_with_sizes_copy squeeze_copy squeeze_copy.dim squeeze_copy.dims t_copy transpose_copy.int
    unbind_copy.int unfold_copy unsqueeze_copy view_copy as_strided_copy
""".split()
"""Operators that take elements, or the greatest of them, as they are."""
ROUNDED = """
    threshold gelu leaky_relu _prelu_kernel mean mean.dim std std.dim std.correction
""".split()
"""Operators whose results are quantized as the tensor is."""
BOUNDED: dict[str, Callable[..., tuple[Any, Any]]] = {
    "relu": lambda: (0, None), "relu6": lambda: (0, 6), "hardtanh": lambda min_val=-1, max_val=1: (min_val, max_val),
    "clamp": lambda min=None, max=None: (min, max), "clamp_min": lambda min: (min, None),
    "clamp_max": lambda max: (None, max),
}  # fmt: skip
"""Operators that clamp -> the function that gives the bounds for their arguments."""
AVERAGING = """
    avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d upsample_bilinear2d
    upsample_nearest1d upsample_nearest2d upsample_nearest3d _upsample_nearest_exact1d _upsample_nearest_exact2d
    _upsample_nearest_exact3d max_pool1d max_pool2d max_pool3d
""".split()
"""Operators whose results are averages or extremes of neighbours. They are taken of the integers, as floating numbers,
and rounded to the nearest, half to even."""
SCATTERING = {
    "select_scatter": "select.int", "slice_scatter": "slice.Tensor", "diagonal_scatter": "diagonal",
    "as_strided_scatter": "as_strided",
}  # fmt: skip
"""Operators that write to a view of a copy -> the operator that makes the view."""
COMPARING = [f"{name}.{kind}" for name in ("eq", "ne", "lt", "le", "gt", "ge") for kind in ("Tensor", "Scalar")]
"""Comparisons of the numbers, which give bool."""
FILLING = {"constant_pad_nd": "value", "masked_fill.Scalar": "value"}
"""Operators that move elements and fill places -> the argument with the number that they are filled with."""
UNIT = {quint8: PerTensor(1 / 256, 0), qint8: PerTensor(1 / 256, -128), qint32: PerTensor(1 / 2**32, -(2**31))}
"""Quantizers for results in [0, 1]."""
SIGNED_UNIT = {quint8: PerTensor(1 / 128, 128), qint8: PerTensor(1 / 128, 0), qint32: PerTensor(1 / 2**31, 0)}
"""Quantizers for results in [-1, 1]."""
BRINGING = {"sigmoid": UNIT, "hardsigmoid": UNIT, "tanh": SIGNED_UNIT}
"""Operators whose results have the same range for every tensor -> their quantizers."""


def on_integers(name: str) -> Kernel:
    """Return the kernel that runs an operator on the integers. All results of a list, or the first of a named tuple,
    keep the quantizer."""

    def kernel(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        quantizer = per_tensor_quantizer(name, self)
        found = apply(name, int_repr(self), *args, **kwargs)
        if isinstance(found, tuple) and hasattr(found, "_fields"):
            return type(found)(*(make_per_tensor(found[0], *quantizer), *found[1:]))
        if isinstance(found, list | tuple):
            return type(found)([make_per_tensor(one, *quantizer) for one in found])
        return make_per_tensor(found, *quantizer)

    return kernel


def filling(name: str, filled: str) -> Kernel:
    """Return the kernel that runs an operator on the integers and quantizes the number that it fills places with."""
    arguments = parse(rows()[name].schema).arguments[1:]
    names = [argument.name for argument in arguments]
    defaults = {argument.name: argument.default_value for argument in arguments if argument.default is not None}

    def kernel(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        quantizer, dtype = per_tensor_quantizer(name, self), self.meta.dtype
        assert isinstance(dtype, QuantizedDType)
        given = {**defaults, **dict(zip(names, args, strict=False)), **kwargs}
        given[filled] = integer_of(given[filled], dtype, quantizer)
        return make_per_tensor(apply(name, int_repr(self), *[given[one] for one in names]), *quantizer)

    return kernel


def integer_of(number: Any, dtype: QuantizedDType, quantizer: PerTensor) -> int:
    """Return the integer that stands for a number."""
    found: int = int_repr(quantized(as_tensor([number], float32), dtype, quantizer)).item()  # type: ignore[attr-defined]
    return found


def bounded(name: str, bounds: Callable[..., tuple[Any, Any]]) -> Kernel:
    """Return the kernel that clamps the integers to the quantized bounds."""

    def kernel(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        quantizer, dtype = per_tensor_quantizer(name, self), self.meta.dtype
        assert isinstance(dtype, QuantizedDType)
        limits = [None if one is None else integer_of(one, dtype, quantizer) for one in bounds(*args, **kwargs)]
        return make_per_tensor(apply("clamp", int_repr(self), *limits), *quantizer)

    return kernel


def on_numbers(name: str, quantizers: dict[QuantizedDType, PerTensor] | None = None) -> Kernel:
    """Return the kernel that runs an operator on the numbers and quantizes the result."""

    def kernel(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        quantizer = per_tensor_quantizer(name, self)
        dtype = self.meta.dtype
        assert isinstance(dtype, QuantizedDType)
        found = apply(name, dequantize(self), *map(_number, args), **kwargs)
        return quantized(found, dtype, quantizer if quantizers is None else quantizers[dtype])

    return kernel


def on_average(name: str) -> Kernel:
    """Return the kernel that runs an operator on the integers as numbers and rounds the result."""

    def kernel(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        quantizer = per_tensor_quantizer(name, self)
        integers, dtype = int_repr(self), self.meta.dtype
        assert isinstance(dtype, QuantizedDType)
        wide = float64 if dtype is qint32 else float32
        beyond = apply("sub.Scalar", apply("to.dtype", integers, wide), quantizer.zero_point)
        average = apply("add.Scalar", apply(name, beyond, *args, **kwargs), quantizer.zero_point)
        held = apply("clamp", apply("round", average), dtype.lowest, dtype.highest)
        return make_per_tensor(apply("to.dtype", held, integers.meta.dtype), *quantizer)

    return kernel


def compared(name: str) -> Kernel:
    """Return the kernel that compares the numbers that tensors stand for."""

    def kernel(*operands: Any) -> Tensor:
        found: Tensor = apply(name, *[_number(one) for one in operands])
        return found

    return kernel


def _number(operand: Any) -> Any:
    return dequantize(operand) if isinstance(operand, Tensor) and operand.meta.dtype.quantized else operand


def inplace(kernel: Kernel) -> Kernel:
    """Return the in-place form of a kernel."""

    def write(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return copy_(self, kernel(self, *args, **kwargs))

    return write


def quantized(values: Tensor, dtype: QuantizedDType, quantizer: PerTensor) -> Tensor:
    """Return a tensor of float32 as a quantized one."""
    made = empty_quantized(like_meta(values.meta, dtype), quantizer)
    fill_per_tensor(made, values, *quantizer)
    return made


def joining(name: str) -> Kernel:
    """Return the kernel of `cat` or `stack`, whose result has the quantizer of the first tensor."""

    def kernel(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
        first = tensors[0]
        quantizer = per_tensor_quantizer(name, first)
        for position, one in enumerate(tensors):
            if one.meta.dtype is not first.meta.dtype:
                raise RuntimeError(
                    f"{name}(): expected tensors of {first.meta.dtype} as the first, got {one.meta.dtype} at position "
                    f"{position}"
                )
        if all(quantizer_of(one) == quantizer for one in tensors):
            return make_per_tensor(apply(name, [int_repr(one) for one in tensors], dim), *quantizer)
        dtype = first.meta.dtype
        assert isinstance(dtype, QuantizedDType)
        return quantized(apply(name, [dequantize(one) for one in tensors], dim), dtype, quantizer)

    return kernel


def scattering(view: str) -> Kernel:
    """Return the kernel that writes numbers to a view of a copy."""

    def kernel(self: Tensor, src: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        made = clone(self)
        copy_(apply(view, made, *args, **kwargs), src)
        return made

    return kernel


def filled(self: Tensor, value: Any) -> Tensor:
    """Return a copy filled with a number."""
    return fill_(clone(self), value)


def masked_fill(self: Tensor, mask: Tensor, value: Tensor) -> Tensor:
    """Return a copy with the quantized value of a 0-dim tensor where `mask` is True."""
    found: Tensor = apply("masked_fill.Scalar", self, mask, _number(value).item())
    return found


def index_put_(self: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False) -> Tensor:
    """Quantize `values`, of float32, and write them to the elements at `indices`. Raises RuntimeError for quantized
    values and for `accumulate`."""
    quantizer, dtype = per_tensor_quantizer("index_put_", self), self.meta.dtype
    if values.meta.dtype.quantized:
        raise RuntimeError("index_put_(): argument 'values' should not be quantized")
    if accumulate:
        raise RuntimeError("index_put_(): argument 'accumulate' must be False for a quantized tensor")
    assert isinstance(dtype, QuantizedDType)
    apply("index_put_", data_of(self), indices, int_repr(quantized(values, dtype, quantizer)))
    return self


def full_like(self: Tensor, fill_value: Any, **options: Any) -> Tensor:
    """Return a fresh tensor with the quantizer of `self`, filled with a number."""
    return fill_(empty_like(self, **options), fill_value)


def ones_like(self: Tensor, **options: Any) -> Tensor:
    """Return a fresh tensor with the quantizer of `self`, filled with 1."""
    return fill_(empty_like(self, **options), 1)


def zeros_like(self: Tensor, **options: Any) -> Tensor:
    """Return a fresh tensor with the quantizer of `self`, filled with 0."""
    return fill_(empty_like(self, **options), 0)


def fresh() -> dict[str, Kernel]:
    """Return the kernels that give new tensors."""
    return {
        **{name: on_integers(name) for name in MOVING},
        **{name: filling(name, filled) for name, filled in FILLING.items()},
        **{name: on_numbers(name) for name in ROUNDED},
        **{name: bounded(name, bounds) for name, bounds in BOUNDED.items()},
        **{name: on_numbers(name, quantizers) for name, quantizers in BRINGING.items()},
        **{name: on_average(name) for name in AVERAGING},
        **{name: compared(name) for name in COMPARING},
        **{name: joining(name) for name in ("cat", "stack")},
        **{name: scattering(view) for name, view in SCATTERING.items()}, "fill.Scalar": filled, "fill.Tensor": filled,
        "masked_fill.Tensor": masked_fill, "full_like": full_like, "ones_like": ones_like, "zeros_like": zeros_like,
    }  # fmt: skip


def kernels() -> dict[str, Kernel]:
    """Return operator -> kernel, with the in-place forms of those whose results the tensor can hold."""
    made = fresh()
    written = [name for name in ("masked_fill.Tensor", *FILLING, *ROUNDED, *BOUNDED) if rows()[name].inplace_name]
    inplace_forms = {str(rows()[name].inplace_name): inplace(made[name]) for name in written}
    return {**made, **inplace_forms, "fill_.Tensor": fill_, "index_put_": index_put_}
