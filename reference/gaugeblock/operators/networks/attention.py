"""Scaled dot product attention."""

from __future__ import annotations

import math

from ...core.dtype import bool_, float32
from ...core.promotion import UPSTREAM_NAMES
from ...tensor.tensor import Tensor
from ..invoke import apply


def _check(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, is_causal: bool) -> None:
    name = "scaled_dot_product_attention"
    dtypes = [tensor.meta.dtype for tensor in (query, key, value)]
    if len(set(dtypes)) != 1:
        raise RuntimeError(
            f"{name}(): Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{UPSTREAM_NAMES[dtypes[0].name]} key.dtype: {UPSTREAM_NAMES[dtypes[1].name]} and value.dtype: "
            f"{UPSTREAM_NAMES[dtypes[2].name]} instead."
        )
    if dtypes[0].kind < 2:
        raise NotImplementedError(f"\"{name}\" not implemented for '{UPSTREAM_NAMES[dtypes[0].name]}'")
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


def _grouped(query: Tensor, other: Tensor) -> Tensor:
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
    return apply("repeat_interleave.self_int", other, heads // own, -3)


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(query key.T scale + mask) value over the last two dims; scale is 1 / sqrt(width) if not given.

    A bool mask names what is attended to, another is added; `is_causal` attends to no later place. Rows that attend to
    nothing give 0. `enable_gqa` repeats heads of key and value. Half precision is computed
    in float32. Raises RuntimeError for what does not fit.
    """
    _check(query, key, value, attn_mask, is_causal)
    if enable_gqa:
        key, value = _grouped(query, key), _grouped(query, value)
    own = query.meta.dtype
    if own.itemsize == 2:
        query, key, value = (apply("to.dtype", tensor, float32) for tensor in (query, key, value))
    width = query.meta.sizes[-1]
    factor = (1.0 / math.sqrt(width) if width else 1.0) if scale is None else scale
    scores = apply("matmul", apply("mul.Scalar", query, factor), apply("transpose.int", key, -2, -1))
    allowed = _allowed(scores, attn_mask, is_causal)
    if allowed is not None:
        scores = apply("where.ScalarOther", allowed, scores, -math.inf)
    elif attn_mask is not None:
        scores = apply("add.Tensor", scores, apply("to.dtype", attn_mask, scores.meta.dtype))
    weights = apply("softmax.int", scores, -1)
    if attn_mask is not None or is_causal:
        nothing = apply("eq.Scalar", apply("amax", scores, (-1,), True), -math.inf) if scores.meta.numel else None
        if nothing is not None:
            weights = apply("where.ScalarSelf", nothing, 0, weights)
    if dropout_p > 0.0:
        weights = apply("dropout", weights, dropout_p, True)
    result = apply("matmul", weights, value)
    return apply("to.dtype", result, own) if own.itemsize == 2 else result


def _allowed(scores: Tensor, attn_mask: Tensor | None, is_causal: bool) -> Tensor | None:
    """Which scores count, None for all."""
    if is_causal:
        sizes = scores.meta.sizes[-2:]
        every = apply("new_ones", scores, sizes, dtype=bool_)
        return apply("tril", every)
    return attn_mask if attn_mask is not None and attn_mask.meta.dtype is bool_ else None
