"""Wrong strides: of results, of fresh tensors, and as operators read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..backend import Array
from ..case import is_contiguous
from .mutant import Intercepted, Mutant
from .patches import family, fresh, laid_out_contiguously, layout, row_major, values

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


def _row(name: str, area: str, operators: tuple[str, ...], patch: Any) -> Mutant:
    return Mutant(name, "strides and layout", area, operators, patch)


MUTANTS = (
    _row("transpose-resets-unit-strides", "views", ("transpose", "permute", "t"), layout(_unit_strides)),
    _row("select-resets-unit-strides", "views", ("select", "narrow", "slice", "__getitem__"), layout(_unit_zero)),
    _row("expand-gives-unit-dims-stride-0", "views", ("expand",), layout(_expanded_steps)),
    _row("empty-dims-have-stride-0", "views", ("zeros", "ones", "empty", "full"), layout(_empty_steps)),
    _row("factories-are-column-major", "views", ("zeros", "ones", "empty", "full"), _columns_first),
    _row("contiguity-minds-unit-dims", "views", ("is_contiguous",), _strict),
    _row("contiguity-looks-at-the-last-dim", "views", ("is_contiguous",), _last_stride_decides),
    _row("inputs-are-read-in-memory-order", "iteration", _POINTWISE, values(_memory_order)),
    _row("reductions-read-in-memory-order", "iteration", ("cumsum", "flip", "cumprod"), values(_memory_order)),
    _row("clone-forgets-the-order", "views", ("clone",), _packed),
    _row("results-forget-the-order", "iteration", _POINTWISE, laid_out_contiguously),
    _row("order-of-dims-is-remembered-by-rank", "iteration",
         ("add.Scalar", "mul.Scalar", "div.Scalar", "sub.Scalar", "where"), _order_is_remembered),
    _row("numbers-do-not-count-as-inputs", "iteration", ("add.Scalar", "mul.Scalar", "lt.Scalar"),
         layout(_numbers_do_not_count)),
    _row("bounds-count-as-inputs", "iteration", ("clamp", "clamp_min", "clamp_max"), _bounds_count),
    _row("results-forget-channels-last", "iteration", _POINTWISE, _channels_lost),
    _row("out-is-given-default-strides", "iteration", ("add.out", "mul.out", "sub.out"), _out_restrided),
    _row("empty-out-is-not-resized", "iteration", ("add.out", "neg.out", "exp.out"), _out_not_resized),
    _row("address-ignores-the-offset", "storage", ("data_ptr",), _address_of_storage),
    _row("offset-counts-bytes", "views", ("storage_offset",), _offset_in_bytes),
    _row("blocks-are-aligned-to-32", "storage", ("data_ptr",), _off_by_32),
)
