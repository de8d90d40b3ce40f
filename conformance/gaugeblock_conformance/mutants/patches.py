"""Kinds of fault that many mutants share, each as a maker of patches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from gaugeblock_spec import operators

from ..backend import Array, DType, dtype_name, numpy_dtype
from ..case import default_strides
from ..oracles.pointwise import operators_with_oracle
from .mutant import Intercepted, Patch
from .target import POINTWISE, ROW

# Patches that copy values leave larger tensors alone.
_HUGE = 2**24

Change = Callable[[Array, Intercepted], Array | None]


def family(*names: str) -> tuple[str, ...]:
    """Base names of all operators of the spec in one of these families, with their in-place forms."""
    found = []
    for row in operators.load().values():
        if row.family in names:
            found.append(row.base_name)
            if row.inplace_name is not None:
                found.append(row.inplace_name.split(".")[0])
    return tuple(dict.fromkeys(found))


def asked(operator: str) -> str:
    """Return the requirements that ask for the values of an operator."""
    base = operator.partition(".")[0]
    return POINTWISE if any(row.partition(".")[0] == base for row in operators_with_oracle()) else ROW


def with_inplace(*names: str) -> tuple[str, ...]:
    """Base names and those of their in-place forms."""
    return tuple(form for name in names for form in (name, f"{name}_"))


def _count(c: Intercepted, tensor: Any) -> int:
    return prod(c.backend.shape(tensor))


def _leaves(result: Any) -> Sequence[Any]:
    return result if isinstance(result, list | tuple) else (result,)


def values(change: Change) -> Patch:
    """The right result with its elements passed through ``change`` (array, call); None leaves them alone."""

    def patch(c: Intercepted) -> Any:
        result = c.right()
        for item in _leaves(result):
            if not (c.is_tensor(item) and c.has_data) or not 0 < _count(c, item) < _HUGE or _reused(c, item):
                continue
            with np.errstate(all="ignore"):
                changed = change(c.array(item), c)
            if changed is not None:
                c.put(item, changed)
        return result

    return patch


def _reused(c: Intercepted, item: Any) -> bool:
    """Return whether the result lies over elements of an input, which must not change, or over itself."""
    sizes, strides, _ = c.geometry(item)
    if any(step == 0 and size > 1 for size, step in zip(sizes, strides, strict=True)):
        return True
    given = [a for value in c.args for a in _leaves(value) if c.is_tensor(a)]
    return not c.inplace and any(c.backend.storage_id(item) == c.backend.storage_id(a) for a in given)


def dtype(choose: Callable[[Intercepted, str], str | None]) -> Patch:
    """The right result in the dtype that ``choose`` (call, right dtype) names; None leaves it alone."""

    def patch(c: Intercepted) -> Any:
        result = c.right()
        if c.inplace or not c.is_tensor(result):
            return result
        wanted = choose(c, c.backend.dtype(result))
        return result if wanted is None else c.do("to.dtype", result, DType(wanted))

    return patch


def copies(c: Intercepted) -> Any:
    """A result that should be a view lies in a storage of its own."""
    result = c.right()
    if isinstance(result, list | tuple):
        return type(result)([c.do("clone", item) if c.is_tensor(item) else item for item in result])
    return c.do("clone", result) if c.is_tensor(result) else result


def with_data(patch: Patch) -> Patch:
    """``patch`` where the operands have elements; the right answer for those of the meta device."""

    def guarded(c: Intercepted) -> Any:
        given = [item for value in c.args for item in (value if isinstance(value, list | tuple) else (value,))]
        without = any(str(getattr(a, "device", "")) == "meta" for a in given if c.is_tensor(a))
        return c.right() if without else patch(c)

    return guarded


def layout(
    change: Callable[[Intercepted, tuple[int, ...], tuple[int, ...], int], tuple[Any, Any, int] | None],
) -> Patch:
    """The right result as another view of its storage: (call, sizes, strides, offset) -> the same three; None keeps."""

    def patch(c: Intercepted) -> Any:
        result = c.right()
        if not c.is_tensor(result):
            return result
        wanted = change(c, *c.geometry(result))
        return result if wanted is None else c.restride(result, *wanted)

    return patch


def accepts(kind: type[Exception], otherwise: Callable[[Intercepted], Any]) -> Patch:
    """``otherwise`` (call) where the right backend raises ``kind``."""

    def patch(c: Intercepted) -> Any:
        try:
            return c.right()
        except kind:
            return otherwise(c)

    return patch


def raises(kind: type[Exception], instead_of: type[Exception]) -> Patch:
    """The right refusals, as exceptions of another class."""

    def patch(c: Intercepted) -> Any:
        try:
            return c.right()
        except instead_of as error:
            c.refuse(kind, str(error))

    return patch


def laid_out_contiguously(c: Intercepted) -> Any:
    """The right result, its elements in row-major order whatever the inputs' strides."""
    result = c.right()
    if c.inplace or not c.is_tensor(result):
        return result
    return fresh(c, c.array(result))


def fresh(c: Intercepted, array: Array) -> Any:
    """A new contiguous tensor of the array."""
    return c.tensor(np.ascontiguousarray(array).reshape(array.shape))


def filled(c: Intercepted, sizes: Sequence[int], value: Any, name: str) -> Any:
    return c.tensor(np.full(tuple(sizes), value, dtype=numpy_dtype(name)))


def floating(array: Array) -> bool:
    return array.dtype.kind == "f" or array.dtype.name == "bfloat16"


def name_of(array: Array) -> str:
    return dtype_name(array.dtype)


def nudged(array: Array, steps: int) -> Array:
    """Finite, non-zero, normal floats moved ``steps`` representable values away from zero."""
    bits = {2: np.int16, 4: np.int32, 8: np.int64}[array.dtype.itemsize]
    moved = (np.ascontiguousarray(array).view(bits) + bits(steps)).view(array.dtype).reshape(array.shape)
    ordinary = np.isfinite(array) & (array != 0) & np.isfinite(moved)
    return np.where(ordinary, moved, array)


def row_major(sizes: Sequence[int]) -> tuple[int, ...]:
    return default_strides(tuple(sizes))
