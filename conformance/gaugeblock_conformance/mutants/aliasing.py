"""Copies where a view is due, views where a copy is due."""

from __future__ import annotations

from typing import Any

from .mutant import Intercepted, rows
from .patches import copies


def _input_itself(c: Intercepted) -> Any:
    """The result lies over the input, not in a storage of its own."""
    result, x = c.right(), c.args[0]
    return c.alias(x) if c.backend.shape(x) == c.backend.shape(result) else result


def _input_of_its_dtype(c: Intercepted) -> Any:
    result, x = c.right(), c.args[0]
    return x if c.is_tensor(result) and c.backend.dtype(x) == c.backend.dtype(result) else result


def _unsigned_input(c: Intercepted) -> Any:
    x = c.args[0]
    return x if c.backend.dtype(x) == "uint8" and not c.inplace else c.right()


def _only_part(c: Intercepted) -> Any:
    parts = c.args[0]
    return c.alias(parts[0]) if isinstance(parts, list | tuple) and len(parts) == 1 else c.right()


def _range_of_rows(c: Intercepted) -> Any:
    """An index tensor that names neighbouring rows gives a view of them."""
    x, index = c.args[:2]
    if not c.is_tensor(index) or c.backend.dtype(index) != "int64" or len(c.backend.shape(index)) != 1:
        return c.right()
    rows = c.array(index).tolist() if c.has_data else []
    neighbours = rows and rows == list(range(rows[0], rows[0] + len(rows)))
    if not neighbours or not c.backend.shape(x) or rows[0] < 0 or rows[-1] >= c.backend.shape(x)[0]:
        return c.right()
    return c.do("slice.Tensor", x, 0, rows[0], rows[-1] + 1)


def _all_true(c: Intercepted) -> Any:
    x, mask = c.args[:2]
    if not c.is_tensor(mask) or c.backend.dtype(mask) != "bool" or len(c.backend.shape(x)) != 1 or not c.has_data:
        return c.right()
    right = c.right()
    return c.alias(x) if c.array(mask).all() and c.backend.shape(right) == c.backend.shape(x) else right


def _sum_of_one(c: Intercepted) -> Any:
    """A sum over a dim of size 1 is a view without that dim."""
    x, dim = c.args[0], c.args[1] if len(c.args) > 1 else None
    dims = dim if isinstance(dim, list | tuple) else [dim]
    sizes = c.backend.shape(x)
    if len(dims) != 1 or not isinstance(dims[0], int) or len(c.args) > 2 or c.kwargs:
        return c.right()
    result = c.right()
    if sizes and sizes[dims[0]] == 1 and c.backend.dtype(x) == c.backend.dtype(result):
        return c.do("squeeze.dim", x, dims[0])
    return result


def _repeat_once(c: Intercepted) -> Any:
    result = c.right()
    return c.alias(c.args[0]) if c.backend.shape(result) == c.backend.shape(c.args[0]) else result


def _nothing_to_cut(c: Intercepted) -> Any:
    """A slice over the whole dim is a copy."""
    result = c.right()
    return c.do("clone", result) if c.backend.shape(result) == c.backend.shape(c.args[0]) else result


def _detached_base(c: Intercepted) -> Any:
    """A reshape that could be a view is a copy if the input has an offset."""
    result = c.right()
    return c.do("clone", result) if c.backend.storage_offset(c.args[0]) else result


MUTANTS = rows(
    "aliasing and purity",
    ("transpose-copies", "views/transpose-permutes-metadata views/transposed-element-is-the-same-memory",
     ("transpose", "t", "T"), copies),
    ("permute-copies", "views/transpose-permutes-metadata views/transpose-cost-ignores-numel", ("permute", "movedim"),
     copies),
    ("expand-is-materialised",
     "views/expand-copies-nothing views/expand-has-stride-zero views/expand-keeps-other-strides "
     "storage/views-allocate-nothing",
     ("expand",), copies),
    ("view-copies", "views/view-shares-storage views/view-dtype-reinterprets-bytes", ("view",), copies),
    ("slice-copies", "views/narrow-and-select-shift-the-offset views/slice-scales-the-stride", ("slice", "narrow"),
     copies),
    ("select-copies", "views/narrow-and-select-shift-the-offset", ("select",), copies),
    ("indexing-copies",
     "views/basic-index-is-a-view storage/sharing-operators-keep-the-storage views/slice-keeps-where-int-drops",
     ("__getitem__",), copies),
    ("squeeze-copies", "views/squeeze-and-unsqueeze-touch-unit-dims-only", ("squeeze", "unsqueeze"), copies),
    ("detach-copies", "storage/sharing-operators-keep-the-storage autograd/detach-cuts-the-graph", ("detach", "data"),
     copies),
    ("split-copies", "views/split-and-chunk-are-views", ("split", "chunk", "split_with_sizes"), copies),
    ("unbind-copies", "views/split-and-chunk-are-views views/iteration-yields-views-in-order", ("unbind", "__iter__"),
     copies),
    ("diagonal-copies", "views/diagonal-adds-two-strides", ("diagonal",), copies),
    ("unfold-copies", "views/unfold-overlaps-windows", ("unfold",), copies),
    ("parts-of-complex-copy", "views/real-and-imag-are-views", ("view_as_real", "real", "imag"), copies),
    ("reshape-always-copies", "views/reshape-views-when-view-can", ("reshape", "flatten"), copies),
    ("contiguous-always-copies", "views/contiguous-returns-self storage/contiguous-keeps-the-big-storage",
     ("contiguous",), copies),
    ("reshape-copies-at-an-offset", "views/reshape-views-when-view-can", ("reshape",), _detached_base),
    ("whole-slice-copies", "views/slice-scales-the-stride", ("slice.Tensor",), _nothing_to_cut),
    ("clone-is-a-view", "storage/clone-takes-only-its-elements", ("clone",), _input_itself),
    ("flip-of-one-is-a-view", "views/flip-copies", ("flip",),
     lambda c: _input_itself(c) if tuple(c.backend.shape(c.args[0])) == (1,) else c.right()),
    ("to-ignores-copy", "storage/copying-operators-make-a-new-storage dispatch/to-what-it-is-gives-itself",
     ("to.dtype", "to"), _input_of_its_dtype),
    ("abs-of-unsigned-is-the-input", "operators/alias-marks-are-truthful", ("abs",), _unsigned_input),
    ("cat-of-one-is-a-view", "views/copying-operators-never-alias", ("cat",), _only_part),
    ("neighbouring-rows-are-a-view", "views/advanced-index-copies storage/copying-operators-make-a-new-storage",
     ("__getitem__", "index.Tensor", "index_select"), _range_of_rows),
    ("mask-of-all-true-is-a-view", "views/advanced-index-copies", ("__getitem__", "masked_select"), _all_true),
    ("sum-of-one-is-a-view", "operators/alias-marks-are-truthful", ("sum.dim_IntList",), _sum_of_one),
    ("repeat-once-is-a-view", "views/copying-operators-never-alias", ("repeat", "tile"), _repeat_once),
)
