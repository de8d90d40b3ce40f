"""Factories, copies, conversions, and questions with a Python answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from ..backend import Array, dtype_name
from .moves import Oracle
from .promotion import number_dtype


@dataclass(frozen=True)
class Unfilled:
    """A result of these sizes whose elements nothing is said of; ``dtype`` is that of operands, or of its own."""

    sizes: tuple[int, ...]
    dtype: str = ""


def filled(sizes: Sequence[int], value: Any) -> Array:
    """The value everywhere, in the dtype that a Python number has."""
    return np.full(tuple(sizes), value, dtype=number_dtype(value))


def counted(start: Any, end: Any, step: Any) -> Array:
    """start, start + step, … below end; int64 for integers, else float32."""
    size = max(ceil((end - start) / step), 0)
    values = [start + k * step for k in range(size)]
    return np.array(values, dtype=np.int64 if all(isinstance(v, int) for v in (start, end, step)) else np.float32)


def spaced(start: float, end: float, steps: int) -> Array:
    """``steps`` numbers from start to end at even distances, as long doubles."""
    low, high = np.longdouble(start), np.longdouble(end)
    if steps < 2:
        return np.full(steps, low)
    k = np.arange(steps, dtype=np.longdouble)
    return np.asarray((low * (steps - 1 - k) + high * k) / (steps - 1))


def empty_like(x: Array, *rest: Any) -> Unfilled:
    return Unfilled(x.shape)


def of_size(size: Sequence[int], *rest: Any) -> Unfilled:
    return Unfilled(tuple(size), "float32")


def new_of_size(x: Array, size: Sequence[int], *rest: Any) -> Unfilled:
    return Unfilled(tuple(size))


def _close(a: Array, b: Array, rtol: float, atol: float, equal_nan: bool) -> bool:
    wide = [v.astype(np.clongdouble if v.dtype.kind == "c" else np.longdouble) for v in (a, b)]
    near = np.abs(wide[0] - wide[1]) <= atol + rtol * np.abs(wide[1])
    same = (wide[0] == wide[1]) | (equal_nan & (wide[0] != wide[0]) & (wide[1] != wide[1]))
    return bool((near | same).all())


def _wide(x: Any) -> Array:
    """Anything that is compared, in a dtype that NumPy joins with others."""
    array = np.asarray(x)
    return array.astype(np.float32) if dtype_name(array.dtype) == "bfloat16" else array


def _plain(x: Array) -> Any:
    return float(x.reshape(-1)[0]) if dtype_name(x.dtype) == "bfloat16" else x.reshape(-1)[0].item()


def _drawn(size: Any, dtype: str) -> Unfilled:
    """A draw: of one call, sizes and dtype alone can be said."""
    return Unfilled((size,) if isinstance(size, int) else tuple(size), dtype)


def _joint(a: Array, b: Array, *rest: Any) -> Unfilled:
    return Unfilled(np.broadcast_shapes(a.shape, b.shape))


MAKING: dict[str, Oracle] = {
    "empty": of_size,
    "empty_strided": of_size,
    "zeros": lambda size, *rest: np.zeros(size, np.float32),
    "ones": lambda size, *rest: np.ones(size, np.float32),
    "full": lambda size, value, *rest: filled(size, value),
    "empty_like": empty_like,
    "zeros_like": lambda x, *rest: np.zeros_like(x),
    "ones_like": lambda x, *rest: np.ones_like(x),
    "full_like": lambda x, value, *rest: np.full_like(x, value),
    "new_empty": new_of_size,
    "new_empty_strided": new_of_size,
    "new_zeros": lambda x, size, *rest: np.zeros(size, x.dtype),
    "new_ones": lambda x, size, *rest: np.ones(size, x.dtype),
    "new_full": lambda x, size, value, *rest: np.full(size, value, x.dtype),
    "arange": lambda end, *rest: counted(0, end, 1),
    "arange.start": lambda start, end, *rest: counted(start, end, 1),
    "arange.start_step": lambda start, end, step, *rest: counted(start, end, step),
    "linspace": lambda start, end, steps, *rest: spaced(start, end, steps),
    "eye": lambda n, *rest: np.eye(n, dtype=np.float32),
    "eye.m": lambda n, m, *rest: np.eye(n, m, dtype=np.float32),
    "scalar_tensor": lambda value, *rest: np.asarray(value, np.float32),
    "clone": lambda x, *rest: x,
    "contiguous": lambda x, *rest: x,
    "copy_": lambda x, source, *rest: np.broadcast_to(source, x.shape),
    "fill": lambda x, value: np.full_like(x, value),
    "to.dtype_layout": lambda x, *rest: x,
    "fill_": lambda x, value: np.full_like(x, value),
    "zero_": lambda x: np.zeros_like(x),
    "type_as": lambda x, other: x,
    "to.other": lambda x, other, *rest: x,
    "to.dtype": lambda x, dtype, *rest: x,
    "equal": lambda a, b: a.shape == b.shape and bool((a == b).all()),
    "allclose": _close,
    "is_nonzero": lambda x: bool((x != 0).all()),
    "item": _plain,
    "isin": lambda x, test, unique, invert: np.asarray(np.isin(_wide(x), _wide(test), invert=invert)),
    "is_same_size": lambda a, b: a.shape == b.shape,
    "is_floating_point": lambda x: dtype_name(x.dtype).startswith(("float", "bfloat")),
    "is_complex": lambda x: x.dtype.kind == "c",
    "is_signed": lambda x: x.dtype != np.bool_ and x.dtype.kind != "u",
    "rand": lambda size, *rest: _drawn(size, "float32"),
    "randn": lambda size, *rest: _drawn(size, "float32"),
    "randint": lambda high, size, *rest: _drawn(size, "int64"),
    "randint.low": lambda low, high, size, *rest: _drawn(size, "int64"),
    "randint.low_generator": lambda low, high, size, *rest: _drawn(size, "int64"),
    "randperm": lambda n, *rest: _drawn(n, "int64"),
    **dict.fromkeys(
        """rand_like randn_like randint_like bernoulli bernoulli_ uniform_ normal_ random_ exponential_ cauchy_
        log_normal_ geometric_ poisson normal.Tensor_float""".split(),
        empty_like,
    ),
    "binomial": _joint,
    "normal.Tensor_Tensor": _joint,
    "normal.float_Tensor": lambda mean, std, *rest: Unfilled(std.shape),
    "normal.float_float": lambda mean, std, size, *rest: _drawn(size, "float32"),
    "multinomial": lambda x, count, *rest: Unfilled((*x.shape[:-1], count), "int64"),
}
