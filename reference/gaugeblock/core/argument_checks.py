"""Checks that a kernel makes of its tensor arguments; every message names the function, the argument and its position.

    left = Argument(a, "self", 1)
    check_dim("scaled_mm", left, 2)
    # RuntimeError: Expected 2-dimensional tensor, but got 3-dimensional tensor for argument #1 'self'
    #               (while checking arguments for scaled_mm)

They come before an output is allocated, so that a call that fails leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

from .dtype import DType


class Argument(NamedTuple):
    """A tensor (or None) with the name and the position, from 1 on, that it has in the call."""

    tensor: Any
    name: str
    position: int

    def __str__(self) -> str:
        return f"argument #{self.position} '{self.name}'"

    @property
    def sizes(self) -> tuple[int, ...]:
        """Its sizes."""
        sizes: tuple[int, ...] = self.tensor.meta.sizes
        return sizes

    @property
    def dtype(self) -> DType:
        """Its dtype."""
        dtype: DType = self.tensor.meta.dtype
        return dtype


def check(condition: object, *message: object) -> None:
    """RuntimeError with the parts of `message`, strings or any values, joined, unless `condition` is true."""
    if not condition:
        raise RuntimeError("".join(map(str, message)))


def _fail(function: str, *message: object) -> NoReturn:
    raise RuntimeError(f"{''.join(map(str, message))} (while checking arguments for {function})")


def check_defined(function: str, *arguments: Argument) -> None:
    """Every argument is a tensor."""
    for argument in arguments:
        if argument.tensor is None:
            _fail(function, "Expected tensor to be defined, but got None for ", argument)


def check_dim(function: str, argument: Argument, ndim: int) -> None:
    """The argument has `ndim` dims."""
    found = len(argument.sizes)
    if found != ndim:
        _fail(function, f"Expected {ndim}-dimensional tensor, but got {found}-dimensional tensor for ", argument)


def check_dim_range(function: str, argument: Argument, low: int, high: int) -> None:
    """The argument has from `low` to `high` - 1 dims."""
    found = len(argument.sizes)
    if not low <= found < high:
        _fail(function, f"Expected {low} to {high - 1} dimensions, but got {found}-dimensional tensor for ", argument)


def check_size(function: str, argument: Argument, sizes: Sequence[int]) -> None:
    """The argument has exactly `sizes`."""
    check_dim(function, argument, len(sizes))
    if argument.sizes != tuple(sizes):
        _fail(function, f"Expected tensor of size {list(sizes)}, but got tensor of size {list(argument.sizes)} for ",
              argument)  # fmt: skip


def check_size_at(function: str, argument: Argument, dim: int, size: int) -> None:
    """The argument has `size` elements along `dim`, which it has."""
    check(-len(argument.sizes) <= dim < len(argument.sizes), f"{function}: {argument} has no dimension {dim}")
    if argument.sizes[dim] != size:
        _fail(function, f"Expected tensor to have size {size} at dimension {dim}, but got size "
              f"{argument.sizes[dim]} for ", argument)  # fmt: skip


def check_numel(function: str, argument: Argument, numel: int) -> None:
    """The argument has `numel` elements."""
    found = argument.tensor.meta.numel
    if found != numel:
        _fail(function, f"Expected tensor for {argument} to have {numel} elements; but it actually has {found} "
              "elements")  # fmt: skip


def check_contiguous(function: str, *arguments: Argument) -> None:
    """Every argument is row-major without gaps."""
    for argument in arguments:
        check_defined(function, argument)
        if not argument.tensor.meta.contiguous:
            _fail(function, "Expected contiguous tensor, but got non-contiguous tensor for ", argument)


def check_dtype(function: str, argument: Argument, *allowed: DType) -> None:
    """The argument's dtype is among `allowed`."""
    if argument.dtype not in allowed:
        names = ", ".join(dtype.name for dtype in allowed)
        names = names if len(allowed) == 1 else f"one of {names}"
        _fail(function, f"Expected tensor for {argument} to have dtype {names}; but got {argument.dtype.name} instead")


def check_same_dtype(function: str, *arguments: Argument) -> None:
    """All arguments have one dtype."""
    _same(function, "dtype", [(argument, argument.dtype.name) for argument in arguments])


def check_same_size(function: str, *arguments: Argument) -> None:
    """All arguments have the same sizes."""
    _same(function, "size", [(argument, list(argument.sizes)) for argument in arguments])


def check_same_dim(function: str, *arguments: Argument) -> None:
    """All arguments have the same number of dims."""
    _same(function, "number of dimensions", [(argument, len(argument.sizes)) for argument in arguments])


def check_same_device(function: str, *arguments: Argument) -> None:
    """All arguments are on one device."""
    devices = [(a, str(a.tensor.meta.device)) for a in arguments if a.tensor is not None]
    _same(function, "device", devices)


def _same(function: str, what: str, found: Sequence[tuple[Argument, object]]) -> None:
    first, value = found[0]
    for argument, other in found[1:]:
        if other != value:
            _fail(function, f"Expected tensor for {first} to have the same {what} as tensor for {argument}; but "
                  f"{what} {value} does not equal {other}")  # fmt: skip
