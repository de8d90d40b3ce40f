"""Storages that change size or identity, versions and bases that are counted for the wrong tensor."""

from __future__ import annotations

from typing import Any

from .mutant import Intercepted, rows


def _trimmed(c: Intercepted) -> Any:
    """``resize_`` to fewer elements gives the rest of the storage back."""
    x = c.args[0]
    needed = c.backend.storage_nbytes(x)
    result = c.right()
    if c.backend.storage_nbytes(x) != needed or not c.has_data or c.backend.storage_offset(x):
        return result
    sizes, strides, _ = c.geometry(x)
    reach = 0 if 0 in sizes else 1 + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))
    nbytes = reach * c.array_itemsize(x) if reach else 0
    c.memory[id(x)] = (x, nbytes) if nbytes < needed else None
    return result


def _reported(c: Intercepted) -> Any:
    """Trims on ``resize_`` and says so when asked for the length."""
    if c.operator != "storage_nbytes":
        return _trimmed(c)
    match c.memory.get(id(c.args[0])):
        case (x, int(nbytes)) if x is c.args[0]:
            return nbytes
    return c.right()


def _set_by_sizes(c: Intercepted) -> Any:
    """``is_set_to`` looks at storage, offset and sizes only."""
    x, y = c.args[:2]
    b = c.backend
    same = b.storage_id(x) == b.storage_id(y) and b.storage_offset(x) == b.storage_offset(y)
    return same and b.shape(x) == b.shape(y)


def _parent(c: Intercepted) -> Any:
    """The base of a view of a view is the view that it was made from."""
    result = c.right()
    made = c.memory.setdefault("parents", {})
    if c.operator == "_base":
        parent = made.get(id(c.args[0]))
        return parent[1] if parent is not None and parent[0] is c.args[0] else result
    if c.is_tensor(result) and c.is_tensor(c.args[0]) and result is not c.args[0]:
        made[id(result)] = (result, c.args[0])
    return result


def _own_version(c: Intercepted) -> Any:
    """``detach`` starts a version of its own."""
    result = c.right()
    return c.do("data", result) if "version" in c.backend.capabilities else result


def _numbered_twice_by_tensors(c: Intercepted) -> Any:
    result, x = c.right(), c.args[0]
    if c.is_tensor(c.args[2]) and c.has_data and 0 not in c.backend.shape(x):
        c.do("copy_", x, c.do("clone", x))
    return result


def _true_index(c: Intercepted) -> Any:
    """``x[True]`` is a view with a new dim."""
    return c.do("unsqueeze", c.args[0], 0) if c.args[1] is True else c.right()


def _eager_conjugate(c: Intercepted) -> Any:
    return c.do("resolve_conj", c.right())


def _zero_stride_kept(c: Intercepted) -> Any:
    """A clone of an expanded tensor is expanded too."""
    x = c.args[0]
    sizes, strides, offset = c.geometry(x)
    stretched = [k for k, (n, s) in enumerate(zip(sizes, strides, strict=True)) if n > 1 and s == 0]
    if not stretched or 0 in sizes:
        return c.right()
    narrow = c.do("as_strided", x, tuple(1 if k in stretched else n for k, n in enumerate(sizes)), strides, offset)
    return c.do("expand", c.do("clone", narrow), sizes)


def _by_value(c: Intercepted) -> Any:
    """The hash of a tensor depends on its elements."""
    return hash(c.array(c.args[0]).tobytes()) if c.has_data else c.right()


def _new_object(c: Intercepted) -> Any:
    result = c.right()
    return c.alias(result) if c.is_tensor(result) else result


def _behind_out(c: Intercepted) -> Any:
    """One element behind the end of ``out=`` is written too."""
    result, out = c.right(), c.kwargs.get("out")
    if not c.is_tensor(out) or not c.has_data or 0 in c.backend.shape(out):
        return result
    sizes, strides, offset = c.geometry(out)
    end = offset + 1 + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))
    if (end + 1) * c.array_itemsize(out) <= c.backend.storage_nbytes(out):
        last = c.do("as_strided", out, (1,), (1,), end - 1)
        c.put(c.do("as_strided", out, (1,), (1,), end), c.array(last))
    return result


def _single_value_lost(c: Intercepted) -> Any:
    """A value with one leading dim more is not dropped to the index's shape."""
    x, _, value = c.args[:3]
    if c.is_tensor(value) and len(c.backend.shape(value)) > len(c.backend.shape(x)):
        c.refuse(RuntimeError, "the value has too many dims")
    return c.right()


_VIEWS = ("__getitem__", "view", "unsqueeze", "transpose", "select", "t", "T", "expand", "squeeze", "slice", "_base")


_RESHAPED = ("transpose_", "squeeze_", "unsqueeze_", "t_")

MUTANTS = rows(
    "aliasing and purity",
    ("shrinking-resize-gives-memory-back", "storage/shrinking-resize-keeps-the-storage", ("resize_", "storage_nbytes"),
     _reported),
    ("is-set-to-ignores-strides", "storage/is-set-to-compares-metadata", ("is_set_to",), _set_by_sizes),
    ("base-is-the-direct-parent", "views/view-of-view-has-the-root-as-base", _VIEWS, _parent),
    ("detach-has-its-own-version", "views/version-is-shared-with-views autograd/detach-shares-the-version", ("detach",),
     _own_version),
    ("assigned-tensors-bump-twice", "views/inplace-bumps-version-by-one", ("__setitem__",), _numbered_twice_by_tensors),
    ("true-as-index-is-a-view", "views/scalar-bool-index-copies-into-a-new-dim", ("__getitem__",), _true_index),
    ("conjugate-is-eager", "views/conj-is-a-lazy-view", ("conj",), _eager_conjugate),
    ("clone-keeps-stride-0", "views/clone-packs-in-stride-order views/clone-contiguous-format-is-row-major", ("clone",),
     _zero_stride_kept),
    ("hash-by-value", "views/hash-is-identity", ("__hash__",), _by_value),
    ("metadata-inplace-returns-another-object", "views/inplace-metadata-operators-return-self", _RESHAPED, _new_object),
    ("element-behind-out-is-written",
     "operators/out-form-writes-out-alone kernels/nothing-outside-the-range-is-touched "
     "iteration/outputs-are-written-inputs-are-not[] views/undiagnosed-overlap-stays-in-bounds",
     ("add.out", "mul.out", "neg.out"), _behind_out),
    ("leading-unit-dim-of-a-value-stays", "views/assigned-value-broadcasts", ("__setitem__",), _single_value_lost),
)
