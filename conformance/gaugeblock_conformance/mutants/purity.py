"""What a call leaves behind: versions, bases, inputs, neighbours, old memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backend import Array
from .mutant import Intercepted, rows
from .patches import family, values

_INPLACE = ("add_", "mul_", "fill_", "copy_", "zero_", "sub_", "neg_")
_FRESH = ("add", "mul", "neg", "sum", "cumsum", "clone")


def _unnumbered(c: Intercepted) -> Any:
    """The write happens, the version stays."""
    x = c.args[0]
    if not c.is_tensor(x) or "version" not in c.backend.capabilities:
        return c.right()
    c.instead(c.do("data", x), *c.args[1:], **c.kwargs)
    return x


def _numbered_again(c: Intercepted) -> Any:
    result = c.right()
    if c.is_tensor(c.args[0]) and c.has_data:
        c.do("copy_", c.args[0], c.do("clone", c.args[0]))
    return result


def _reads_count(c: Intercepted) -> Any:
    """Reading moves the version."""
    result, x = c.right(), c.args[0]
    if "version" in c.backend.capabilities and c.is_tensor(x) and _writable(c, x):
        c.do("copy_", x, c.do("clone", x))
    return result


def _writable(c: Intercepted, x: Any) -> bool:
    sizes, strides, _ = c.geometry(x)
    return c.has_data and not any(s == 0 and n > 1 for n, s in zip(sizes, strides, strict=True))


def _no_base(c: Intercepted) -> Any:
    c.right()


def _own_copy_of_base(c: Intercepted) -> Any:
    """A base that is another object over the same memory."""
    result = c.right()
    return c.alias(result) if c.is_tensor(result) else result


def _returned_copy(c: Intercepted) -> Any:
    result = c.right()
    return c.alias(result) if c.is_tensor(result) else result


def _nothing_written(c: Intercepted) -> Any:
    """The in-place operator computes its result and forgets to store it."""
    x = c.args[0]
    if not c.is_tensor(x) or not c.has_data:
        return c.right()
    before = c.array(x)
    result = c.right()
    c.put(x, before)
    return result


def _input_touched(c: Intercepted) -> Any:
    """The first input's last element is overwritten."""
    result = c.right()
    x = c.args[0] if c.args else None
    if c.inplace or not c.is_tensor(x) or not c.has_data or not _writable(c, x):
        return result
    array = c.array(x)
    if array.size and c.is_tensor(result) and c.backend.storage_id(x) != c.backend.storage_id(result):
        flat = array.reshape(-1)
        flat[-1] = 0
        c.put(x, flat.reshape(array.shape))
    return result


def _gap_written(c: Intercepted) -> Any:
    """A row is written up to the next one, over the gap."""
    result, x = c.right(), c.args[0]
    if not c.is_tensor(x) or not c.has_data:
        return result
    sizes, strides, offset = c.geometry(x)
    if not sizes or 0 in sizes or strides[-1] < 2:
        return result
    room = c.backend.storage_nbytes(x) // c.array_itemsize(x)
    reach = offset + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))
    if reach + 1 < room:
        cell = c.do("as_strided", x, (1,), (1,), reach + 1)
        c.put(cell, c.array(c.do("as_strided", x, (1,), (1,), reach)))
    return result


def _before_written(c: Intercepted) -> Any:
    """The element before the first one is cleared too."""
    result, x = c.right(), c.args[0]
    if c.is_tensor(x) and c.has_data and c.backend.storage_offset(x) and 0 not in c.backend.shape(x):
        cell = c.do("as_strided", x, (1,), (1,), c.backend.storage_offset(x) - 1)
        c.put(cell, np.zeros(1, c.array(cell).dtype))
    return result


def _every_other_time(array: Array, c: Intercepted) -> Array | None:
    """The result depends on how often the operator has run."""
    c.memory["runs"] = c.memory.get("runs", 0) + 1
    if c.memory["runs"] % 2 or not array.size:
        return None
    flat = array.reshape(-1).copy()
    flat[0] = flat[0] + flat.dtype.type(1) if flat.dtype != bool else ~flat[0]
    return flat.reshape(array.shape)


def _old_memory(array: Array, c: Intercepted) -> Array | None:
    """The last element of a result is not written: it shows what an earlier result left there."""
    key = ("old", array.dtype.name, array.size)
    old, c.memory[str(key)] = c.memory.get(str(key)), array.reshape(-1)[-1]
    if old is None:
        return None
    flat = array.reshape(-1).copy()
    flat[-1] = old
    return flat.reshape(array.shape)


def _more_threads(c: Intercepted) -> Any:
    result = c.right()
    c.memory["threads"] = c.args[0]
    return result


def _by_threads(c: Intercepted) -> Any:
    """With more than one thread the first element of each chunk but the first is lost."""
    if c.operator == "set_num_threads":
        return _more_threads(c)
    return values(_first_of_chunk)(c)


