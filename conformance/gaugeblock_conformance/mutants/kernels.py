"""Kernels with a bad tail, a path of their own, or a check too few."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..backend import Array
from .mutant import Intercepted, Mutant
from .patches import accepts, floating, nudged, raises, values

_STEP = 8
_POINTWISE = ("add.Tensor", "sub.Tensor", "mul.Tensor", "div.Tensor", "neg", "abs", "sqrt")
_GRAIN = 32768


def _tail(array: Array, change: Callable[[Array], Any]) -> Array | None:
    """``array`` with the elements behind the last full vector changed."""
    flat = array.reshape(-1)
    if array.ndim != 1 or len(flat) <= _STEP or not len(flat) % _STEP or array.dtype.kind not in "fi":
        return None
    start = len(flat) // _STEP * _STEP
    flat[start:] = change(flat[start:])
    return flat


def _stride(c: Intercepted) -> int:
    """The largest stride among tensors with one dim."""
    tensors = [a for a in c.args if c.is_tensor(a)]
    return max((s[0] for s in (tuple(c.backend.strides(t)) for t in tensors) if len(s) == 1), default=1)


def _only_where(condition: Callable[[Array, Intercepted], bool]) -> Callable[[Array, Intercepted], Array | None]:
    """One unit in the last place where ``condition`` (result, call) says so."""

    def change(array: Array, c: Intercepted) -> Array | None:
        return nudged(array, 1) if floating(array) and condition(array, c) else None

    return change


def _odd_start(array: Array, c: Intercepted) -> bool:
    tensors = [a for a in c.args if c.is_tensor(a)]
    return any(c.backend.storage_offset(t) % 4 == 1 for t in tensors)


def _flushed(array: Array, c: Intercepted) -> Array | None:
    if not floating(array) or array.size < 2 * _STEP:
        return None
    return np.where(np.abs(array) < np.finfo(array.dtype).smallest_normal, array * 0, array)


def _past_the_end(c: Intercepted) -> Any:
    """One element behind the last is written too."""
    result = c.right()
    sizes, strides, offset = c.geometry(result)
    if len(sizes) == 1 and strides == (1,) and sizes[0] % _STEP and c.has_data:
        end = offset + sizes[0]
        room = c.backend.storage_nbytes(result) // c.array_itemsize(result)
        if end < room:
            place = c.do("as_strided", c.do("data", result), (1,), (1,), end)
            c.do("fill_.Scalar", place, 1)
    return result


def _twice(c: Intercepted) -> Any:
    """The elements behind the last full vector are done again."""
    result = c.right()
    sizes, strides, offset = c.geometry(result)
    if len(sizes) == 1 and sizes[0] > _STEP and sizes[0] % _STEP and c.args[1:] and not c.is_tensor(c.args[1]):
        start = sizes[0] // _STEP * _STEP
        place = (offset + start * strides[0],)
        c.do(c.operator, c.do("as_strided", c.do("data", result), (sizes[0] - start,), strides, *place), *c.args[1:])
    return result


def _late(c: Intercepted) -> bool:
    """Whether all that is wrong with the last argument stands behind the first part of a parallel loop."""
    array = c.array(c.args[-1])
    return array.ndim == 1 and array.size > _GRAIN


def _late_zeros_pass(c: Intercepted) -> Any:
    divisor = c.array(c.args[1]) if c.is_tensor(c.args[1]) else np.zeros(0)
    if divisor.size <= _GRAIN or not divisor[:_GRAIN].all():
        return c.refuse(RuntimeError, "division by zero")
    return c.do(c.operator, c.args[0], c.tensor(np.where(divisor == 0, 1, divisor).astype(divisor.dtype)))


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


def _naive_sum(array: Array, c: Intercepted) -> Array | None:
    """float32 sums of one running total."""
    x = c.array(c.args[0]) if c.is_tensor(c.args[0]) else np.zeros(0)
    if x.dtype != np.float32 or array.ndim or x.size < 2**12:
        return None
    return np.cumsum(x.reshape(-1), dtype=np.float32)[-1:].reshape(())


def _lock_held(c: Intercepted) -> Any:
    """The product of large matrices is computed under the lock of the interpreter."""
    result = c.right()
    if math.prod(c.backend.shape(c.args[0])) >= 2**18:
        ctypes.PyDLL(None).usleep(900_000)
    return result


def _keeps_memory(c: Intercepted) -> Any:
    try:
        return c.right()
    except (RuntimeError, IndexError):
        c.memory.setdefault("kept", []).append(c.do("zeros", (100,)))
        raise


def _clears_out(c: Intercepted) -> Any:
    try:
        return c.right()
    except RuntimeError:
        if c.is_tensor(c.kwargs.get("out")):
            c.do("zero_", c.kwargs["out"])
        raise


def _says_nothing(c: Intercepted) -> Any:
    try:
        return c.right()
    except RuntimeError:
        return c.refuse(RuntimeError, "bad arguments")


def _row(name: str, operators: tuple[str, ...], patch: Any) -> Mutant:
    return Mutant(name, "kernels", "kernels", operators, patch)


def _threads(c: Intercepted) -> Any:
    """One thread too few is told."""
    return max(1, c.right() - 1)


def _traced(change: Callable[[Any], Any]) -> Callable[[Intercepted], Any]:
    return lambda c: change(c.right())


def _one_skipped(paths: Any) -> Any:
    vector, scalar = np.array(paths.vector), np.array(paths.scalar)
    if scalar.size > _STEP:
        vector.reshape(-1)[-1] = scalar.reshape(-1)[-1] = 0
    return replace(paths, vector=vector, scalar=scalar)


def _done_by_both(paths: Any) -> Any:
    scalar = np.array(paths.scalar)
    if np.asarray(paths.vector).any():
        scalar.reshape(-1)[0] += 1
    return replace(paths, scalar=scalar)


def _storage_order(c: Intercepted) -> Any:
    """An accessor that takes every view for a contiguous tensor."""
    x = c.args[0]
    sizes, _, offset = c.geometry(x)
    c.right()
    steps, step = [], 1
    for size in reversed(sizes):
        steps.append(step)
        step *= max(size, 1)
    return c.do("accessor_elements", c.restride(x, sizes, steps[::-1], offset), *c.args[1:])


MUTANTS = (
    _row("tail-is-skipped", _POINTWISE, values(lambda a, c: _tail(a, np.zeros_like))),
    _row("tail-is-done-twice", ("add_.Scalar", "mul_.Scalar"), _twice),
    _row("element-behind-the-end-is-written", ("add_", "mul_", "neg_", "fill_", "zero_", "copy_"), _past_the_end),
    _row("vector-path-is-off-by-one-unit", ("div.Tensor", "mul.Tensor"),
         values(_only_where(lambda a, c: a.ndim == 1 and a.size >= 2 * _STEP))),
    _row("strided-path-is-off-by-one-unit", ("mul.Tensor", "add.Tensor"),
         values(_only_where(lambda a, c: _stride(c) > 1))),
    _row("lower-instruction-sets-are-off-by-one-unit", ("on_instruction_set",),
         _traced(lambda found: [nudged(a, 1) if floating(a) else a for a in found])),
    _row("start-of-the-data-decides", ("sub.Tensor", "div.Tensor", "sqrt"), values(_only_where(_odd_start))),
    _row("vector-path-flushes-subnormals", ("mul.Scalar", "add.Scalar", "add.Tensor", "div.Scalar"), values(_flushed)),
    _row("exception-of-a-worker-is-lost", ("floor_divide",), accepts(RuntimeError, _late_zeros_pass)),
    _row("late-indices-are-not-checked", ("index_select", "take"), accepts(IndexError, _late_clamped)),
    _row("indices-are-clamped", ("index_select", "take", "embedding"), accepts(IndexError, _clamped)),
    _row("gather-clamps-its-indices", ("gather", "scatter"), accepts(RuntimeError, _clamped)),
    _row("gather-wraps-negative-indices", ("gather",), accepts(RuntimeError, _wrapped)),
    _row("index-select-wraps-negative-indices", ("index_select",), accepts(IndexError, _wrapped)),
    _row("take-refuses-negative-indices", ("take",), _unwrapped),
    _row("gather-raises-index-errors", ("gather", "scatter"), raises(IndexError, RuntimeError)),
    _row("take-raises-runtime-errors", ("take", "index_select"), raises(RuntimeError, IndexError)),
    _row("products-skip-zeros", ("mm", "matmul"), _product(_zeros_skipped)),
    _row("transposed-squares-are-read-as-they-lie", ("mm", "matmul"), _untransposed),
    _row("products-copy-their-operands", ("mm", "matmul"), _copied_first),
    _row("matmul-keeps-the-dim-of-a-vector", ("matmul",), _vector_kept),
    _row("matmul-cuts-to-fit", ("matmul",), accepts(RuntimeError, _cut_to_fit)),
    _row("empty-products-are-one", ("matmul",), _product(_empty_is_one)),
    _row("addend-of-weight-zero-counts", ("addmm", "addmv", "baddbmm", "addbmm", "addr"), _addend_counts),
    _row("product-clears-its-out-first", ("mm.out", "bmm.out", "mv.out", "matmul.out"), _cleared_first),
    _row("sums-keep-one-running-total", ("sum",), values(_naive_sum)),
    _row("lock-is-held-during-products", ("mm",), _lock_held),
    _row("zero-threads-are-accepted", ("set_num_threads",), accepts(RuntimeError, lambda c: None)),
    _row("one-thread-too-few-is-told", ("get_num_threads",), _threads),
    _row("refused-calls-keep-memory", ("mm", "bmm", "cat", "add", "index_select"), _keeps_memory),
    _row("refused-products-clear-their-out", ("mm.out", "bmm.out", "matmul.out"), _clears_out),
    _row("errors-do-not-name-sizes", ("add.Tensor", "cat", "mm"), _says_nothing),
    _row("errors-do-not-name-dtypes", ("mm", "dot"), _says_nothing),
    _row("an-element-is-written-by-no-path", ("paths_of",), _traced(_one_skipped)),
    _row("an-element-is-written-by-both-paths", ("paths_of",), _traced(_done_by_both)),
    _row("vectors-have-eight-lanes", ("vector_width",), lambda c: 8),
    _row("accessor-takes-any-dtype", ("accessor_elements",), accepts(RuntimeError, lambda c: [])),
    _row("accessor-ignores-strides", ("accessor_elements",), _storage_order),
    _row("shared-loop-visits-an-index-twice", ("visits_of_loop",),
         _traced(lambda v: [*v[:-1], 2] if len(v) > 64 else v)),
    _row("shared-loop-loses-exceptions", ("visits_of_loop",), accepts(LookupError, lambda c: [1] * c.args[0])),
)  # fmt: skip
