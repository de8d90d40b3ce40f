"""Wrong memory beside the backend's own: of arrays, of foreign addresses, with files, with deep copies."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ..backend import DType, numpy_dtype
from .mutant import Intercepted, Patch, rows
from .patches import accepts

_BLOB = ("from_blob",)
_SAVE = ("save_and_load",)
_COPY = ("deepcopy",)


def _reversed(c: Intercepted) -> bool:
    return any(stride < 0 for stride in c.args[0].strides)


def _straightened(c: Intercepted) -> Any:
    """An array with a negative stride is copied first."""
    return c.do("from_numpy", c.args[0].copy()) if _reversed(c) else c.right()


def _otherwise_refused(c: Intercepted) -> Any:
    return c.refuse(TypeError, "negative strides") if _reversed(c) else c.right()


def _copied_array(c: Intercepted) -> Any:
    """``from_numpy`` copies; what it cannot take it refuses as before."""
    c.right()
    return c.backend.from_numpy(np.array(c.args[0]))


def _let_be(place: int | str) -> Patch:
    """What cannot be done is left undone without a word; the argument at ``place`` is the answer."""

    def patch(c: Intercepted) -> Any:
        try:
            return c.right()
        except RuntimeError:
            answer = c.kwargs.get(place) if isinstance(place, str) else c.args[place]
            if answer is None:
                raise
            return answer

    return patch


def _flattened(c: Intercepted) -> Any:
    return c.right().reshape(-1)


def _deleted(change: Callable[[Callable[[int], object]], Callable[[int], object]]) -> Patch:
    """A blob with another deleter."""

    def patch(c: Intercepted) -> Any:
        address, sizes, dtype, deleter = c.args
        return c.backend.from_blob(address, sizes, dtype, change(deleter))  # type: ignore[attr-defined]

    return patch


def _twice(deleter: Callable[[int], object]) -> Callable[[int], object]:
    def delete(address: int) -> None:
        deleter(address)
        deleter(address)

    return delete


def _copied_blob(c: Intercepted) -> Any:
    """Foreign memory is copied and given back at once."""
    address, sizes, dtype, deleter = c.args
    kind = numpy_dtype(dtype)
    held = (ctypes.c_byte * (prod(sizes) * kind.itemsize)).from_address(address)
    result = c.backend.from_numpy(np.frombuffer(held, kind).reshape(sizes).copy())
    deleter(address)
    return result


def _one_by_one(c: Intercepted) -> Any:
    """Each tensor of a list by itself."""
    given = c.args[0]
    return [c.do(c.operator, x) for x in given] if isinstance(given, list) else c.right()


def _packed(c: Intercepted) -> Any:
    """Only the elements of a tensor are saved, not its storage."""
    given = c.args[0]
    if isinstance(given, list):
        return c.do(c.operator, [c.do("clone", x) for x in given])
    return c.do(c.operator, c.do("clone", given))


def _row_major(c: Intercepted) -> Any:
    result = c.right()
    return [c.do("contiguous", x) for x in result] if isinstance(result, list) else c.do("contiguous", result)


def _shallow(c: Intercepted) -> Any:
    given = c.args[0]
    return [c.do("detach", x) for x in given] if isinstance(given, list) else c.do("detach", given)


def _grown(c: Intercepted) -> Any:
    """A tensor in shared memory goes to memory of its own."""
    x, sizes = c.args
    made = c.do("empty.memory_format", sizes, dtype=DType(c.backend.dtype(x)))
    c.do("set_.source_Tensor", x, made)
    return x


def _made_dense(c: Intercepted) -> Any:
    """The address of a dense copy."""
    return c.backend.data_ptr(c.do("to_dense", c.args[0]))


MUTANTS = (
    *rows(
        "interop",
        ("reversed-arrays-are-copied", "views/negative-numpy-stride-raises interop/reversed-arrays-raise",
         ("from_numpy",), _straightened),
        ("reversed-arrays-are-type-errors", "views/negative-numpy-stride-raises interop/reversed-arrays-raise",
         ("from_numpy",), _otherwise_refused),
        ("arrays-are-copied",
         "interop/from-numpy-shares-memory storage/borrowed-memory-does-not-grow "
         "storage/set-needs-a-storage-long-enough",
         ("from_numpy",), _copied_array),
        ("borrowed-memory-keeps-its-sizes", "storage/borrowed-memory-does-not-grow", ("resize_",), _let_be(0)),
        ("borrowed-memory-is-set-past-its-end",
         "storage/set-needs-a-storage-long-enough storage/set-needs-the-same-dtype",
         ("set_",), _let_be(0)),
        ("out-over-borrowed-memory-stays", "operators/out-that-cannot-grow-raises", ("add", "cat", "sum"),
         _let_be("out")),
        ("arrays-of-tensors-are-flat", "autograd/numpy-refuses-tensors-that-require-grad", ("numpy",), _flattened),
        ("foreign-memory-is-copied", "storage/foreign-deleter-runs-after-last-view", _BLOB, _copied_blob),
        ("foreign-deleter-never-runs", "storage/foreign-deleter-runs-after-last-view", _BLOB,
         _deleted(lambda deleter: lambda address: None)),
        ("foreign-deleter-runs-twice", "storage/foreign-deleter-runs-after-last-view", _BLOB, _deleted(_twice)),
        ("foreign-deleter-gets-no-address", "storage/foreign-deleter-runs-after-last-view", _BLOB,
         _deleted(lambda deleter: lambda address: deleter(0))),
        ("saved-tensors-share-nothing", "storage/save-keeps-sharing", _SAVE, _one_by_one),
        ("saved-views-leave-their-storage", "storage/saved-view-carries-its-whole-storage", _SAVE, _packed),
        ("loaded-tensors-are-row-major", "storage/saved-view-carries-its-whole-storage", _SAVE, _row_major),
        ("deep-copies-share-nothing", "storage/deepcopy-keeps-sharing", _COPY, _one_by_one),
        ("deep-copies-are-views", "storage/deepcopy-keeps-sharing", _COPY, _shallow),
        ("memory-of-processes-moves-when-it-grows", "storage/shared-memory-growth-raises", ("resize_",),
         accepts(RuntimeError, _grown)),
        ("shared-growth-is-forgotten", "storage/shared-memory-growth-raises storage/borrowed-memory-does-not-grow",
         ("resize_",), accepts(RuntimeError, lambda c: c.args[0])),
        ("sparse-tensors-have-an-address", "storage/sparse-tensor-has-no-storage", ("data_ptr",),
         accepts(RuntimeError, _made_dense)),
        ("sparse-tensors-have-the-storage-of-their-values", "storage/sparse-tensor-has-no-storage",
         ("untyped_storage",),
         accepts(RuntimeError, lambda c: c.do("untyped_storage", c.do("to_dense", c.args[0])))),
    ),
)
