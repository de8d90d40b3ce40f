"""Finds the elements of a result that depend on given elements of the operands, by the family of the operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from gaugeblock_spec import operators
from gaugeblock_spec.schema import parse

from .backend import Array

Dims = tuple[int, ...] | None
# Python's operators whose names differ from the rows'.
_PYTHON = {"truediv": "div", "floordiv": "floor_divide", "mod": "remainder"}
_DIMS = ("dim", "dims")


@cache
def _row_of(operator: str) -> operators.Operator | None:
    """Return the row of an operator, of one of its forms, or of a Python operator; None if there is none."""
    rows = operators.load()
    if operator in rows:
        return rows[operator]
    base = operator.partition(".")[0].strip("_")
    for name in (base, base[1:]):
        found = operators.overloads(_PYTHON.get(name, name))
        forms = [row for row in found if operator in (row.inplace_name, row.out_name)]
        if found:
            return (forms or list(found))[0]
    return None


def dims_of(operator: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Dims:
    """Return the dims that a call names, or None if it names none and works over all."""
    row = _row_of(operator)
    given: Any = None
    if row is not None:
        names = [argument.name for argument in parse(row.schema).arguments]
        bound = dict(zip(names, args, strict=False)) | kwargs
        given = next((bound[name] for name in _DIMS if name in bound), None)
    if isinstance(given, int):
        return (given,)
    return tuple(given) if isinstance(given, list | tuple) and given else None


def reached(
    operator: str, operands: Sequence[Array], test: Callable[[Array], Array | bool], shape: tuple[int, ...], dims: Dims
) -> Array | bool:
    """Return which elements of a result of ``shape`` depend on an element of an operand that meets ``test``: those at
    its place, of a reduction or a scan those of its line along ``dims``, of other operators all."""
    marks = [np.broadcast_to(test(operand), operand.shape) for operand in operands]
    if not any(mark.any() for mark in marks):
        return False
    row = _row_of(operator)
    family = "" if row is None else row.family
    if family == "pointwise" and all(_spreads(mark.shape, shape) for mark in marks):
        return np.asarray(np.logical_or.reduce([np.broadcast_to(mark, shape) for mark in marks]))
    first, *others = marks
    if family in ("reduction", "scan") and first.ndim and not any(mark.any() for mark in others):
        line = first.any(axis=dims, keepdims=True)
        if family == "scan" and first.shape == shape:
            return np.broadcast_to(line, shape)
        if family == "reduction" and line.size == np.prod(shape, dtype=np.int64):
            return line.reshape(shape)
    return True


def _spreads(small: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    pairs = zip(reversed(small), reversed(shape), strict=False)
    return len(small) <= len(shape) and all(n in (1, m) for n, m in pairs)
