"""Attention, and the cases of dropout in which nothing is drawn, on widened operands."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backend import Array
from .moves import Oracle
from .near import Undefined


def attention(
    query: Array, key: Array, value: Array, mask: Array | None, dropout: float, causal: bool, scale: float | None,
    grouped: bool,
) -> Array:  # fmt: skip
    """The values mixed by how well their keys answer a query; a query that no key may answer gets zeros."""
    assert mask is None or not causal, "two masks"
    if grouped:
        key, value = (np.repeat(v, query.shape[-3] // v.shape[-3], -3) for v in (key, value))
    scores = query @ np.swapaxes(key, -1, -2)
    scores = scores * (1 / np.sqrt(np.longdouble(query.shape[-1])) if scale is None else np.longdouble(scale))
    if causal:
        mask = np.tri(*scores.shape[-2:], dtype=bool)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == np.bool_ else scores + mask
    top = scores.max(axis=-1, keepdims=True)
    shares = np.exp(scores - np.where(np.isfinite(top), top, 0))
    total = shares.sum(axis=-1, keepdims=True)
    return np.asarray(shares / np.where(total == 0, 1, total) @ value)


def undropped(x: Array, p: float, train: bool | None) -> Array:
    """All or nothing: what is left where chance decides nothing."""
    assert train is False or p in (0, 1), (train, p)
    if x.dtype.kind in "iub":
        raise Undefined("nothing_computed")
    return x if train is False or p == 0 else np.zeros_like(x)


def with_mask(x: Array, p: float, train: bool | None) -> tuple[Array, Array]:
    kept = train is False or p == 0
    return undropped(x, p, train), np.full(x.shape, kept)


def leaked(x: Array, lower: Any, upper: Any, training: bool) -> Array:
    """Below zero times the mean slope, in use; in training the slopes are drawn."""
    assert not training or lower == upper, (lower, upper)
    return np.asarray(np.where(x >= 0, x, x * ((np.longdouble(lower) + np.longdouble(upper)) / 2)))


ATTENTION: dict[str, Oracle] = {
    "scaled_dot_product_attention": attention,
    **dict.fromkeys(("dropout", "alpha_dropout", "feature_dropout", "feature_alpha_dropout"), undropped),
    "native_dropout": with_mask,
    "rrelu": lambda x, lower, upper, training, generator: leaked(x, lower, upper, training),
    "rrelu_with_noise": lambda x, noise, lower, upper, training, generator: leaked(x, lower, upper, training),
}
