"""Sliding windows over the last dims of arrays: how many, where, and their elements as views."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from ..arrays import Array

Ints = tuple[int, ...]


def trailing(places: Iterable[Any]) -> tuple[Any, ...]:
    """An index of the last dims."""
    return (Ellipsis, *places)


def repeated(operator: str, name: str, value: Sequence[int], count: int, what: str = "convolution") -> Ints:
    """`value` for each of `count` dims. Raises RuntimeError for another number of values."""
    if len(value) == count:
        return tuple(value)
    if len(value) == 1:
        return (value[0],) * count
    raise RuntimeError(
        f"{operator}(): expected {name} to be a single integer value or a list of {count} values to match the {what} "
        f"dimensions, but got {name}={list(value)}"
    )


def spans(kernel: Ints, dilation: Ints) -> Ints:
    """How many places a window reaches over in each dim."""
    return tuple(d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True))


def window_counts(sizes: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Ints:
    """How many windows fit in each dim; may be below 1."""
    reach = spans(kernel, dilation)
    return tuple((n + 2 * p - r) // s + 1 for n, p, r, s in zip(sizes, padding, reach, stride, strict=True))


def padded(array: Array, before: Ints, after: Ints, value: Any = 0) -> Array:
    """The array with `value` around its last dims; itself when nothing is added."""
    if not any(before) and not any(after):
        return array
    lead = array.ndim - len(before)
    own = array.shape[lead:]
    sizes = array.shape[:lead] + tuple(n + a + b for n, a, b in zip(own, before, after, strict=True))
    if prod(sizes) * array.itemsize > np.iinfo(np.intp).max:
        raise RuntimeError(f"an input padded to sizes {list(sizes)} has more bytes than memory has addresses")
    result: Array = np.full(sizes, value, array.dtype) if value else np.zeros(sizes, array.dtype)
    result[trailing(slice(a, a + n) for n, a in zip(own, before, strict=True))] = array
    return result


def windows(array: Array, kernel: Ints, stride: Ints, dilation: Ints, counts: Ints) -> Array:
    """A read-only view [..., kernel dims, window dims] of an array that is large enough."""
    lead = array.ndim - len(kernel)
    steps = array.strides[lead:]
    inner = tuple(step * d for step, d in zip(steps, dilation, strict=True))
    outer = tuple(step * s for step, s in zip(steps, stride, strict=True))
    return np.lib.stride_tricks.as_strided(
        array, array.shape[:lead] + kernel + counts, array.strides[:lead] + inner + outer, writeable=False
    )


def offsets(kernel: Ints) -> Iterator[Ints]:
    """The places of a window, last dim fastest."""
    return product(*map(range, kernel))


def at_offset(place: Ints, stride: Ints, dilation: Ints, counts: Ints) -> tuple[slice, ...]:
    """The slices that take, from each window, the element at one place."""
    return tuple(
        slice(k * d, k * d + s * (n - 1) + 1, s) for k, s, d, n in zip(place, stride, dilation, counts, strict=True)
    )
