"""Python's own syntax on arrays: operators, conversions, indexing."""

from __future__ import annotations

import operator as python
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ..backend import Unsupported
from .array_api_limits import kind_of

Function = Callable[..., Any]


def _item(backend: Any, x: Any) -> Any:
    if not hasattr(type(x), "item"):
        convert = {"b": bool, "u": int, "i": int, "f": float, "c": complex}[kind_of(backend.dtype(x))]
        return _number(convert)(backend, x)
    return x.item()


def _number(convert: Function) -> Function:
    name = f"__{convert.__name__}__"

    def call(backend: Any, x: Any) -> Any:
        if backend.shape(x) != ():
            raise Unsupported(name, "numbers are read from arrays without dims alone")
        if not hasattr(type(x), name):
            raise Unsupported(name, f"{backend.name} has no such method")
        return convert(x)

    return call


def _size(backend: Any, x: Any, dim: int | None = None) -> Any:
    return backend.shape(x) if dim is None else backend.shape(x)[dim]


def _operator(name: str) -> Function:
    function: Function = getattr(python, name)

    def call(backend: Any, x: Any, *rest: Any) -> Any:
        if not hasattr(type(x), f"__{name.strip('_')}__"):
            raise Unsupported(f"__{name.strip('_')}__", f"{backend.name} has no such method")
        return function(x, *rest)

    return call


# Kinds of dtypes that the standard documents an operator for, where they are not all.
KINDS = {
    **{f"__{name}__": "uifc" for name in ("add", "sub", "mul", "neg", "pos", "abs", "matmul")},
    **{f"__{name}__": "f" for name in ("truediv", "pow")},
    **{f"__{name}__": "uif" for name in ("lt", "le", "gt", "ge", "mod")},
    **{f"__{name}__": "ui" for name in ("floordiv", "lshift", "rshift", "index")},
    **{f"__{name}__": "bui" for name in ("and", "or", "xor", "invert")},
}
_OPERATORS = "add sub mul truediv floordiv mod pow neg pos abs invert xor lshift rshift ne lt le gt ge matmul".split()

PROTOCOLS: dict[str, Function] = {
    **{f"__{name}__": _operator(name) for name in _OPERATORS},
    "__and__": _operator("and_"),
    "__or__": _operator("or_"),
    "__bool__": _number(bool),
    "__int__": _number(int),
    "__float__": _number(float),
    "__complex__": _number(complex),
    "__index__": _number(python.index),
    "item": _item,
    "tolist": lambda backend, x: backend.to_numpy(x).tolist(),
    "size": _size,
    "shape": lambda backend, x: x.shape,
    "ndim": lambda backend, x: x.ndim,
    "dim": lambda backend, x: x.ndim,
    "numel": lambda backend, x: prod(backend.shape(x)),
    "is": lambda backend, x, y: x is y,
}


def indexed(backend: Any, x: Any, index: Any) -> Any:
    """Return ``x[index]``. Raises Unsupported for an index that :func:`check_index` refuses."""
    check_index(backend, x, index)
    return x[as_given(index, backend.is_array)]


def check_index(backend: Any, x: Any, index: Any) -> None:
    """Raise Unsupported for an index that the standard does not document.

    It documents integers, slices, None, one Ellipsis; one mask; arrays of integers beside integers.
    """
    parts = index if isinstance(index, tuple) else (index,)
    sizes = backend.shape(x)
    for part in parts:
        if isinstance(part, bool | list):
            raise Unsupported("__getitem__", f"no index of a {type(part).__name__}")
        if isinstance(part, slice) and (part.step or 1) < 0:
            raise Unsupported("__getitem__", "slices may run backwards")
    arrays = [p for p in parts if backend.is_array(p)]
    if arrays:
        _check_arrays(backend, sizes, parts, arrays)
    elif not backend.clips_slices or not backend.checks_indices:
        _check_bounds(backend, sizes, parts)


def as_given(index: Any, is_array: Callable[[Any], bool]) -> Any:
    """Return the index that the library gets: an array alone without a tuple; places alone with an Ellipsis, since the
    standard wants one where there are fewer than dims."""
    parts = index if isinstance(index, tuple) else (index,)
    if not any(p is Ellipsis or is_array(p) for p in parts):
        parts = (*parts, Ellipsis)
    return parts if len(parts) != 1 else parts[0]


def _check_arrays(backend: Any, sizes: tuple[int, ...], parts: tuple[Any, ...], arrays: list[Any]) -> None:
    kinds = {kind_of(backend.dtype(a)) for a in arrays}
    if kinds == {"b"}:
        if len(parts) > 1:
            raise Unsupported("__getitem__", "a mask stands alone")
        if tuple(arrays[0].shape) != sizes:
            raise Unsupported("__getitem__", "a mask has the array's sizes")
        return
    if not kinds <= {"i"} or any(not isinstance(p, int) and not backend.is_array(p) for p in parts):
        raise Unsupported("__getitem__", "index arrays of integers stand beside integers alone")
    dtypes = {backend.dtype(a) for a in arrays}
    if not backend.any_index_dtype and dtypes != {backend.default_dtype("indexing", "arange")}:
        raise Unsupported("__getitem__", "index arrays should have the default array index dtype")
    if len(parts) != len(sizes) or any(not backend.shape(a) for a in arrays):
        raise Unsupported("__getitem__", "one index array for each dim")
    for size, part in zip(sizes, parts, strict=True):
        places = np.asarray(backend.to_numpy(part) if backend.is_array(part) else part)
        if not backend.checks_indices and np.any((places < -size) | (places >= size)):
            raise Unsupported("__getitem__", "indices outside are left open")


def _check_bounds(backend: Any, sizes: tuple[int, ...], parts: tuple[Any, ...]) -> None:
    """Integers and slices within their dims."""
    taken = sum(p is not None and p is not Ellipsis for p in parts)
    if taken > len(sizes):
        return
    dim = 0
    for part in parts:
        if part is Ellipsis:
            dim += len(sizes) - taken
        elif isinstance(part, int) and not backend.checks_indices:
            if not -sizes[dim] <= part < sizes[dim]:
                raise Unsupported("__getitem__", "indices outside are left open")
        elif isinstance(part, slice) and not backend.clips_slices:
            bounds = [b for b in (part.start, part.stop) if b is not None]
            if any(not -sizes[dim] <= b <= sizes[dim] for b in bounds):
                raise Unsupported("__getitem__", "bounds of slices outside are left open")
        dim += part is not None and part is not Ellipsis
