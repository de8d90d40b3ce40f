"""Pointwise operators and reductions in terms of NumPy, for operands of one dtype."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..backend import Array, Unsupported

Function = Callable[..., Any]

_FLOATING = "fc"


def _plain(x: Array) -> str:
    return "f" if x.dtype.name == "bfloat16" else x.dtype.kind


def _pointwise(operator: str, ufunc: Function, kinds: str, integer_zero: bool = True) -> Function:
    """``ufunc`` on arrays of one dtype whose kind is in ``kinds``; other operands are left out."""

    def call(*operands: Any) -> Array:
        arrays = [o for o in operands if isinstance(o, np.ndarray)]
        if len(arrays) < len(operands) or len({a.dtype for a in arrays}) > 1:
            raise Unsupported(operator, "numbers and mixed dtypes follow NumPy's own promotion")
        if any(_plain(a) not in kinds for a in arrays):
            raise Unsupported(operator, f"not offered for {arrays[0].dtype.name}")
        if not integer_zero and _plain(arrays[0]) in "iu" and not np.all(arrays[-1]):
            raise Unsupported(operator, "NumPy gives 0 for an integer division by zero")
        try:
            with np.errstate(all="ignore"):
                result = np.asarray(ufunc(*arrays))
        except ValueError as error:
            raise RuntimeError(f"{operator}: {error}") from None
        return np.array(result, copy=True) if any(result is a for a in arrays) else result

    return call


def _inplace(operator: str, function: Function) -> Function:
    """The in-place form: all checks first, then one write."""

    def call(x: Array, *rest: Any) -> Array:
        if x.size and any(s == 0 and n > 1 for s, n in zip(x.strides, x.shape, strict=True)):
            raise RuntimeError(f"{operator}: more than one element of the written-to tensor refers to one location")
        if any(isinstance(o, np.ndarray) and o is not x and np.may_share_memory(x, o) for o in rest):
            raise Unsupported(operator, "NumPy buffers overlapping operands")
        result = function(x, *rest)
        if result.shape != x.shape:
            raise RuntimeError(f"{operator}: output with shape {x.shape} doesn't match broadcast shape {result.shape}")
        x[...] = result
        return x

    return call


def _axes(dim: Any, x: Array) -> Any:
    dims = tuple(dim) if isinstance(dim, tuple | list) else None if dim is None else (dim,)
    if not dims:
        return None
    rank = max(x.ndim, 1)
    for d in dims:
        if not -rank <= d < rank:
            raise IndexError(f"dim {d} is out of range for {x.ndim} dims")
    wrapped = tuple(d % rank for d in dims)
    if len(set(wrapped)) < len(wrapped):
        raise RuntimeError(f"dim appears more than once in {dims}")
    return wrapped if x.ndim else ()


def _sum_like(operator: str, function: Function) -> Function:
    def call(x: Array, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Array:
        if dtype is not None or x.dtype.name in ("float16", "bfloat16") or _plain(x) in _FLOATING:
            raise Unsupported(operator, "NumPy promises no order or width of float accumulation")
        return np.asarray(function(x, axis=_axes(dim, x), keepdims=keepdim, dtype=np.int64))

    return call


def _extreme(operator: str, function: Function) -> Function:
    def call(x: Array, dim: Any = (), keepdim: bool = False) -> Array:
        if _plain(x) == "c":
            raise Unsupported(operator, "NumPy orders complex numbers")
        if x.size == 0:
            raise Unsupported(operator, "NumPy's errors for empty arrays are of other classes")
        return np.array(function(x, axis=_axes(dim, x), keepdims=keepdim))

    return call


def _logical(function: Function) -> Function:
    def call(x: Array, dim: Any = None, keepdim: bool = False) -> Array:
        if x.dtype == np.uint8:
            raise Unsupported(function.__name__, "uint8 gives bool in NumPy")
        return np.asarray(function(x, axis=_axes(dim, x), keepdims=keepdim))

    return call


_TABLE: Sequence[tuple[str, Function, str]] = (
    ("add.Tensor", np.add, "biufc"),
    ("mul.Tensor", np.multiply, "biufc"),
    ("sub.Tensor", np.subtract, "iufc"),
    ("div.Tensor", np.true_divide, "f"),
    ("neg", np.negative, "iufc"),
    ("abs", np.absolute, "iuf"),
    ("square", np.square, "f"),
    ("sqrt", np.sqrt, "f"),
    ("floor", np.floor, "f"),
    ("ceil", np.ceil, "f"),
    ("trunc", np.trunc, "f"),
    ("round", np.rint, "f"),
    ("eq.Tensor", np.equal, "biufc"),
    ("ne.Tensor", np.not_equal, "biufc"),
    ("lt.Tensor", np.less, "biuf"),
    ("le.Tensor", np.less_equal, "biuf"),
    ("gt.Tensor", np.greater, "biuf"),
    ("ge.Tensor", np.greater_equal, "biuf"),
    ("maximum", np.maximum, "biuf"),
    ("minimum", np.minimum, "biuf"),
    ("fmax", np.fmax, "biuf"),
    ("fmin", np.fmin, "biuf"),
    ("isnan", np.isnan, "f"),
    ("isinf", np.isinf, "f"),
    ("isfinite", np.isfinite, "f"),
    ("signbit", np.signbit, "f"),
    ("copysign.Tensor", np.copysign, "f"),
    ("bitwise_and.Tensor", np.bitwise_and, "biu"),
    ("bitwise_or.Tensor", np.bitwise_or, "biu"),
    ("bitwise_xor.Tensor", np.bitwise_xor, "biu"),
    ("bitwise_not", np.bitwise_not, "biu"),
    ("logical_and", np.logical_and, "biufc"),
    ("logical_or", np.logical_or, "biufc"),
    ("logical_xor", np.logical_xor, "biufc"),
    ("logical_not", np.logical_not, "biufc"),
)
_BOOL_RESULTS = frozenset("eq ne lt le gt ge isnan isinf isfinite signbit logical_and logical_or logical_xor".split())

UFUNCS = {name: ufunc.__name__ for name, ufunc, _ in _TABLE}
ARITHMETIC: dict[str, Function] = {name: _pointwise(name, ufunc, kinds) for name, ufunc, kinds in _TABLE}
ARITHMETIC |= {
    "floor_divide": _pointwise("floor_divide", np.floor_divide, "iu", integer_zero=False),
    "remainder.Tensor": _pointwise("remainder.Tensor", np.remainder, "iu", integer_zero=False),
    "fmod.Tensor": _pointwise("fmod.Tensor", np.fmod, "iu", integer_zero=False),
}
_INPLACE = {}
for _name, _function in ARITHMETIC.items():
    _base, _, _overload = _name.partition(".")
    if _base not in _BOOL_RESULTS:
        _renamed = f"{_base}_.{_overload}" if _overload else f"{_base}_"
        _INPLACE[_renamed] = _inplace(_renamed, _function)
ARITHMETIC |= _INPLACE

REDUCTIONS: dict[str, Function] = {
    "sum": _sum_like("sum", np.sum),
    "sum.dim_IntList": _sum_like("sum.dim_IntList", np.sum),
    "prod": _sum_like("prod", np.prod),
    "prod.dim_int": _sum_like("prod.dim_int", np.prod),
    "amax": _extreme("amax", np.max),
    "amin": _extreme("amin", np.min),
    "all": _logical(np.all),
    "all.dim": _logical(np.all),
    "any": _logical(np.any),
    "any.dim": _logical(np.any),
}
