"""The strided space: every layout that sizes, strides and an offset over one storage can express.

Built by construction, nothing is filtered: a memory order of the dims, gaps between them, dims of stride 0,
overlapping dims, odd strides on dims of size 0 and 1, an offset, and storage left over behind the view.
"""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from ..case import TensorCase, default_strides, extent, is_contiguous
from .code import Digits, coded
from .dtypes import ALL
from .parts import part_of
from .shapes import ANY_DIMS, Sizes, deep_sizes, narrowed, small_sizes, threshold

LAYOUTS = ("contiguous", "permuted", "offset", "gapped", "mixed", "expanded", "overlapping")
WRITABLE = LAYOUTS[:5]
# What the layout of a tensor with several elements can be told to be.
CLASSES = ("contiguous", "permuted", "offset", "gapped", "expanded", "overlapping")
WRITABLE_CLASSES = 4
_ODD_STRIDES = (1, 0, 7, 3)
_SEEDS = 2**20
# Two of ten choices of how large a tensor is: one long dim, and many dims.
_WIDE, _DEEP = 9, 8


def tensors(
    dtypes: Sequence[str] | str = ALL,
    sizes: st.SearchStrategy[Sizes] | Sizes | None = None,
    layouts: Sequence[str] = LAYOUTS,
    kind: str = "hard",
    long: bool = False,
    min_dims: int = 0,
    max_dims: int = ANY_DIMS,
    empty: bool = True,
) -> st.SearchStrategy[TensorCase]:
    """Tensors of any of ``dtypes`` and ``sizes`` (drawn small, one in ten at a threshold, unless given), any layout.
    Without ``max_dims`` one in ten has up to seven dims.

    ``layouts=WRITABLE`` leaves out those in which two indices reach one element; ``kind`` is a kind of
    :mod:`gaugeblock_conformance.values`; ``long`` adds lengths beyond the parallel grain.

    Raises:
        ValueError: ``sizes`` is a strategy that cannot be read off a code.
    """
    names = (dtypes,) if isinstance(dtypes, str) else tuple(dtypes)

    def read(digits: Digits, dims: Sizes | None) -> TensorCase:
        name, layout = digits.pick(names), digits.pick(layouts)
        size, seed = digits.below(10), digits.below(_SEEDS)
        if dims is None:
            deep = size == _DEEP and max_dims == ANY_DIMS
            dims = deep_sizes(digits) if deep else small_sizes(digits, min_dims, max_dims, empty)
            if size == _WIDE and max_dims:
                dims = _wide(threshold(digits, long), digits, min_dims, max_dims)
        return lay_out(name, dims, layout, kind, seed, digits)

    if isinstance(sizes, st.SearchStrategy):
        part = part_of(sizes)
        if part is None:
            raise ValueError(f"tensors: sizes cannot be read off a code: {sizes!r}")
        return coded(lambda digits: read(digits, part.read(digits)), 2)
    return coded(lambda digits: read(digits, sizes))


def _wide(row: int, digits: Digits, min_dims: int, max_dims: int) -> Sizes:
    """A long last dim, alone or behind a short one."""
    lead = digits.pick((0, 2, 3)) if max_dims >= 2 and row < 600 else 0
    dims = (lead, row) if lead else (row,)
    return (1,) * (min_dims - len(dims)) + dims


def operands(
    count: int = 2,
    dtypes: Sequence[str] | str = ALL,
    same_dtype: bool = False,
    layouts: Sequence[str] = LAYOUTS,
    kind: str = "hard",
    long: bool = False,
    empty: bool = True,
    max_dims: int = ANY_DIMS,
) -> st.SearchStrategy[tuple[TensorCase, ...]]:
    """``count`` tensors whose sizes broadcast together, each with a layout of its own.

    One draw in ten is a plain vector length at a threshold, so that loop remainders are met with several operands.
    Without ``max_dims`` one in ten has up to seven dims.
    """
    names = (dtypes,) if isinstance(dtypes, str) else tuple(dtypes)

    def read(digits: Digits) -> tuple[TensorCase, ...]:
        size, seed = digits.below(10), digits.below(_SEEDS)
        chosen = [digits.pick(names) for _ in range(count)]
        kinds = [digits.pick(layouts) for _ in range(count)]
        deep = size == _DEEP and max_dims == ANY_DIMS
        result = deep_sizes(digits) if deep else small_sizes(digits, 0, max_dims, empty)
        sizes: list[Sizes]
        if size == _WIDE:
            row = threshold(digits, long)
            sizes = [() if digits.below(6) == 5 else (row,) for _ in range(count)]
        else:
            sizes = [narrowed(result, digits) for _ in range(count)]
        return tuple(
            lay_out(chosen[0 if same_dtype else k], sizes[k], kinds[k], kind, seed + k if seed else 0, digits)
            for k in range(count)
        )

    return coded(read, count)


