"""Copies where a view is due, views where a copy is due."""

from __future__ import annotations

from typing import Any

from .mutant import Intercepted, Mutant
from .patches import copies


def _copied(*names: str, name: str, area: str = "views") -> Mutant:
    return _row(name, area, names, copies)


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


def _row(name: str, area: str, operators: tuple[str, ...], patch: Any) -> Mutant:
    return Mutant(name, "aliasing and purity", area, operators, patch)


MUTANTS = (
    _copied("transpose", "t", "T", name="transpose-copies"),
    _copied("permute", "movedim", name="permute-copies"),
    _copied("expand", name="expand-is-materialised"),
    _copied("view", name="view-copies"),
    _copied("slice", "narrow", name="slice-copies"),
    _copied("select", name="select-copies"),
    _copied("__getitem__", name="indexing-copies"),
    _copied("squeeze", "unsqueeze", name="squeeze-copies"),
    _copied("detach", "data", name="detach-copies", area="storage"),
    _copied("split", "chunk", "split_with_sizes", name="split-copies"),
    _copied("unbind", "__iter__", name="unbind-copies"),
    _copied("diagonal", name="diagonal-copies"),
    _copied("unfold", name="unfold-copies"),
    _copied("view_as_real", "real", "imag", name="parts-of-complex-copy"),
    _copied("reshape", "flatten", name="reshape-always-copies"),
    _copied("contiguous", name="contiguous-always-copies", area="storage"),
    _row("reshape-copies-at-an-offset", "views", ("reshape",), _detached_base),
    _row("whole-slice-copies", "views", ("slice.Tensor",), _nothing_to_cut),
    _row("clone-is-a-view", "storage", ("clone",), _input_itself),
    _row("flip-of-one-is-a-view", "views", ("flip",), lambda c: _input_itself(c) if 1 in c.backend.shape(c.args[0])
         and len(c.backend.shape(c.args[0])) == 1 else c.right()),
    _row("to-ignores-copy", "storage", ("to.dtype", "to"), _input_of_its_dtype),
    _row("abs-of-unsigned-is-the-input", "iteration", ("abs",), _unsigned_input),
    _row("cat-of-one-is-a-view", "views", ("cat",), _only_part),
    _row("neighbouring-rows-are-a-view", "views", ("__getitem__", "index.Tensor", "index_select"), _range_of_rows),
    _row("mask-of-all-true-is-a-view", "views", ("__getitem__", "masked_select"), _all_true),
    _row("sum-of-one-is-a-view", "iteration", ("sum.dim_IntList",), _sum_of_one),
    _row("repeat-once-is-a-view", "views", ("repeat", "tile"), _repeat_once),
)  # fmt: skip
