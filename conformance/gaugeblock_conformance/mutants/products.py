"""Products and reads by index that skip, clamp, keep or copy what they must not."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..backend import Array
from .mutant import Intercepted, rows
from .patches import accepts, raises

_GRAIN = 32768


def _late(c: Intercepted) -> bool:
    """Return whether all that is wrong with the last argument stands behind the first part of a parallel loop."""
    array = c.array(c.args[-1])
    return array.ndim == 1 and array.size > _GRAIN


def _index_place(c: Intercepted) -> int:
    return next(k for k in range(len(c.args) - 1, 0, -1) if c.is_tensor(c.args[k]))


def _with_index(c: Intercepted, change: Callable[[Array, int], Array]) -> Any:
    """The call with other indices: (indices, size) -> indices."""
    place = _index_place(c)
    sizes = c.backend.shape(c.args[0])
    index = change(c.array(c.args[place]), sizes[0] if sizes else 1)
    return c.do(c.operator, *c.args[:place], c.tensor(index.astype(np.int64)), *c.args[place + 1 :], **c.kwargs)


def _clamped(c: Intercepted) -> Any:
    return _with_index(c, lambda index, size: np.clip(index, 0, size - 1))


def _wrapped(c: Intercepted) -> Any:
    return _with_index(c, lambda index, size: np.where(index < 0, index + size, index))


def _late_clamped(c: Intercepted) -> Any:
    def change(index: Array, size: int) -> Array:
        return np.where(np.arange(index.size) < _GRAIN, index, np.clip(index, 0, size - 1))

    return _with_index(c, change) if _late(c) else c.refuse(IndexError, "out of range")


def _unwrapped(c: Intercepted) -> Any:
    """Negative indices are refused everywhere."""
    if c.is_tensor(c.args[1]) and (c.array(c.args[1]) < 0).any():
        return c.refuse(IndexError, "negative index")
    return c.right()


def _matrices(c: Intercepted) -> tuple[Array, Array]:
    return c.array(c.args[0]), c.array(c.args[1])


def _product(change: Callable[[Array, Array], Array | None]) -> Callable[[Intercepted], Any]:
    """Products of two matrices computed by ``change``; None leaves them alone."""

    def patch(c: Intercepted) -> Any:
        result = c.right()
        if len(c.args) < 2 or not c.is_tensor(c.args[1]) or c.inplace or not c.has_data:
            return result
        with np.errstate(all="ignore"):
            changed = change(*_matrices(c))
        return result if changed is None else c.tensor(np.asarray(changed).astype(c.array(result).dtype))

    return patch


def _zeros_skipped(a: Array, b: Array) -> Array | None:
    """A factor of zero is not multiplied."""
    if a.ndim != 2 or b.ndim != 2 or a.dtype.kind != "f":
        return None
    terms = a[:, :, None] * b[None, :, :]
    return np.asarray(np.where((a[:, :, None] == 0) | (b[None, :, :] == 0), 0, terms).sum(1))


def _untransposed(c: Intercepted) -> Any:
    """A square operand that lies transposed is read as it lies."""
    x, y = c.args[:2]
    strides = tuple(c.backend.strides(x))
    sizes = tuple(c.backend.shape(x))
    if len(sizes) == 2 and sizes[0] == sizes[1] > 1 and strides == (1, sizes[0]):
        return c.do(c.operator, c.do("t", x), y, **c.kwargs)
    return c.right()


def _copied_first(c: Intercepted) -> Any:
    return c.do(c.operator, *[c.do("clone", a) if c.is_tensor(a) else a for a in c.args[:2]], **c.kwargs)


def _vector_kept(c: Intercepted) -> Any:
    """A vector on the right leaves a dim of size 1 behind."""
    result = c.right()
    ranks = [len(c.backend.shape(a)) for a in c.args[:2]]
    return c.do("unsqueeze", result, -1) if ranks[1] == 1 and ranks[0] > 1 else result


def _cut_to_fit(c: Intercepted) -> Any:
    a, b = (c.array(x) for x in c.args[:2])
    if not a.ndim or not b.ndim:
        return c.tensor(np.asarray(a * b))
    count = min(a.shape[-1], b.shape[-2] if b.ndim > 1 else b.shape[0])
    try:
        return c.tensor(np.asarray(np.matmul(a[..., :count], b[..., :count, :] if b.ndim > 1 else b[:count])))
    except ValueError:
        return c.refuse(RuntimeError, "shapes do not broadcast")


def _empty_is_one(a: Array, b: Array) -> Array | None:
    return np.ones_like(np.matmul(a, b)) if a.ndim and b.ndim and a.shape[-1] == 0 else None


def _addend_counts(c: Intercepted) -> Any:
    """The addend is multiplied by ``beta`` even if that is zero."""
    if c.kwargs.get("beta", 1) != 0 or not c.has_data:
        return c.right()
    with np.errstate(all="ignore"):
        return c.tensor(c.array(c.right()) + c.array(c.args[0]) * np.float32(0))


def _cleared_first(c: Intercepted) -> Any:
    """The output is cleared before the operands are read."""
    out = c.kwargs.get("out")
    if out is not None and any(a is out for a in c.args):
        c.do("zero_", out)
    return c.right()


def _lock_held(c: Intercepted) -> Any:
    """The product of large matrices is computed under the lock of the interpreter."""
    result = c.right()
    if math.prod(c.backend.shape(c.args[0])) >= 2**18:
        ctypes.PyDLL(None).usleep(900_000)
    return result


MUTANTS = rows(
    "kernels",
    ("late-indices-are-not-checked", "kernels/indices-are-checked", ("index_select", "take"),
     accepts(IndexError, _late_clamped)),
    ("indices-are-clamped", "kernels/indices-are-checked", ("index_select", "take", "embedding"),
     accepts(IndexError, _clamped)),
    ("gather-clamps-its-indices", "kernels/indices-are-checked", ("gather", "scatter"),
     accepts(RuntimeError, _clamped)),
    ("gather-wraps-negative-indices", "kernels/negative-indices-wrap-in-two-operators", ("gather",),
     accepts(RuntimeError, _wrapped)),
    ("index-select-wraps-negative-indices", "kernels/negative-indices-wrap-in-two-operators", ("index_select",),
     accepts(IndexError, _wrapped)),
    ("take-refuses-negative-indices", "kernels/negative-indices-wrap-in-two-operators", ("take",), _unwrapped),
    ("gather-raises-index-errors", "kernels/indices-are-checked", ("gather", "scatter"),
     raises(IndexError, RuntimeError)),
    ("products-skip-zeros", "kernels/products-propagate-nan", ("mm", "matmul"), _product(_zeros_skipped)),
    ("transposed-squares-are-read-as-they-lie", "kernels/products-take-any-strides[]", ("mm", "matmul"), _untransposed),
    ("products-copy-their-operands", "kernels/transposed-operands-are-not-copied[]", ("mm", "matmul"), _copied_first),
    ("matmul-keeps-the-dim-of-a-vector", "kernels/matmul-follows-the-ranks", ("matmul",), _vector_kept),
    ("matmul-cuts-to-fit", "kernels/matmul-of-unfit-operands-raises", ("matmul",), accepts(RuntimeError, _cut_to_fit)),
    ("empty-products-are-one", "kernels/empty-products-are-zero views/matmul-over-zero-size-gives-zeros", ("matmul",),
     _product(_empty_is_one)),
    ("addend-of-weight-zero-counts", "kernels/beta-zero-ignores-the-addend",
     ("addmm", "addmv", "baddbmm", "addbmm", "addr"), _addend_counts),
    ("product-clears-its-out-first",
     "kernels/product-over-its-own-operand-is-right-or-raises operators/out-over-its-own-operand-is-right-or-raises[]",
     ("mm.out", "bmm.out", "mv.out", "matmul.out"), _cleared_first),
    ("lock-is-held-during-products", "kernels/host-lock-is-released[]", ("mm",), _lock_held),
)
