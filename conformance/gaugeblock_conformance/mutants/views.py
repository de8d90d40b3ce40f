"""View operators whose sizes, strides or offset are wrong."""

from __future__ import annotations

from typing import Any

from ..case import is_contiguous
from .mutant import Intercepted, rows
from .patches import layout, row_major
from .target import ROW

Ints = tuple[int, ...]
Layout = tuple[Ints, Ints, int]


def _one_further(c: Intercepted, sizes: Ints, strides: Ints, offset: int) -> Layout | None:
    return (sizes, strides, offset + 1) if sizes and 0 not in sizes else None


def _start_lost(c: Intercepted, sizes: Ints, strides: Ints, offset: int) -> Layout | None:
    return sizes, strides, c.backend.storage_offset(c.args[0])


def _own_start_lost(c: Intercepted, sizes: Ints, strides: Ints, offset: int) -> Layout | None:
    """The offset counts from the start of the storage, not from the input's first element."""
    own = c.backend.storage_offset(c.args[0])
    return (sizes, strides, offset - own) if own and offset >= own else None


def _step_lost(c: Intercepted, sizes: Ints, strides: Ints, offset: int) -> Layout | None:
    return sizes, tuple(c.backend.strides(c.args[0])), offset


def _assumed_contiguous(c: Intercepted, sizes: Ints, strides: Ints, offset: int) -> Layout | None:
    """The offset of a row is counted with default strides."""
    x = c.args[0]
    own, steps, start = c.geometry(x)
    dim = c.args[1] % len(own)
    if is_contiguous(own, steps) or not steps[dim]:
        return None
    count = (offset - start) // steps[dim]
    return sizes, strides, start + count * row_major(own)[dim]


def _inverse(c: Intercepted) -> Any:
    """permute by the inverse permutation."""
    order = c.args[1] if isinstance(c.args[1], list | tuple) else c.args[1:]
    rank = len(order)
    if rank != len(c.backend.shape(c.args[0])) or any(not isinstance(d, int) or not -rank <= d < rank for d in order):
        return c.right()
    wrapped = [d % rank for d in order]
    return c.instead(c.args[0], [wrapped.index(k) if k in wrapped else k for k in range(rank)])


def _first_two(c: Intercepted) -> Any:
    x = c.args[0]
    return c.do("transpose.int", x, 0, 1) if len(c.backend.shape(x)) > 2 else c.right()


def _minus_one_from_before(c: Intercepted) -> Any:
    """Negative dims wrap at the input's rank although the result has one more."""
    x, dim = c.args[:2]
    return c.instead(x, dim - 1) if isinstance(dim, int) and dim < -1 else c.right()


def _all_unit_dims(c: Intercepted) -> Any:
    """A named dim is dropped together with all other dims of size 1."""
    return c.instead(c.args[0]) if c.operator == "squeeze.dim" else c.right()


def _first_unit_dim(c: Intercepted) -> Any:
    sizes = c.backend.shape(c.args[0])
    return c.do("squeeze.dim", c.args[0], sizes.index(1)) if 1 in sizes and len(c.args) == 1 else c.right()


def _negative_diagonal(c: Intercepted) -> Any:
    offset = c.args[1] if len(c.args) > 1 else c.kwargs.get("offset", 0)
    if not offset:
        return c.right()
    kwargs = {k: v for k, v in c.kwargs.items() if k != "offset"}
    return c.instead(c.args[0], -offset, *c.args[2:], **kwargs)


def _one_window_less(c: Intercepted, sizes: Ints, strides: Ints, offset: int) -> Layout | None:
    dim = c.args[1] % max(len(sizes) - 1, 1)
    if len(sizes) < 2 or sizes[dim] < 2:
        return None
    return (*sizes[:dim], sizes[dim] - 1, *sizes[dim + 1 :]), strides, offset


def _step_is_one(c: Intercepted, sizes: Ints, strides: Ints, offset: int) -> Layout | None:
    dim = c.args[1] % max(len(sizes) - 1, 1)
    if len(sizes) < 2:
        return None
    return sizes, (*strides[:dim], strides[-1], *strides[dim + 1 :]), offset


def _offset_zero(c: Intercepted) -> Any:
    """``as_strided`` without an offset starts at the storage's beginning."""
    return c.instead(*c.args[:3], 0) if len(c.args) == 3 and not c.kwargs else c.right()


def _merged(c: Intercepted) -> Any:
    """A view of a tensor with gaps takes default strides."""
    x = c.args[0]
    sizes, strides, offset = c.geometry(x)
    result = c.right()
    if is_contiguous(sizes, strides):
        return result
    return c.restride(x, c.backend.shape(result), row_major(c.backend.shape(result)), offset)


def _unscaled(c: Intercepted, sizes: Ints, strides: Ints, offset: int) -> Layout | None:
    """Viewing under a wider or narrower dtype leaves the offset in elements of the old one."""
    own = c.backend.storage_offset(c.args[0])
    return (sizes, strides, own) if own != offset else None


