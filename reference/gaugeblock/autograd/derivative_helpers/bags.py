"""Gradients of the sums, means and maxima of bags of rows of a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gaugeblock as gb
from gaugeblock import Tensor

MEAN, MAX = 1, 2


def bag_back(
    grad: Tensor,
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    by_frequency: bool,
    mode: int,
    scale: Tensor | None,
    last: bool,
    padding: int | None,
    picked: Tensor,
    needed: tuple[bool, bool],
) -> tuple[Tensor | None, Tensor | None]:
    """The gradients of the table and of the weights of single rows.

    A bag is what lies from its offset to the next; with `last` the last offset is an end. `picked` are the rows of the
    maxima. Rows equal to `padding` do not count. By frequency, a row's gradient is divided by how often it is read.
    """
    table = gb.zeros_like(weight)
    bags, count = grad.shape[0], indices.numel()
    if not bags or not count:
        return table, (None if scale is None else gb.zeros_like(scale))
    rows, starts = indices.to(gb.int64), offsets.narrow(0, 0, bags).to(gb.int64)
    place = gb.arange(count, device=grad.device)
    owner = gb.searchsorted(starts, place, right=True) - 1
    counted = place < offsets[-1] if last else gb.ones_like(place, dtype=gb.bool)
    if padding is not None:
        counted = counted & (rows != padding % weight.shape[0])
    sizes = gb.zeros_like(starts).index_add(0, owner, counted.to(gb.int64))
    if mode == MAX:
        return table.scatter_add(0, picked.to(gb.int64), grad * (sizes > 0).unsqueeze(1)), None
    reached = grad.index_select(0, owner) * counted.unsqueeze(1)
    if mode == MEAN:
        reached = reached / sizes.clamp_min(1).index_select(0, owner).unsqueeze(1)
    scaled = reached if scale is None else reached * scale.unsqueeze(1)
    if by_frequency:
        scaled = scaled / gb.bincount(rows, minlength=weight.shape[0]).index_select(0, rows).unsqueeze(1)
    shares = (weight.index_select(0, rows) * reached).sum(1) if scale is not None and needed[1] else None
    return (table.index_add(0, rows, scaled) if needed[0] else None), shares


HELPERS: dict[str, Callable[..., Any]] = {"bag_back": bag_back}
