"""Tensors without elements, and dims that reductions keep, drop or name."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backend import Array
from .mutant import Intercepted, rows
from .patches import accepts, filled, values


def _of_nothing(value: float) -> Any:
    """``value`` where the right backend gives the identity of an empty reduction."""

    def change(array: Array, c: Intercepted) -> Array | None:
        if not c.is_tensor(c.args[0]) or 0 not in c.backend.shape(c.args[0]):
            return None
        return np.full(array.shape, value).astype(array.dtype)

    return values(change)


def _zero_for_nothing(c: Intercepted) -> Any:
    return filled(c, (), 0, c.backend.dtype(c.args[0]))


def _dropped(c: Intercepted) -> Any:
    """``keepdim`` makes no difference."""
    kwargs = {k: v for k, v in c.kwargs.items() if k != "keepdim"}
    args = tuple(a for k, a in enumerate(c.args) if k < 2 or not isinstance(a, bool))
    return c.instead(*args, **kwargs)


def _named_twice(c: Intercepted) -> Any:
    x, dims = c.args[0], c.args[1] if len(c.args) > 1 else c.kwargs.get("dim")
    rank = len(c.backend.shape(x))
    if not isinstance(dims, list | tuple) or any(not -rank <= d < rank for d in dims):
        return c.refuse(RuntimeError, "bad dims")
    return c.do(c.operator, x, sorted({d % rank for d in dims}), *c.args[2:], **c.kwargs)


def _nothing_reduced(c: Intercepted) -> Any:
    """An empty list of dims reduces over none."""
    dims = c.args[1] if len(c.args) > 1 else None
    return c.do("clone", c.args[0]) if dims in ((), []) else c.right()


def _population(c: Intercepted) -> Any:
    """The default correction is 0."""
    x = c.args[0]
    if len(c.args) > 1 or c.kwargs:
        return c.right()
    return c.do(f"{c.base}.correction", x, None, correction=0)


def _finite_without_freedom(array: Array, c: Intercepted) -> Array | None:
    return np.where(np.isfinite(array), array, array.dtype.type(0)) if array.dtype.kind == "f" and c.has_data else None


def _one_step_behind(c: Intercepted) -> Any:
    """A scan that leaves the element itself out."""
    result = c.right()
    if not c.has_data or c.inplace or not c.is_tensor(result):
        return result
    array, dim = c.array(result), c.args[1]
    if not array.ndim or not array.size:
        return result
    moved = np.roll(array, 1, axis=dim)
    np.moveaxis(moved, dim, 0)[0] = 1 if c.base == "cumprod" else 0
    return c.put(result, moved)


def _empty_is_one(c: Intercepted) -> Any:
    """A tensor without elements counts as one with one element."""
    result = c.right()
    return 1 if c.is_tensor(c.args[0]) and result == 0 else result


def _empties_are_skipped(c: Intercepted) -> Any:
    """An empty dim disappears when shapes broadcast."""
    tensors = [a for a in c.args[:2] if c.is_tensor(a)]
    shapes = [tuple(c.backend.shape(a)) for a in tensors]
    if len(tensors) == 2 and (0,) in shapes and shapes[0] != shapes[1]:
        full = tensors[shapes.index((0,)) - 1]
        return c.do("clone", full)
    return c.right()


MUTANTS = rows(
    "empties and errors",
    ("sum-of-nothing-is-one", "iteration/empty-reductions-give-the-identity", ("sum",), _of_nothing(1)),
    ("prod-of-nothing-is-zero", "iteration/empty-reductions-give-the-identity", ("prod",), _of_nothing(0)),
    ("mean-of-nothing-is-zero", "iteration/empty-averages-are-nan", ("mean",), _of_nothing(0)),
    ("all-of-nothing-is-false", "iteration/empty-reductions-give-the-identity", ("all",), _of_nothing(0)),
    ("any-of-nothing-is-true", "iteration/empty-reductions-give-the-identity", ("any",), _of_nothing(1)),
    ("logsumexp-of-nothing-is-zero", "iteration/empty-reductions-give-the-identity", ("logsumexp",), _of_nothing(0)),
    ("max-of-nothing-is-zero", "iteration/empty-extrema-raise", ("max", "min", "amax", "amin"),
     accepts(RuntimeError, _zero_for_nothing)),
    ("argmax-of-nothing-is-zero", "iteration/empty-extrema-raise", ("argmax", "argmin"),
     accepts(IndexError, lambda c: filled(c, (), 0, "int64"))),
    ("keepdim-is-ignored", "iteration/reduced-dims-drop-or-stay-as-one", ("sum", "amax", "mean", "prod", "any", "all"),
     _dropped),
    ("repeated-dims-are-accepted", "iteration/repeated-dims-raise", ("sum", "mean", "amax", "amin"),
     accepts(RuntimeError, _named_twice)),
    ("empty-dim-list-reduces-nothing", "iteration/empty-dim-list-reduces-all", ("sum.dim_IntList",), _nothing_reduced),
    ("variance-without-correction", "iteration/variance-divides-by-n-minus-correction", ("var", "std"), _population),
    ("variance-without-freedom-is-zero", "iteration/variance-without-freedom-is-nan-or-inf", ("var", "std"),
     values(_finite_without_freedom)),
    ("scan-is-one-step-behind", "iteration/scans-run-in-index-order", ("cumsum", "cumprod"), _one_step_behind),
    ("numel-of-nothing-is-one", "views/getters-agree-with-metadata", ("numel",), _empty_is_one),
    ("empty-operand-is-left-out", "iteration/size-zero-broadcasts-with-one-only", ("add.Tensor", "mul.Tensor"),
     _empties_are_skipped),
)
