"""Linear maps: products with the transposed weight, and the bilinear form."""

from __future__ import annotations

from collections.abc import Callable

from ...core.dtype import bfloat16, float16
from ...tensor.tensor import Tensor
from ...tensor.tensor_meta import TensorMeta
from ..invoke import apply
from ..launch import element_launch
from ..plan import Planned, plannable, planned


@plannable
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor | Planned[Tensor]:
    """input @ weight.T + bias. Raises RuntimeError for sizes and dtypes that do not fit."""
    if not input.meta.ndim or not weight.meta.ndim:
        raise RuntimeError(
            f"linear(): both arguments to linear need to be at least 1D, but they are {input.meta.ndim}D and "
            f"{weight.meta.ndim}D"
        )
    turned = apply("t", weight)
    if bias is None:
        product = planned("matmul", input, turned)
        return Planned(product.result, None if product.call is None else _without_bias(product.call))
    if input.meta.ndim == 2 and weight.meta.ndim == 2 and input.meta.dtype in (float16, bfloat16):
        return apply("addmm", bias, input, turned)
    result, multiply, *_ = planned("matmul", input, turned)
    addend = apply("expand", bias, result.meta.sizes)
    call = None if multiply is None else _with_bias(multiply, result.meta, addend.meta)
    apply("add_.Tensor", result, addend)
    return Planned(result, call)


def _with_bias(
    multiply: Callable[[Tensor, Tensor], Tensor], out: TensorMeta, addend: TensorMeta
) -> Callable[..., Tensor | None] | None:
    """Return the product's call with the addition of the bias to its result."""
    if addend.lazy or addend.dtype is not out.dtype:
        return None
    launch = element_launch("add", out, [out, addend], out.dtype)
    if launch is None:
        return None
    add, tail = launch.call()

    def run(input: Tensor, weight: Tensor, bias: Tensor) -> Tensor | None:
        result = multiply(input, weight)
        if result is None:
            return None
        add(result.pointer, result.pointer, bias.pointer, *tail)
        return result

    return run


def _without_bias(multiply: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    """Return the product's call, which takes the weight for its transpose: both begin at the same address."""
    return lambda input, weight, bias: multiply(input, weight)


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """sum over i, j of input1[..., i] weight[k, i, j] input2[..., j], plus bias[k]. Raises RuntimeError for sizes."""
    first, second = input1.meta.sizes, input2.meta.sizes
    if len(first) != len(second):
        raise RuntimeError(
            f"bilinear(): input dimensions do not match: got {len(first)} and {len(second)}"
        )
    for d, (a, b) in enumerate(zip(first[:-1], second[:-1], strict=True)):
        if a != b:
            raise RuntimeError(f"bilinear(): input batch dimensions do not match at dim {d}: got {a} and {b}")
    if not first or len(weight.meta.sizes) != 3:
        raise RuntimeError(
            f"bilinear(): expected inputs of at least 1 dim and a 3-D weight, got {len(first)} and "
            f"{len(weight.meta.sizes)} dims"
        )
    outputs, left, right = weight.meta.sizes
    for name, got, wanted in (("input1", first[-1], left), ("input2", second[-1], right)):
        if got != wanted:
            raise RuntimeError(f"bilinear(): {name} size does not match weight size: got {got} but expected {wanted}")
    if bias is not None and bias.meta.sizes[:1] != (outputs,):
        given = bias.meta.sizes[0] if bias.meta.ndim == 1 else list(bias.meta.sizes)
        raise RuntimeError(f"bilinear(): bias size does not match weight size: got {given} but expected {outputs}")
    matrix = apply("reshape", apply("permute", weight, (1, 0, 2)), (left, outputs * right))
    partial = apply("reshape", apply("matmul", input1, matrix), (*first[:-1], outputs, right))
    result = apply("squeeze.dim", apply("matmul", partial, apply("unsqueeze", input2, -1)), -1)
    return result if bias is None else apply("add.Tensor", result, bias)