def _first_of_chunk(array: Array, c: Intercepted) -> Array | None:
    threads = c.memory.get("threads", 1)
    if threads < 2 or array.size < 32768:
        return None
    flat = array.reshape(-1).copy()
    flat[array.size // threads] = 0
    return flat.reshape(array.shape)


def _forward_copy(c: Intercepted) -> Any:
    """Overlapping copies run element by element, forwards, over what they have written already."""
    x, source = c.args[:2]
    if not c.is_tensor(source) or not c.has_data or x is source:
        return c.right()
    if c.backend.storage_id(x) != c.backend.storage_id(source) or c.backend.shape(x) != c.backend.shape(source):
        return c.right()
    if len(c.backend.shape(x)) != 1 or c.backend.dtype(x) != c.backend.dtype(source):
        return c.right()
    for k in range(c.backend.shape(x)[0]):
        c.do("copy_", c.do("select.int", x, 0, k), c.do("select.int", source, 0, k))
    return x


def _lost_on_growth(c: Intercepted) -> Any:
    x = c.args[0]
    nbytes = c.backend.storage_nbytes(x)
    result = c.right()
    if c.backend.storage_nbytes(x) > nbytes and c.has_data:
        c.do("zero_", x)
    return result


def _page(c: Intercepted) -> Any:
    return -(-c.right() // 64) * 64


def _apart(c: Intercepted) -> Any:
    """Every view reports a storage of its own."""
    return (c.right(), c.backend.storage_offset(c.args[0]))


def _materialised(c: Intercepted) -> Any:
    """Expanded operands are copied first."""

    def packed(value: Any) -> Any:
        wide = c.is_tensor(value) and any(s == 0 and n > 1 for n, s in zip(*c.geometry(value)[:2], strict=True))
        return c.do("contiguous", value) if wide else value

    return c.instead(*map(packed, c.args), **c.kwargs)


MUTANTS = rows(
    "aliasing and purity",
    ("version-is-not-bumped", "views/inplace-bumps-version-by-one operators/inplace-form-returns-its-own-tensor[]",
     _INPLACE, _unnumbered),
    ("version-is-bumped-twice", "views/inplace-bumps-version-by-one operators/inplace-form-returns-its-own-tensor[]",
     _INPLACE, _numbered_again),
    ("version-is-bumped-by-reads", "views/reads-do-not-bump-version", ("sum", "item", "__getitem__", "clone", "neg"),
     _reads_count),
    ("views-have-no-base", "views/view-of-view-has-the-root-as-base", ("_base",), _no_base),
    ("base-is-another-object", "views/view-of-view-has-the-root-as-base", ("_base",), _own_copy_of_base),
    ("inplace-returns-another-object", "operators/inplace-form-returns-its-own-tensor",
     ("add_", "mul_", "fill_", "copy_"), _returned_copy),
    ("inplace-forgets-to-store", "iteration/outputs-are-written-inputs-are-not[] operators/forms-agree-bit-for-bit[]",
     ("neg_", "mul_", "sub_"), _nothing_written),
    ("out-is-not-written", "iteration/outputs-are-written-inputs-are-not[] operators/forms-agree-bit-for-bit[]",
     ("add.out", "mul.out"), lambda c: _out_kept(c)),
    ("input-is-overwritten", "operators/functional-forms-leave-their-inputs-alone[]", family("reduction"),
     _input_touched),
    ("input-of-pointwise-is-overwritten", "iteration/outputs-are-written-inputs-are-not[]", ("mul", "exp", "where"),
     _input_touched),
    ("gap-behind-is-written", "kernels/nothing-outside-the-range-is-touched", ("fill_", "mul_", "zero_"), _gap_written),
    ("element-before-is-written",
     "kernels/nothing-outside-the-range-is-touched iteration/any-strides-copy-to-any-strides", ("copy_", "add_"),
     _before_written),
    ("result-depends-on-the-run", "iteration/strided-inputs-give-the-same-values[]", ("add", "neg", "mul"),
     values(_every_other_time)),
    ("result-shows-old-memory", "iteration/results-ignore-old-memory[sum] iteration/results-ignore-old-memory[cumsum]",
     _FRESH, values(_old_memory)),
    ("expanded-operands-are-copied", "iteration/broadcast-inputs-are-not-materialised[]",
     ("neg", "clamp", "where", "addcmul", "gt", "maximum"), _materialised),
    ("products-and-orders-show-old-memory", "iteration/results-ignore-old-memory[]",
     ("mm", "sort", "gather", "cat", "tril", "var", "where"), values(_old_memory)),
    ("result-depends-on-threads", "iteration/elementwise-ignores-thread-count",
     ("set_num_threads", "exp", "add", "mul", "sin"), _by_threads),
    ("overlapping-copy-runs-forwards", "views/partial-overlap-raises", ("copy_",), _forward_copy),
    ("resize-loses-elements", "storage/growing-resize-keeps-old-elements", ("resize_",), _lost_on_growth),
    ("storage-bytes-are-rounded-up",
     "storage/fresh-storage-is-numel-times-itemsize storage/tensor-is-metadata-over-one-storage", ("storage_nbytes",),
     _page),
    ("views-report-storages-of-their-own", "storage/same-storage-means-alias", ("storage_id",), _apart),
)


def _out_kept(c: Intercepted) -> Any:
    out = c.kwargs.get("out")
    if not c.is_tensor(out) or not c.has_data:
        return c.right()
    before = c.array(out)
    result = c.right()
    return c.put(result, before) if tuple(before.shape) == tuple(c.backend.shape(result)) else result