def lay_out(dtype: str, dims: Sizes, layout: str, kind: str, seed: int, digits: Digits) -> TensorCase:
    """The tensor of ``dims`` in ``layout``, its details chosen by ``digits``."""
    if layout == "contiguous":
        return TensorCase(dtype, dims, default_strides(dims), kind=kind, seed=seed)
    rank = len(dims)
    order = digits.order(rank) if layout in ("permuted", "mixed", "overlapping") else list(range(rank))
    gaps = layout in ("gapped", "mixed")
    strides = [0] * rank
    step = 1 + digits.below(3) if gaps else 1
    for k in reversed(order):
        strides[k] = step
        if dims[k] <= 1 and layout != "permuted":
            strides[k] = digits.pick(_ODD_STRIDES)
        step *= max(dims[k], 1)
        if gaps:
            step += digits.below(3)
    if layout in ("expanded", "overlapping") and rank:
        chosen = 1 + digits.below(2**rank - 1)
        for k in range(rank):
            if chosen >> k & 1:
                strides[k] = 0 if layout == "expanded" else min(strides[k], 1)
    alone = layout == "permuted" and rank > 1
    least = 1 if rank < 2 or layout == "offset" else 0
    offset = 0 if alone else least + digits.below(6 - least)
    tail = 0 if alone else digits.below(4)
    reach = extent(dims, tuple(strides))
    return TensorCase(dtype, dims, tuple(strides), offset, offset + reach + tail, kind, seed)


def lay_as(dtype: str, dims: Sizes, layout: str, kind: str, seed: int, digits: Digits) -> TensorCase:
    """The tensor of ``dims`` in ``layout``, one of ``CLASSES``, so that it can be told from all others: where too few
    dims have several elements for that, with gaps instead of permuted, expanded instead of overlapping, or offset."""
    many = [k for k, n in enumerate(dims) if n > 1]
    if not many and layout != "contiguous":
        layout = "offset"
    if len(many) < 2:
        layout = {"permuted": "gapped", "overlapping": "expanded"}.get(layout, layout)
    turned = layout == "permuted" or (layout in ("gapped", "expanded") and digits.below(3) == 2)
    order = list(reversed(range(len(dims)))) if turned else list(range(len(dims)))
    if turned and digits.below(2):
        # The last dim outermost, the others in order.
        order = [len(dims) - 1, *range(len(dims) - 1)]
    strides = [0] * len(dims)
    step = 2 + digits.below(2) if layout == "gapped" else 1
    for k in reversed(order):
        strides[k] = step
        step *= max(dims[k], 1)
    if layout == "expanded":
        chosen = 1 + digits.below(2 ** min(len(many), 7) - 1)
        for place, k in enumerate(many):
            strides[k] = 0 if chosen >> place & 1 else strides[k]
    if layout == "overlapping":
        strides = [min(stride, 1) for stride in strides]
    offset = 0 if layout == "contiguous" else digits.below(3) + (layout == "offset")
    tail = 0 if layout == "contiguous" else digits.below(3)
    reach = extent(dims, tuple(strides))
    return TensorCase(dtype, dims, tuple(strides), offset, offset + reach + tail, kind, seed)


def layout_of(case: TensorCase) -> str:
    """Which of ``CLASSES`` a tensor is laid out in, ``offset`` if it is contiguous and does not begin its storage.

    Sizes of 1 and their strides count for nothing.
    """
    dims = [(n, stride) for n, stride in zip(case.sizes, case.strides, strict=True) if n > 1]
    if 0 in case.sizes or is_contiguous(case.sizes, case.strides):
        return "offset" if case.offset else "contiguous"
    if any(stride == 0 for _, stride in dims):
        return "expanded"
    reach = 1
    for n, stride in sorted(dims, key=lambda dim: dim[1]):
        if stride < reach:
            return "overlapping"
        reach += (n - 1) * stride
    return "permuted" if reach == case.numel else "gapped"
