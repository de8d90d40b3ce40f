"""Storages that have the wrong bytes, come from the wrong place, go too early or stay for good."""

from __future__ import annotations

import os
import signal
from typing import Any

from .mutant import Intercepted, rows
from .patches import accepts, with_data

_FACTORIES = ("zeros", "ones", "empty")
_SET = "set_.source_Storage_storage_offset"


def _converted(c: Intercepted) -> Any:
    return c.do("to.dtype", c.args[0], c.args[1])


def _columns_first(c: Intercepted) -> Any:
    """The right result, its elements lying column by column."""
    result = c.right()
    if not c.is_tensor(result) or len(c.backend.shape(result)) < 2:
        return result
    turned = c.do("clone", c.do("contiguous", c.do("transpose.int", result, 0, -1)))
    return c.do("transpose.int", turned, 0, -1)


def _nothing_refused(c: Intercepted) -> Any:
    sizes = c.args[0] if isinstance(c.args[0], list | tuple) else c.args
    return c.refuse(RuntimeError, "there is nothing to allocate") if 0 in sizes else c.right()


def _spoiled(c: Intercepted) -> Any:
    """After a refused request the next one is refused too."""
    spoiled = c.memory.pop("spoiled", False)
    try:
        result = c.right()
    except Exception:
        c.memory["spoiled"] = True
        raise
    return c.refuse(RuntimeError, "out of memory") if spoiled else result


def _shrunk(c: Intercepted) -> Any:
    """A growth that fails leaves a tensor without elements."""
    try:
        return c.right()
    except Exception:
        c.do("resize_", c.args[0], (0,))
        raise


def _remembered(c: Intercepted) -> Any:
    """Results are cached until the tensor's version changes, so that writes through ``data`` go unnoticed."""
    x, *given = c.args
    version = c.backend.version_of(x)  # type: ignore[attr-defined]
    *known, result = c.memory.get(c.operator, (None, None))
    if known == [id(x), version, given]:
        return c.do("clone", result)
    result = c.right()
    c.memory[c.operator] = id(x), version, given, c.do("clone", result)
    c.memory["alive"] = x  # So that no other tensor gets its id.
    return result


def _part_alone(c: Intercepted) -> Any:
    """A part of a tensor gets memory for itself."""
    result = c.right()
    return c.do("clone", result) if c.is_tensor(result) else result


def _kept(c: Intercepted) -> Any:
    """A view that was taken is never given up."""
    result = c.right()
    c.memory.setdefault("kept", []).append(result)
    return result


def _kept_before(c: Intercepted) -> Any:
    """The memory that a tensor leaves when it grows is never given back."""
    c.memory.setdefault("kept", []).append(c.alias(c.args[0]))
    return c.right()


def _keeps_argument(c: Intercepted) -> Any:
    """The first argument of a call that raises is kept with the error."""
    try:
        return c.right()
    except Exception:
        c.memory.setdefault("kept", []).append(c.args[0])
        raise


def _of_numpy(c: Intercepted) -> Any:
    """The result lies in memory of NumPy's."""
    result = c.right()
    return c.do("from_numpy", c.array(result)) if c.is_tensor(result) else result


def _no_growth(c: Intercepted) -> Any:
    x, source, offset, sizes, strides = c.args
    reach = 0 if 0 in sizes else offset + 1 + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))
    if reach * c.array_itemsize(x) > c.backend.storage_nbytes(source):
        c.refuse(RuntimeError, "out of bounds for the storage")
    return c.right()


def _killed(c: Intercepted) -> Any:
    os.kill(os.getpid(), signal.SIGSEGV)


MUTANTS = (
    *rows(
        "aliasing and purity",
        ("bytes-are-converted-to-a-dtype", "storage/storage-has-no-dtype", ("view.dtype",), with_data(_converted)),
        ("refused-request-spoils-the-next", "storage/failed-allocation-leaves-no-trace", _FACTORIES, _spoiled),
        ("refused-growth-empties", "storage/failed-allocation-leaves-no-trace", ("resize_",), _shrunk),
        ("readers-remember-by-version", "storage/write-is-seen-through-every-alias",
         ("sum", "amax", "any", "argmin", "neg"), with_data(_remembered)),
        ("parts-leave-their-storage", "storage/storage-outlives-its-first-tensor", ("__getitem__",), _part_alone),
        ("views-are-never-given-up", "storage/storage-is-released-with-last-tensor",
         ("unsqueeze", "transpose", "reshape", "detach"), _kept),
        ("refused-calls-keep-their-argument", "storage/calls-keep-no-reference", ("select", "view", "permute"),
         _keeps_argument),
        ("zeros-lie-in-memory-of-others", "storage/allocator-is-replaceable", ("zeros",), with_data(_of_numpy)),
        ("memory-before-growth-is-kept", "storage/deleter-runs-once", ("resize_",), _kept_before),
        ("set-never-grows", "storage/set-grows-a-resizable-storage", (_SET,), _no_growth),
    ),
    *rows(
        "strides and layout",
        ("packed-tensors-lie-columns-first",
         "storage/elements-lie-row-major views/contiguous-copies-to-default-strides", ("contiguous",), _columns_first),
    ),
    *rows(
        "empties and errors",
        ("nothing-cannot-be-asked-for", "storage/zero-bytes-can-be-asked-for", _FACTORIES, _nothing_refused),
    ),
    *rows(
        "kernels",
        ("places-outside-kill-the-process", "storage/no-call-kills-the-process", ("take", "gather"),
         accepts(IndexError, _killed)),
        deadly=True,
    ),
)
