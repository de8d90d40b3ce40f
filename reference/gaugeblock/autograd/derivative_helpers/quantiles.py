"""Gradients of quantiles: shares of the two sorted elements that each lies between."""

from __future__ import annotations

from typing import Any

import gaugeblock as gb
from gaugeblock import Tensor

ROUNDED = {"lower": gb.floor, "higher": gb.ceil, "nearest": gb.round}


def quantile_back(
    grad: Tensor,
    self: Tensor,
    q: Tensor | float,
    dim: int | None,
    keepdim: bool,
    interpolation: str,
    ignore_nan: bool,
    needed: tuple[bool, ...],
) -> tuple[Tensor | None, Tensor | None]:
    """The gradients of the elements, and of the shares `q` where they are a tensor and the result is interpolated."""
    shares = q if isinstance(q, Tensor) else gb.full((), q, dtype=self.dtype, device=self.device)
    flat = dim is None or not self.ndim
    rows = self.reshape((-1,)) if flat else self.movedim(dim or 0, -1)
    back = grad if shares.ndim else grad.unsqueeze(0)
    if flat:
        back = back.reshape((-1,))
    else:
        back = (back.squeeze((dim or 0) % self.ndim + 1) if keepdim else back).movedim(0, -1)
    ordered, order = gb.sort(rows, -1)
    missing = ordered.isnan()
    last = ordered.shape[-1] - 1
    whole = gb.full((1,), last, dtype=gb.int64, device=self.device)
    most = (~missing).sum(-1, keepdim=True) - 1 if ignore_nan else whole
    ranks = (shares.reshape((-1,)) * most).clamp_min(0)
    if not ignore_nan:
        ranks = ranks.masked_fill(missing.narrow(-1, last, 1), last)
    if interpolation in ROUNDED:
        ranks = ROUNDED[interpolation](ranks)
    below = ranks.floor()
    low, high = below.to(gb.int64), ranks.ceil().to(gb.int64)
    weight = gb.full_like(ranks, 0.5).masked_fill(low == high, 0) if interpolation == "midpoint" else ranks - below
    mine = theirs = None
    if needed[0]:
        spread = gb.zeros_like(ordered).scatter_add(-1, low, back * (1 - weight)).scatter_add(-1, high, back * weight)
        found = gb.zeros_like(spread).scatter_add(-1, order, spread)
        mine = found.reshape(self.shape) if flat else found.movedim(-1, dim or 0)
    if isinstance(q, Tensor) and needed[1]:
        slope = ordered.gather(-1, high) - ordered.gather(-1, low)
        theirs = back * slope * most
        theirs = (theirs.sum(tuple(range(theirs.ndim - 1))) if theirs.ndim > 1 else theirs).reshape(shares.shape)
        if interpolation != "linear":
            theirs = gb.zeros_like(theirs)
    return mine, theirs


HELPERS: dict[str, Any] = {"quantile_back": quantile_back}
