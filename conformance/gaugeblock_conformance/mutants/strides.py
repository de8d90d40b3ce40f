"""Wrong strides: of results, of fresh tensors, and as operators read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..backend import Array
from ..case import is_contiguous
from .mutant import Intercepted, rows
from .patches import family, fresh, laid_out_contiguously, layout, row_major, values
from .target import LOOP, ROW

Ints = tuple[int, ...]
Layout = tuple[Ints, Ints, int]
_POINTWISE = family("pointwise")


def _unit_strides(c: Intercepted, sizes: Ints, strides: Ints, offset: int) -> Layout | None:
    """Dims of size 1 get stride 1."""
    return sizes, tuple(1 if n == 1 else s for n, s in zip(sizes, strides, strict=True)), offset


def _unit_zero(c: Intercepted, sizes: Ints, strides: Ints, offset: int) -> Layout | None:
    return sizes, tuple(0 if n == 1 else s for n, s in zip(sizes, strides, strict=True)), offset


def _empty_steps(c: Intercepted, sizes: Ints, strides: Ints, offset: int) -> Layout | None:
    """A dim of size 0 counts as 0 in the product of strides."""
    if 0 not in sizes:
        return None
    steps, step = [], 1
    for n in reversed(sizes):
        steps.append(step)
        step *= n
    return sizes, tuple(reversed(steps)), offset


def _columns_first(c: Intercepted) -> Any:
    result = c.right()
    sizes = tuple(c.backend.shape(result)) if c.is_tensor(result) else ()
    if len(sizes) < 2 or 0 in sizes or c.inplace:
        return result
    steps = tuple(reversed(row_major(tuple(reversed(sizes)))))
    return c.restride(result, sizes, steps, 0)


def _strict(c: Intercepted) -> Any:
    """Contiguous means default strides in every dim, those of size 1 and empty tensors included."""
    x = c.args[0]
    return tuple(c.backend.strides(x)) == row_major(c.backend.shape(x)) if len(c.args) == 1 else c.right()


def _last_stride_decides(c: Intercepted) -> Any:
    strides = c.backend.strides(c.args[0])
    return not strides or strides[-1] == 1 if len(c.args) == 1 else c.right()


def _memory_order(array: Array, c: Intercepted) -> Array | None:
    """An input whose strides are not the default ones is read in memory order."""
    x = c.args[0] if c.args else None
    if not c.is_tensor(x) or c.inplace or not c.is_tensor(x):
        return None
    sizes, strides, _offset = c.geometry(x)
    if is_contiguous(sizes, strides) or len(sizes) != 2 or sizes != array.shape or 0 in strides:
        return None
    order = np.argsort([-s for s in strides], kind="stable")
    return np.transpose(array, order).reshape(array.shape) if tuple(order) != (0, 1) else None


def _packed(c: Intercepted) -> Any:
    """A clone is row-major whatever the order of its input."""
    return laid_out_contiguously(c)


def _out_restrided(c: Intercepted) -> Any:
    """``out=`` of the right shape is given default strides."""
    out = c.kwargs.get("out")
    result = c.right()
    if not c.is_tensor(out) or not c.has_data or "resize" not in c.backend.capabilities:
        return result
    sizes, strides, offset = c.geometry(out)
    if not is_contiguous(sizes, strides):
        values_of = c.array(out)
        c.do("as_strided_", out, sizes, row_major(sizes), offset)
        c.put(out, values_of)
    return result


def _out_not_resized(c: Intercepted) -> Any:
    """An empty ``out=`` stays empty."""
    out = c.kwargs.get("out")
    if c.is_tensor(out) and tuple(c.backend.shape(out)) == (0,):
        return out
    return c.right()


def _channels_lost(c: Intercepted) -> Any:
    result = c.right()
    if c.inplace or not c.is_tensor(result) or len(c.backend.shape(result)) != 4:
        return result
    return fresh(c, c.array(result))


def _address_of_storage(c: Intercepted) -> Any:
    x = c.args[0]
    return c.right() - c.backend.storage_offset(x) * c.array_itemsize(x)


def _offset_in_bytes(c: Intercepted) -> Any:
    return c.right() * c.array_itemsize(c.args[0])


def _off_by_32(c: Intercepted) -> Any:
    """Every second storage lies 32 bytes off a multiple of 64."""
    x = c.args[0]
    return c.right() + 32 * (c.backend.storage_nbytes(x) // 32 % 2)


def _expanded_steps(c: Intercepted, sizes: Ints, strides: Ints, offset: int) -> Layout | None:
    """New leading dims of any size get the stride that one of size 1 would get."""
    own = c.backend.shape(c.args[0])
    lead = len(sizes) - len(own)
    if not lead or any(n > 1 for n in sizes[:lead]):
        return None
    return sizes, ((0,) * lead) + strides[lead:], offset


def _in_order(order: Sequence[int], sizes: Ints) -> Ints:
    """Return strides without gaps for dims in ``order``, outermost first."""
    strides, step = [0] * len(sizes), 1
    for k in reversed(order):
        strides[k] = step
        step *= max(sizes[k], 1)
    return tuple(strides)


def _order_is_remembered(c: Intercepted) -> Any:
    """The order of dims of the first call is reused for all contiguous inputs with as many dims.

    The cache key of a contiguous tensor lacks its strides.
    """
    result = c.right()
    if c.inplace or not c.is_tensor(result) or 0 in c.backend.shape(result):
        return result
    given = [c.geometry(a) for a in c.args if c.is_tensor(a)]
    sizes, strides, offset = c.geometry(result)
    if not all(own == sizes and is_contiguous(own, steps) for own, steps, _ in given):
        return result
    order = sorted(range(len(sizes)), key=lambda k: -strides[k])
    return c.restride(result, sizes, _in_order(c.memory.setdefault((c.operator, len(sizes)), order), sizes), offset)


def _numbers_do_not_count(c: Intercepted, sizes: Ints, strides: Ints, offset: int) -> Layout | None:
    """A contiguous tensor and a number give default strides; the strides of dims of size 1 are ignored."""
    contiguous = all(is_contiguous(*c.geometry(a)[:2]) for a in c.args if c.is_tensor(a))
    return (sizes, row_major(sizes), offset) if contiguous and not c.inplace else None


def _bounds_count(c: Intercepted) -> Any:
    """Bounds that are numbers affect the order of dims, as other operands do."""
    result = c.right()
    bounds = [*c.args[1:], *c.kwargs.values()]
    if c.inplace or not is_contiguous(*c.geometry(c.args[0])[:2]) or any(c.is_tensor(bound) for bound in bounds):
        return result
    return c.do("copy_", c.do("add.Scalar", c.do("mul.Scalar", c.args[0], 0), 0), result)


def _over_expanded(c: Intercepted) -> Any:
    """A median along a dim of stride 0 is zero."""
    result = c.right()
    if not c.is_tensor(result) and 0 in c.backend.strides(c.args[0]) and c.has_data:
        c.put(result[0], np.zeros_like(c.array(result[0])))
    return result


def _in_one_storage(c: Intercepted) -> Any:
    """``nbytes`` counts the whole storage."""
    return c.backend.storage_nbytes(c.args[0])


MUTANTS = (
    *rows(
        "strides and layout",
        ("transpose-resets-unit-strides", "views/transpose-permutes-metadata", ("transpose", "permute", "t"),
         layout(_unit_strides)),
        ("select-resets-unit-strides", "views/narrow-and-select-shift-the-offset views/slice-scales-the-stride",
         ("select", "narrow", "slice", "__getitem__"), layout(_unit_zero)),
        ("expand-gives-unit-dims-stride-0", "views/expand-new-unit-dim-continues-strides", ("expand",),
         layout(_expanded_steps)),
        ("empty-dims-have-stride-0", "views/default-strides-are-row-major", ("zeros", "ones", "empty", "full"),
         layout(_empty_steps)),
        ("factories-are-column-major", "views/default-strides-are-row-major", ("zeros", "ones", "empty", "full"),
         _columns_first),
        ("contiguity-minds-unit-dims", "views/contiguous-skips-unit-dims views/channels-last-is-a-stride-order",
         ("is_contiguous",), _strict),
        ("contiguity-looks-at-the-last-dim", "views/contiguous-skips-unit-dims", ("is_contiguous",),
         _last_stride_decides),
        ("inputs-are-read-in-memory-order", LOOP, _POINTWISE, values(_memory_order)),
        ("reductions-read-in-memory-order", f"{ROW} iteration/scans-run-in-index-order", ("cumsum", "flip", "cumprod"),
         values(_memory_order)),
        ("clone-forgets-the-order", "views/clone-preserves-dense-strides", ("clone",), _packed),
        ("results-forget-the-order",
         "iteration/equal-dense-strides-are-kept iteration/output-dims-follow-input-order[add]",
         _POINTWISE, laid_out_contiguously),
        ("order-of-dims-is-remembered-by-rank", "iteration/output-dims-follow-input-order[add.Scalar]",
         ("add.Scalar", "mul.Scalar", "div.Scalar", "sub.Scalar", "where"), _order_is_remembered),
        ("numbers-do-not-count-as-inputs", "iteration/output-dims-follow-input-order[]",
         ("add.Scalar", "mul.Scalar", "lt.Scalar"), layout(_numbers_do_not_count)),
        ("bounds-count-as-inputs", "iteration/output-dims-follow-input-order", ("clamp", "clamp_min", "clamp_max"),
         _bounds_count),
        ("results-forget-channels-last", "iteration/channels-last-inputs-give-channels-last-output", _POINTWISE,
         _channels_lost),
        ("out-is-given-default-strides", "operators/out-form-returns-its-out[]", ("add.out", "mul.out", "sub.out"),
         _out_restrided),
        ("empty-out-is-not-resized", "operators/empty-out-is-resized-silently[]", ("add.out", "neg.out", "exp.out"),
         _out_not_resized),
        ("address-ignores-the-offset", "storage/data-address-follows-offset", ("data_ptr",), _address_of_storage),
        ("offset-counts-bytes", "views/element-address-is-offset-plus-strides views/int-index-drops-the-dim",
         ("storage_offset",), _offset_in_bytes),
        ("blocks-are-aligned-to-32", "storage/allocation-is-64-byte-aligned", ("data_ptr",), _off_by_32),
    ),
    *rows(
        "strides and layout",
        ("medians-of-expanded-dims-are-zero", ROW, ("median", "nanmedian"), _over_expanded),
        ("nbytes-counts-the-storage", "views/nbytes-is-logical", ("nbytes",), _in_one_storage),
    ),
)
