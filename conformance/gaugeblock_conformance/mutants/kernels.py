"""Kernels with a bad tail, a path of their own, or a check too few."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from ..backend import Array
from .mutant import Intercepted, rows
from .patches import accepts, floating, nudged, values

_STEP = 8
_POINTWISE = ("add.Tensor", "sub.Tensor", "mul.Tensor", "div.Tensor", "neg", "abs", "sqrt")
_GRAIN = 32768
# Seconds of a long call, and a number of additions in Python that takes several seconds.
_LONG_CALL, _ADDITIONS = 0.02, 5e8


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


def _late_zeros_pass(c: Intercepted) -> Any:
    divisor = c.array(c.args[1]) if c.is_tensor(c.args[1]) else np.zeros(0)
    if divisor.size <= _GRAIN or not divisor[:_GRAIN].all():
        return c.refuse(RuntimeError, "division by zero")
    return c.do(c.operator, c.args[0], c.tensor(np.where(divisor == 0, 1, divisor).astype(divisor.dtype)))


def _naive_sum(array: Array, c: Intercepted) -> Array | None:
    """float32 sums of one running total."""
    x = c.array(c.args[0]) if c.is_tensor(c.args[0]) else np.zeros(0)
    if x.dtype != np.float32 or array.ndim or x.size < 2**12:
        return None
    return np.cumsum(x.reshape(-1), dtype=np.float32)[-1:].reshape(())


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


def _threads(c: Intercepted) -> Any:
    """One thread too few is told."""
    return max(1, c.right() - 1)


def _only_stored(c: Intercepted) -> Any:
    """The number of threads is stored and returned, but no kernel uses it."""
    if c.operator == "get_num_threads":
        return c.memory.get("threads", c.right())
    if not isinstance(c.args[0], int) or c.args[0] < 1:
        return c.right()
    c.memory["threads"] = c.args[0]
    return None


def _on_a_worker(c: Intercepted) -> Any:
    """Ranges shorter than the grain also run on a worker thread."""
    if not c.is_tensor(c.args[0]) or not _GRAIN // 8 <= c.array(c.args[0]).size < _GRAIN:
        return c.right()
    workers = c.memory.setdefault("workers", ThreadPoolExecutor(1))
    return workers.submit(c.right).result()


def _lock_held(c: Intercepted) -> Any:
    """A long call holds the host lock for most of its time."""
    started = time.perf_counter()
    result = c.right()
    took = time.perf_counter() - started
    if took > _LONG_CALL:
        sum(range(int(took * _ADDITIONS)))
    return result


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


def _vector_everywhere(c: Intercepted) -> Any:
    """The vector form is entered for strided operands, by gathering lanes."""
    paths = c.right()
    return replace(paths, vector=np.ones_like(paths.vector), scalar=np.zeros_like(paths.scalar), buffered=False)


def _always_buffered(c: Intercepted) -> Any:
    return replace(c.right(), buffered=True)


MUTANTS = (
    *rows(
        "kernels",
        ("tail-is-skipped", "kernels/every-path-gives-the-same-bits", _POINTWISE,
         values(lambda a, c: _tail(a, np.zeros_like))),
        ("tail-is-done-twice", "kernels/every-index-has-one-worker", ("add_.Scalar", "mul_.Scalar"), _twice),
        ("element-behind-the-end-is-written", "kernels/nothing-outside-the-range-is-touched",
         ("add_", "mul_", "neg_", "fill_", "zero_", "copy_"), _past_the_end),
        ("vector-path-is-off-by-one-unit", "kernels/every-path-gives-the-same-bits", ("div.Tensor", "mul.Tensor"),
         values(_only_where(lambda a, c: a.ndim == 1 and a.size >= 2 * _STEP))),
        ("strided-path-is-off-by-one-unit",
         "kernels/every-path-gives-the-same-bits iteration/strided-inputs-give-the-same-values[]",
         ("mul.Tensor", "add.Tensor"), values(_only_where(lambda a, c: _stride(c) > 1))),
        ("lower-instruction-sets-are-off-by-one-unit", "kernels/instruction-sets-agree", ("on_instruction_set",),
         _traced(lambda found: [nudged(a, 1) if floating(a) else a for a in found])),
        ("start-of-the-data-decides", "kernels/every-path-gives-the-same-bits", ("sub.Tensor", "div.Tensor", "sqrt"),
         values(_only_where(_odd_start))),
        ("vector-path-flushes-subnormals", "kernels/subnormals-are-kept",
         ("mul.Scalar", "add.Scalar", "add.Tensor", "div.Scalar"), values(_flushed)),
        ("exception-of-a-worker-is-lost", "kernels/exceptions-in-workers-reach-the-caller", ("floor_divide",),
         accepts(RuntimeError, _late_zeros_pass)),
        ("sums-keep-one-running-total", "kernels/long-sums-stay-accurate dtypes/float32-sum-error-grows-slowly",
         ("sum",),
         values(_naive_sum)),
        ("zero-threads-are-accepted", "kernels/thread-count-can-be-set", ("set_num_threads",),
         accepts(RuntimeError, lambda c: None)),
        ("one-thread-too-few-is-told", "kernels/thread-count-can-be-set", ("get_num_threads",), _threads),
        ("number-of-threads-is-only-stored", "kernels/thread-count-can-be-set", ("set_num_threads", "get_num_threads"),
         _only_stored),
        ("short-ranges-are-shared-out", "iteration/chunks-cover-the-range-once[]", ("add.Tensor", "neg", "gt.Tensor"),
         _on_a_worker),
        ("shared-loop-runs-on-one-thread", "kernels/thread-count-can-be-set", ("threads_of_loop",), lambda c: 1),
        ("host-lock-is-held-outside-products", "kernels/host-lock-is-released[]", ("exp", "cumsum", "sort", "clone"),
         _lock_held),
        ("refused-calls-keep-memory", "kernels/refused-calls-leave-no-memory-behind[]",
         ("mm", "bmm", "cat", "add", "index_select"), _keeps_memory),
        ("refused-products-clear-their-out", "kernels/refused-calls-write-nothing[]",
         ("mm.out", "bmm.out", "matmul.out"), _clears_out),
        ("errors-do-not-name-sizes", "kernels/shape-errors-say-what-was-given operators/shape-errors-name-the-sizes",
         ("add.Tensor", "cat", "mm"), _says_nothing),
        ("errors-do-not-name-dtypes", "kernels/dtype-errors-say-what-was-given[]", ("mm", "dot"), _says_nothing),
        ("an-element-is-written-by-no-path", "kernels/every-element-is-written-by-one-path", ("paths_of",),
         _traced(_one_skipped)),
        ("an-element-is-written-by-both-paths", "kernels/every-element-is-written-by-one-path", ("paths_of",),
         _traced(_done_by_both)),
        ("vectors-have-eight-lanes", "kernels/vector-width-follows-dtype", ("vector_width",), lambda c: 8),
        ("accessor-takes-any-dtype", "kernels/accessor-checks-once", ("accessor_elements",),
         accepts(RuntimeError, lambda c: [])),
        ("accessor-ignores-strides", "kernels/accessor-follows-strides", ("accessor_elements",), _storage_order),
        ("shared-loop-visits-an-index-twice", "kernels/every-index-has-one-worker", ("visits_of_loop",),
         _traced(lambda v: [*v[:-1], 2] if len(v) > 64 else v)),
        ("shared-loop-loses-exceptions", "kernels/exceptions-in-workers-reach-the-caller", ("visits_of_loop",),
         accepts(LookupError, lambda c: [1] * c.args[0])),
    ),
    *rows(
        "kernels",
        ("vectors-are-gathered", "kernels/vector-form-needs-neighbours", ("paths_of",), _vector_everywhere),
        ("contiguous-operands-are-buffered", "kernels/vector-form-needs-neighbours", ("paths_of",), _always_buffered),
    ),
)
