"""The strided space: every layout that sizes, strides and an offset over one storage can express.

Built by construction, nothing is filtered: a memory order of the dims, gaps between them, dims of stride 0,
overlapping dims, odd strides on dims of size 0 and 1, an offset, and storage left over behind the view.
"""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from ..case import TensorCase, default_strides, extent
from . import shapes
from .dtypes import ALL

LAYOUTS = ("contiguous", "permuted", "offset", "gapped", "mixed", "expanded", "overlapping")
WRITABLE = LAYOUTS[:5]
_ODD_STRIDES = (1, 0, 7, 3)
_SEEDS = st.integers(0, 2**20)


@st.composite
def tensors(
    draw: st.DrawFn,
    dtypes: Sequence[str] | str = ALL,
    sizes: st.SearchStrategy[tuple[int, ...]] | tuple[int, ...] | None = None,
    layouts: Sequence[str] = LAYOUTS,
    kind: str = "hard",
    long: bool = False,
    min_dims: int = 0,
    max_dims: int = 4,
    empty: bool = True,
) -> TensorCase:
    """Tensors of any of ``dtypes`` and ``sizes`` (drawn small, sometimes at a threshold, unless given) in any layout.

    ``layouts=WRITABLE`` leaves out those in which two indices reach one element; ``kind`` is a kind of
    :mod:`gaugeblock_conformance.values`; ``long`` adds lengths beyond the parallel grain.
    """
    dtype = dtypes if isinstance(dtypes, str) else draw(st.sampled_from(dtypes))
    if sizes is None:
        wide = max_dims >= 1 and draw(st.integers(0, 9)) == 9
        if wide:
            row = draw(shapes.thresholds(long))
            lead = draw(st.sampled_from((0, 2, 3))) if max_dims >= 2 and (min_dims >= 2 or row < 600) else 0
            extra = max(min_dims - 1, 1 if lead else 0)
            dims: tuple[int, ...] = (*((1,) * (extra - 1)), *((lead or 1,) * min(extra, 1)), row)
        else:
            dims = draw(shapes.sizes(min_dims, max_dims, empty))
    else:
        dims = sizes if isinstance(sizes, tuple) else draw(sizes)
    layout = draw(st.sampled_from(layouts))
    seed = draw(_SEEDS)
    return _lay_out(draw, dtype, dims, layout, kind, seed)


def _lay_out(
    draw: st.DrawFn, dtype: str, dims: tuple[int, ...], layout: str, kind: str, seed: int
) -> TensorCase:
    if layout == "contiguous":
        return TensorCase(dtype, dims, default_strides(dims), kind=kind, seed=seed)
    rank = len(dims)
    order = list(range(rank))
    if layout in ("permuted", "mixed", "overlapping") and rank > 1:
        order = draw(st.permutations(order))
    gaps = layout in ("gapped", "mixed")
    strides = [0] * rank
    step = draw(st.integers(1, 3)) if gaps else 1
    for k in reversed(order):
        strides[k] = step
        if dims[k] <= 1 and layout != "permuted":
            strides[k] = draw(st.sampled_from(_ODD_STRIDES))
        step *= max(dims[k], 1)
        if gaps:
            step += draw(st.integers(0, 2))
    if layout in ("expanded", "overlapping") and rank:
        chosen = draw(st.integers(1, 2**rank - 1))
        for k in range(rank):
            if chosen >> k & 1:
                strides[k] = 0 if layout == "expanded" else min(strides[k], 1)
    alone = layout == "permuted" and rank > 1
    offset = 0 if alone else draw(st.integers(1 if rank < 2 or layout == "offset" else 0, 5))
    tail = 0 if alone else draw(st.integers(0, 3))
    reach = extent(dims, tuple(strides))
    return TensorCase(dtype, dims, tuple(strides), offset, offset + reach + tail, kind, seed)


@st.composite
def operands(
    draw: st.DrawFn,
    count: int = 2,
    dtypes: Sequence[str] | str = ALL,
    same_dtype: bool = False,
    layouts: Sequence[str] = LAYOUTS,
    kind: str = "hard",
    long: bool = False,
    empty: bool = True,
    max_dims: int = 4,
) -> tuple[TensorCase, ...]:
    """``count`` tensors whose sizes broadcast together, each with a layout of its own.

    One draw in eight is a plain vector length at a threshold, so that loop remainders are met with several operands.
    """
    if draw(st.integers(0, 7)) == 7:
        row = draw(shapes.thresholds(long))
        sizes: tuple[tuple[int, ...], ...] = tuple((row,) if draw(st.integers(0, 5)) < 5 else () for _ in range(count))
    else:
        sizes = draw(shapes.broadcastable(count, max_dims, empty))
    first = dtypes if isinstance(dtypes, str) else draw(st.sampled_from(dtypes))
    made: list[TensorCase] = []
    for dims in sizes:
        dtype = first if same_dtype or isinstance(dtypes, str) or not made else draw(st.sampled_from(dtypes))
        layout = draw(st.sampled_from(layouts))
        made.append(_lay_out(draw, dtype, dims, layout, kind, draw(_SEEDS)))
    return tuple(made)
