"""Linear maps, the bilinear form, and scaled dot product attention."""

from __future__ import annotations

import math

from ...core.device import cpu
from ...core.dtype import bool_, float32
from ...core.promotion import UPSTREAM_NAMES
from ...tensor.blocked_tensor import BlockedTensor
from ...tensor.tensor import Tensor
from ..composition import Part, composite
from ..invoke import apply, expand
from ..matrix_multiplication import HALF
from ..operand_checks import check_implemented
from ..products import scaled_call


@composite
def linear(part: Part, input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weight.T + bias. Raises RuntimeError for sizes and dtypes that do not fit."""
    if isinstance(input, BlockedTensor):
        return apply("mkldnn_linear", input, weight, bias)
    if not input.meta.ndim or not weight.meta.ndim:
        raise RuntimeError(
            f"linear(): both arguments to linear need to be at least 1D, but they are {input.meta.ndim}D and "
            f"{weight.meta.ndim}D"
        )
    turned, own = part("t", weight), input.meta
    if bias is None:
        return part("matmul", input, turned)
    if own.ndim == 2 == weight.meta.ndim and bias.meta.ndim < 2 and own.dtype in HALF:
        return part("addmm", bias, input, turned)
    plain = all(
        one.meta.device is cpu and not (one.meta.has_autograd or one.meta.lazy or one.class_keys)
        for one in (input, weight, bias)
    )
    if weight.meta.ndim == 2 and own.sizes[-1] == weight.meta.sizes[-1] and own.dtype not in HALF and plain:
        call = scaled_call("linear", bias, input, turned, (*own.sizes[:-1], weight.meta.sizes[0]), 1, 1)
        result: Tensor = part.fresh(call, bias, input, turned)
        return result
    product = part("matmul", input, turned)
    if not bias.class_keys:
        expand(bias, product.meta.sizes)  # raises for a bias that does not broadcast
    return part("add.Tensor", product, bias)


@composite
def bilinear(part: Part, input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """sum over i, j of input1[..., i] weight[k, i, j] input2[..., j], plus bias[k]. Raises RuntimeError for sizes."""
    first, second = input1.meta.sizes, input2.meta.sizes
    if len(first) != len(second):
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {len(first)} and {len(second)}")
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
    matrix = part("reshape", part("permute", weight, (1, 0, 2)), (left, outputs * right))
    partial = part("reshape", part("matmul", input1, matrix), (*first[:-1], outputs, right))
    result = part("squeeze.dim", part("matmul", partial, part("unsqueeze", input2, -1)), -1)
    return result if bias is None else part("add.Tensor", result, bias)


def _check(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, is_causal: bool) -> None:
    name = "scaled_dot_product_attention"
    dtypes = [tensor.meta.dtype for tensor in (query, key, value)]
    if len(set(dtypes)) != 1:
        raise RuntimeError(
            f"{name}(): Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{UPSTREAM_NAMES[dtypes[0].name]} key.dtype: {UPSTREAM_NAMES[dtypes[1].name]} and value.dtype: "
            f"{UPSTREAM_NAMES[dtypes[2].name]} instead."
        )
    check_implemented(name, dtypes[0], dtypes[0].kind > 1)
    counts = [tensor.meta.ndim for tensor in (query, key, value)]
    if min(counts) < 2:
        raise RuntimeError(
            f"{name}(): Expected query, key, and value to all be at least 2 dimensional, but got query.dim: "
            f"{counts[0]}, key.dim: {counts[1]} and value.dim: {counts[2]} instead."
        )
    if attn_mask is None:
        return
    if is_causal:
        raise RuntimeError(f"{name}(): Explicit attn_mask should not be set when is_causal=True")
    kind = attn_mask.meta.dtype
    if kind is not bool_ and kind is not dtypes[0] and kind.name != "float32":
        raise RuntimeError(
            f"{name}(): Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
            f"{UPSTREAM_NAMES[kind.name]} and query.dtype: {UPSTREAM_NAMES[dtypes[0].name]} instead."
        )


def _grouped(part: Part, query: Tensor, other: Tensor) -> Tensor:
    """The heads of keys or values repeated until there is one for each head of the queries."""
    if min(query.meta.ndim, other.meta.ndim) < 3:
        raise RuntimeError("scaled_dot_product_attention(): enable_gqa needs a head dim before the last two dims")
    heads, own = query.meta.sizes[-3], other.meta.sizes[-3]
    if heads == own:
        return other
    if not own or heads % own:
        raise RuntimeError(
            f"scaled_dot_product_attention(): Number of heads in key and value must divide the number of heads in "
            f"query, got {own} and {heads}"
        )
    return part("repeat_interleave.self_int", other, heads // own, -3)


@composite
def scaled_dot_product_attention(
    part: Part, query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
    is_causal: bool = False, *, scale: float | None = None, enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    """softmax(query key.T scale + mask) value over the last two dims; scale is 1 / sqrt(width) if not given.

    A bool mask names what is attended to, another is added; `is_causal` attends to no later place. Rows that attend to
    nothing give 0. `enable_gqa` repeats heads of key and value. Half precision is computed
    in float32. Raises RuntimeError for what does not fit.
    """
    _check(query, key, value, attn_mask, is_causal)
    if enable_gqa:
        key, value = _grouped(part, query, key), _grouped(part, query, value)
    own = query.meta.dtype
    if own.itemsize == 2:
        query, key, value = (part("to.dtype", tensor, float32) for tensor in (query, key, value))
    width = query.meta.sizes[-1]
    factor = (1.0 / math.sqrt(width) if width else 1.0) if scale is None else scale
    scores = part("matmul", part("mul.Scalar", query, factor), part("transpose.int", key, -2, -1))
    empty_rows = attn_mask is not None and scores.meta.numel
    if is_causal:
        attn_mask = part("tril", part("new_ones", scores, scores.meta.sizes[-2:], dtype=bool_))
    if attn_mask is not None and attn_mask.meta.dtype is bool_:
        scores = part("where.ScalarOther", attn_mask, scores, -math.inf)
    elif attn_mask is not None:
        scores = part("add.Tensor", scores, part("to.dtype", attn_mask, scores.meta.dtype))
    weights = part("softmax.int", scores, -1)
    if empty_rows:
        nothing = part("eq.Scalar", part("amax", scores, (-1,), True), -math.inf)
        weights = part("where.ScalarSelf", nothing, 0, weights)
    if dropout_p > 0.0:
        weights = part("dropout", weights, dropout_p, True)
    result = part("matmul", weights, value)
    return part("to.dtype", result, own) if own.itemsize == 2 else result
