"""Indices, assignments, sizes and views that take too little, too much, or what is not theirs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .mutant import Intercepted, Patch, rows
from .patches import accepts, with_data


def _items(c: Intercepted) -> tuple[Any, ...]:
    return c.args[1] if isinstance(c.args[1], tuple) else (c.args[1],)


def _each_index(change: Callable[[Intercepted, Any], Any]) -> Callable[[Intercepted], Any]:
    """The index with each of its tensors passed through ``change`` (call, tensor)."""

    def patch(c: Intercepted) -> Any:
        items = tuple(change(c, item) if c.is_tensor(item) else item for item in _items(c))
        return c.do(c.operator, c.args[0], items, *c.args[2:])

    return patch


def _no_strides(c: Intercepted) -> Any:
    return tuple(c.right()) or (1,)


def _outside_refused(c: Intercepted) -> Any:
    sizes = c.backend.shape(c.args[0])
    for item, size in zip(_items(c), sizes, strict=False):
        if isinstance(item, slice) and any(type(n) is int and abs(n) > size for n in (item.start, item.stop)):
            c.refuse(IndexError, f"slice out of range for a dim of size {size}")
    return c.right()


def _one_in_front(c: Intercepted) -> Any:
    """-1 for a new leading dim is 1."""
    sizes = c.args[1]
    new = len(sizes) - len(c.backend.shape(c.args[0]))
    return c.do("expand", c.args[0], tuple(1 if k < new and n == -1 else n for k, n in enumerate(sizes)))


def _flattened(c: Intercepted) -> Any:
    """-1 stands for all elements."""
    sizes = c.args[1]
    inferred = isinstance(sizes, list | tuple) and -1 in sizes
    return c.do("view", c.args[0], (-1,)) if inferred else c.right()


def _nothing_done(c: Intercepted) -> Any:
    c.right()
    return c.args[0]


def _inside_alone(c: Intercepted) -> Any:
    """The view has to lie between the first and the last element of the input."""
    x, sizes, strides, *rest = c.args
    own, steps, start = c.geometry(x)
    offset = rest[0] if rest and rest[0] is not None else start
    if 0 in own or 0 in sizes:
        return c.right()
    last = start + sum((n - 1) * s for n, s in zip(own, steps, strict=True))
    if offset < start or offset + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True)) > last:
        c.refuse(RuntimeError, "the view reaches outside of its input")
    return c.right()


def _grid(c: Intercepted) -> Any:
    """Two lines of indices name every row with every column."""
    items = _items(c)
    if len(items) != 2 or not all(c.is_tensor(item) and len(c.backend.shape(item)) == 1 for item in items):
        return c.right()
    if any(c.backend.dtype(item) in ("bool", "uint8") for item in items):
        return c.right()
    return c.instead(c.args[0], (c.do("unsqueeze", items[0], 1), items[1]))


def _narrow_refused(c: Intercepted) -> Any:
    if any(c.is_tensor(item) and c.backend.dtype(item) == "int32" for item in _items(c)):
        c.refuse(IndexError, "indices have to be int64")
    return c.right()


def _whole(c: Intercepted, item: Any) -> Any:
    return c.do("long", item) if c.backend.dtype(item).startswith("float") else item


def _empties_refused(c: Intercepted) -> Any:
    if any(0 in c.backend.shape(x) for x in c.args[0] if c.is_tensor(x)):
        c.refuse(RuntimeError, "a tensor without elements")
    return c.right()


def _assigned_elsewhere(c: Intercepted) -> Any:
    return c.do("__setitem__", c.do("clone", c.args[0]), *c.args[1:])


def _expanded_refused(c: Intercepted) -> Any:
    sizes, strides, _ = c.geometry(c.args[0])
    if any(n > 1 and s == 0 for n, s in zip(sizes, strides, strict=True)):
        c.refuse(RuntimeError, "elements share their memory")
    return c.right()


def _shared(same: bool) -> Patch:
    """Outputs over the storage of an input are refused: those with its geometry, or those with another."""

    def patch(c: Intercepted) -> Any:
        out = c.kwargs.get("out", c.args[0])
        for x in c.args if "out" in c.kwargs else c.args[1:]:
            if not c.is_tensor(x) or c.backend.storage_id(x) != c.backend.storage_id(out):
                continue
            if (c.geometry(x) == c.geometry(out)) is same:
                c.refuse(RuntimeError, "the output shares the storage of an input")
        return c.right()

    return patch


_WRITERS = ("add.out", "neg.out", "copy_", "add_.Tensor")


def _indices(c: Intercepted) -> tuple[Any, ...]:
    return c.args[1] if isinstance(c.args[1], tuple) else (c.args[1],)


def _to_the_front(c: Intercepted) -> Any:
    """The dims of adjacent index tensors come first in the result."""
    result, items = c.right(), _indices(c)
    places = [k for k, item in enumerate(items) if c.is_tensor(item)]
    plain = all(c.is_tensor(item) or item == slice(None) for item in items)
    if not plain or len(places) < 2 or places[0] == 0 or places != list(range(places[0], places[-1] + 1)):
        return result
    count = max(len(c.backend.shape(items[k])) for k in places)
    rank, first = len(c.backend.shape(result)), places[0]
    moved = range(first, first + count)
    return c.do("permute", result, (*moved, *(k for k in range(rank) if k not in moved)))


def _kept_dim(c: Intercepted) -> Any:
    """An int beside an index tensor keeps its dim."""
    result, items = c.right(), _indices(c)
    beside = any(type(item) is int for item in items) and any(map(c.is_tensor, items))
    return c.do("unsqueeze", result, 0) if beside else result


def _summed(c: Intercepted) -> Any:
    """Values for an index that stands twice are added up."""
    x, index, value = c.args[:3]
    if not (c.is_tensor(index) and c.is_tensor(value) and c.has_data):
        return c.right()
    if c.backend.dtype(index) != "int64" or c.backend.dtype(value) != c.backend.dtype(x):
        return c.right()
    c.right()
    c.do("index_put_", x, [index], c.do("zeros_like", value), False)
    c.do("index_put_", x, [index], value, True)
    return None


MUTANTS = (
    *rows(
        "strides and layout",
        ("numbers-have-a-stride", "views/zero-dim-has-no-strides", ("strides",), _no_strides),
        ("minus-one-is-a-new-dim-of-one", "views/expand-minus-one-keeps-a-size", ("expand",),
         accepts(RuntimeError, _one_in_front)),
        ("minus-one-stands-for-all", "views/view-infers-one-dim", ("view",), _flattened),
        ("packing-does-nothing", "views/contiguous-copies-to-default-strides", ("contiguous",), _nothing_done),
        ("views-stay-inside-their-input", "views/as-strided-reaches-the-whole-storage", ("as_strided",),
         _inside_alone),
    ),
    *rows(
        "values",
        ("two-index-tensors-form-a-grid", "views/advanced-indices-broadcast", ("__getitem__",), _grid),
        ("float-indices-are-truncated", "views/index-tensor-dtypes", ("__getitem__",),
         with_data(accepts(IndexError, _each_index(_whole)))),
    ),
    *rows(
        "empties and errors",
        ("bounds-outside-are-refused", "views/slices-clamp", ("__getitem__",), _outside_refused),
        ("int32-indices-are-refused", "views/index-tensor-dtypes", ("__getitem__",), _narrow_refused),
        ("nothing-cannot-be-joined", "views/zero-size-dims-are-legal", ("cat",), _empties_refused),
        ("numbers-have-a-length", "views/zero-dim-has-one-element", ("__len__",), accepts(TypeError, lambda c: 1)),
        ("expanded-tensors-cannot-be-filled", "views/fill-of-stride-zero-is-allowed", ("fill_", "zero_"),
         _expanded_refused),
        ("exact-aliases-are-refused", "views/exact-alias-is-allowed", _WRITERS, _shared(same=True)),
        ("disjoint-parts-are-refused", "views/disjoint-parts-of-one-storage-are-allowed", _WRITERS,
         _shared(same=False)),
    ),
    *rows(
        "aliasing and purity",
        ("tensors-are-their-own-base", "views/non-view-has-no-base", ("_base",),
         lambda c: c.args[0] if c.right() is None else c.right()),
        ("assignments-go-to-a-copy", "views/index-assignment-writes-into-the-tensor", ("__setitem__",),
         _assigned_elsewhere),
    ),
    *rows(
        "strides and layout",
        ("adjacent-advanced-dims-come-first", "views/adjacent-advanced-dims-stay-in-place", ("__getitem__",),
         _to_the_front),
        ("int-beside-index-tensor-keeps-its-dim", "views/int-beside-index-tensor-selects-first", ("__getitem__",),
         _kept_dim),
    ),
    *rows(
        "values",
        ("repeated-indices-add-up", "views/repeated-index-stores-one-value", ("__setitem__",), _summed),
    ),
)