def _uneven_split(c: Intercepted) -> Any:
    """The last part is dropped if it is shorter."""
    parts = c.right()
    dim = c.args[2] if len(c.args) > 2 else c.kwargs.get("dim", 0)
    if len(parts) < 2 or not c.backend.shape(parts[0]):
        return parts
    lengths = [c.backend.shape(p)[dim] for p in parts]
    return parts[:-1] if lengths[-1] < lengths[0] else parts


def _reversed(c: Intercepted) -> Any:
    parts = c.right()
    return type(parts)(reversed(parts))


def _none_at_the_end(c: Intercepted) -> Any:
    """``x[None]`` adds its dim behind the others."""
    x, index = c.args[:2]
    return c.do("unsqueeze", x, -1) if index is None else c.right()


def _ellipsis_first(c: Intercepted) -> Any:
    """``x[..., i]`` indexes the first dim."""
    x, index = c.args[:2]
    if isinstance(index, tuple) and len(index) == 2 and index[0] is Ellipsis and isinstance(index[1], int):
        return c.instead(x, index[1])
    return c.right()


def _flattened_one_less(c: Intercepted) -> Any:
    given = dict(zip(("start_dim", "end_dim"), c.args[1:], strict=False)) | c.kwargs
    start, rank = given.get("start_dim", 0), len(c.backend.shape(c.args[0]))
    last = given.get("end_dim", -1) == -1
    return c.instead(c.args[0], start, rank - 2) if last and rank > 2 and 0 <= start < rank - 2 else c.right()


def _imaginary_first(c: Intercepted, sizes: Ints, strides: Ints, offset: int) -> Layout | None:
    return (sizes, strides, offset - 1) if offset % 2 else (sizes, strides, offset + 1)


MUTANTS = (
    *rows(
        "strides and layout",
        ("select-is-off-by-one", "views/narrow-and-select-shift-the-offset", ("select.int",), layout(_one_further)),
        ("slice-is-off-by-one", "views/slice-scales-the-stride", ("slice.Tensor",), layout(_one_further)),
        ("indexing-is-off-by-one", "views/int-index-drops-the-dim", ("__getitem__",),
         lambda c: layout(_one_further)(c) if isinstance(c.args[1], int) else c.right()),
        ("narrow-loses-its-start", "views/narrow-and-select-shift-the-offset", ("narrow",), layout(_start_lost)),
        ("select-forgets-the-inputs-offset", "views/narrow-and-select-shift-the-offset", ("select", "narrow"),
         layout(_own_start_lost)),
        ("slice-loses-its-step", "views/slice-scales-the-stride", ("slice.Tensor",), layout(_step_lost)),
        ("select-assumes-contiguous", "views/narrow-and-select-shift-the-offset views/int-index-drops-the-dim",
         ("select.int",), layout(_assumed_contiguous)),
        ("permute-is-inverse", "views/transpose-permutes-metadata", ("permute",), _inverse),
        ("mT-swaps-the-first-two", "views/transpose-permutes-metadata", ("mT",), _first_two),
        ("unsqueeze-wraps-at-the-old-rank", "views/squeeze-and-unsqueeze-touch-unit-dims-only", ("unsqueeze",),
         _minus_one_from_before),
        ("squeeze-of-a-dim-drops-all", "views/squeeze-and-unsqueeze-touch-unit-dims-only", ("squeeze",),
         _all_unit_dims),
        ("squeeze-drops-only-the-first", "views/squeeze-and-unsqueeze-touch-unit-dims-only", ("squeeze",),
         _first_unit_dim),
        ("diagonal-goes-the-other-way", f"views/diagonal-adds-two-strides {ROW}", ("diagonal",), _negative_diagonal),
        ("unfold-loses-a-window", "views/unfold-overlaps-windows", ("unfold",), layout(_one_window_less)),
        ("unfold-ignores-the-step", "views/unfold-overlaps-windows", ("unfold",), layout(_step_is_one)),
        ("as-strided-starts-at-zero", "views/as-strided-keeps-own-offset", ("as_strided",), _offset_zero),
        ("view-of-gaps-takes-default-strides", "views/view-shares-storage views/reshape-reads-row-major",
         ("view", "reshape"), _merged),
        ("view-dtype-keeps-the-offset", "views/view-narrower-dtype-scales-last-dim", ("view.dtype",),
         layout(_unscaled)),
        ("split-drops-a-short-part", "views/split-and-chunk-are-views", ("split", "chunk"), _uneven_split),
        ("unbind-is-reversed", "views/split-and-chunk-are-views views/iteration-yields-views-in-order",
         ("unbind", "__iter__"), _reversed),
        ("none-index-adds-at-the-end", "views/basic-index-is-a-view", ("__getitem__",), _none_at_the_end),
        ("ellipsis-stands-for-nothing", "views/basic-index-is-a-view", ("__getitem__",), _ellipsis_first),
        ("flatten-stops-one-early", "views/reshape-reads-row-major views/reshape-views-when-view-can", ("flatten",),
         _flattened_one_less),
        ("imag-is-real", "views/real-and-imag-are-views", ("imag",), layout(_imaginary_first)),
    ),
    *rows(
        "values",
        ("shapes-are-lists", "views/shape-is-an-immutable-tuple", ("shape",), lambda c: list(c.right())),
    ),
)
