"""Argument checks: every message names the operator, the argument, what was given and what is allowed."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index as as_index
from typing import NoReturn

INT64_MAX = (1 << 63) - 1
UINT64_MAX = (1 << 64) - 1


def type_error(operator: str, argument: str, given: object, allowed: str) -> NoReturn:
    """Raise TypeError for an argument of a wrong Python type."""
    raise TypeError(f"{operator}(): argument '{argument}' must be {allowed}, not {type(given).__name__}")


def value_error(operator: str, argument: str, given: object, allowed: str) -> NoReturn:
    """Raise RuntimeError for an argument of the right type with an illegal value."""
    raise RuntimeError(f"{operator}(): argument '{argument}' must be {allowed}, got {given!r}")


def check_int(operator: str, argument: str, value: object) -> int:
    """Return `value`, which has ``__index__``, as int. Raise TypeError for a bool or a tensor but a 0-dim int one."""
    if type(value) is int:
        return value
    meta = None if isinstance(value, type) else getattr(value, "meta", None)
    if isinstance(value, bool) or (meta is not None and (meta.ndim or meta.dtype.kind != 1)):
        type_error(operator, argument, value, "int")
    return _as_int(operator, argument, value)


def _as_int(operator: str, argument: str, value: object) -> int:
    try:
        return int(as_index(value))  # type: ignore[arg-type]
    except TypeError:
        type_error(operator, argument, value, "int")


def check_int64(operator: str, argument: str, value: object) -> int:
    """Return `value` as check_int does. Raise ValueError for one that does not fit 64 bits."""
    found = check_int(operator, argument, value)
    if -INT64_MAX - 1 <= found <= INT64_MAX:
        return found
    raise ValueError(f"{operator}(): argument '{argument}' must fit 64 bits, got {found}")


def wrap_dim(operator: str, dim: int, ndim: int, argument: str = "dim") -> int:
    """`dim` counted from the front; a 0-dim tensor accepts -1 and 0. Raises IndexError outside [-ndim, ndim)."""
    if type(dim) is not int:
        dim = check_int(operator, argument, dim)
    limit = ndim or 1
    if -limit <= dim < limit:
        return dim + limit if dim < 0 else dim
    raise IndexError(
        f"{operator}(): Dimension out of range for argument '{argument}' "
        f"(expected to be in range of [{-limit}, {limit - 1}], but got {dim})"
    )


def wrap_dims(operator: str, dims: Sequence[int], ndim: int, argument: str = "dims") -> tuple[int, ...]:
    """Each of `dims` wrapped; raises RuntimeError when a dim appears twice."""
    wrapped = tuple([wrap_dim(operator, dim, ndim, argument) for dim in dims])
    if len(set(wrapped)) != len(wrapped):
        raise RuntimeError(f"{operator}(): argument '{argument}' names a dim more than once (duplicate): {tuple(dims)}")
    return wrapped


def check_ints(operator: str, argument: str, value: object) -> tuple[int, ...]:
    """Return `value`, an int or a sequence of ints, as a tuple. Raise TypeError for others and for a leading bool."""
    if type(value) is tuple or isinstance(value, (tuple, list)):
        first = next(iter(value), None)
        if isinstance(first, bool):
            type_error(operator, argument, first, "int")
        return tuple([item if type(item) is int else _as_int(operator, argument, item) for item in value])
    return (check_int(operator, argument, value),)


def check_int64s(operator: str, argument: str, value: object) -> tuple[int, ...]:
    """Return `value` as check_ints does. Raise TypeError for an item that does not fit 64 bits."""
    found = check_ints(operator, argument, value)
    for place, item in enumerate(found):
        if not -INT64_MAX - 1 <= item <= INT64_MAX:
            raise TypeError(f"{operator}(): argument '{argument}' must fit 64 bits, got {item} at pos {place + 1}")
    return found


def check_sizes(operator: str, sizes: Sequence[int], argument: str = "size") -> None:
    """Raise RuntimeError when a size is negative."""
    for size in sizes:
        if size < 0:
            raise RuntimeError(
                f"{operator}(): Trying to create tensor with negative dimension {size} in argument '{argument}': "
                f"{list(sizes)}"
            )


def check_addressable(sizes: Sequence[int], strides: Sequence[int]) -> None:
    """Raise RuntimeError when the product of the nonzero sizes, or a stride, does not fit 64 bits. Raises TypeError for
    a size that does not fit 64 bits."""
    if sizes and max(sizes) > INT64_MAX:
        place = next(place for place, size in enumerate(sizes) if size > INT64_MAX)
        raise TypeError(
            f"argument 'size' failed to unpack the object at pos {place + 1}: Overflow when unpacking long: "
            f"{sizes[place]} does not fit 64 bits"
        )
    count = 1
    for size in sizes:
        count *= size
        if count > UINT64_MAX:
            raise RuntimeError(f"Storage size calculation overflowed with sizes={list(sizes)}")
        if not count:
            break
    if strides and max(strides) > INT64_MAX:
        raise RuntimeError(f"Stride calculation overflowed: a tensor of sizes {list(sizes)} has no 64-bit strides")
