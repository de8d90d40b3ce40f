"""Options of pooling for each dim, and how many windows there are."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from sys import maxsize

from ...tensor.tensor_meta import TensorMeta
from .windows import Ints, spans


@dataclass(frozen=True, slots=True)
class Pool:
    """Windows over the last dims; `counts` of them, the last of which may reach beyond the padding."""

    kernel: Ints
    stride: Ints
    padding: Ints
    dilation: Ints
    counts: Ints

    @property
    def dims(self) -> int:
        return len(self.kernel)

    def covered(self, own: Ints) -> list[list[int]]:
        """Return how many places of the padded dims, of sizes `own` without the padding, each window covers."""
        found = []
        for size, k, s, p, count in zip(own, self.kernel, self.stride, self.padding, self.counts, strict=True):
            whole = min((size + 2 * p - k) // s + 1, count)
            found.append([k] * whole + [size + 2 * p - place * s for place in range(whole, count)])
        return found


def _each(operator: str, name: str, value: int | Sequence[int], dims: int) -> Ints:
    if isinstance(value, int):
        return (value,) * dims
    if len(value) == dims:
        return tuple(value)
    if len(value) == 1:
        return (value[0],) * dims
    raise RuntimeError(
        f"{operator}(): {operator}: {name} must either be a single int, or a tuple of {dims} ints, got {list(value)}"
    )


def pool_of(
    operator: str,
    input: TensorMeta,
    dims: int,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: int | Sequence[int],
    dilation: int | Sequence[int],
    ceil_mode: bool,
) -> Pool:
    """The windows of a pooling. Raises RuntimeError for options and sizes that do not fit."""
    options = (one if isinstance(one, int) else tuple(one) for one in (kernel_size, stride, padding, dilation))
    return _pool(operator, input.sizes, dims, *options, ceil_mode)


@functools.lru_cache(maxsize=1024)
def _pool(
    operator: str,
    own: Ints,
    dims: int,
    kernel_size: int | Ints,
    stride: int | Ints,
    padding: int | Ints,
    dilation: int | Ints,
    ceil_mode: bool,
) -> Pool:
    kernel = _each(operator, "kernel_size", kernel_size, dims)
    step = kernel if stride == () else _each(operator, "stride", stride, dims)
    around = _each(operator, "padding", padding, dims)
    spread = _each(operator, "dilation", dilation, dims)
    if len(own) not in (dims + 1, dims + 2) or 0 in own[len(own) - dims - 1 :]:
        raise RuntimeError(
            f"{operator}(): Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with optional 0 dim batch size for "
            f"input, but got: {list(own)}"
        )
    for name, numbers, least, rule in (
        ("kernel size", kernel, 1, "greater than zero"),
        ("stride", step, 1, "greater than zero"),
        ("dilation", spread, 1, "greater than zero"),
        ("padding", around, 0, "non-negative"),
    ):
        if min(numbers) < least:
            zero = f"{name} should not be zero; " if 0 in numbers else ""
            raise RuntimeError(f"{operator}(): {zero}{name} must be {rule}, but got {name}: {list(numbers)}")
    for size, pad in zip(kernel, around, strict=True):
        if 2 * pad > size:
            raise RuntimeError(
                f"{operator}(): pad should be at most half of effective kernel size, but got pad={pad}, "
                f"kernel_size={size} and dilation={list(spread)}"
            )
    counts, reach = [], spans(kernel, spread)
    for size, r, s, p in zip(own[-dims:], reach, step, around, strict=True):
        count = (size + 2 * p - r + (s - 1 if ceil_mode else 0)) // s + 1
        counts.append(count - 1 if ceil_mode and (count - 1) * s >= size + p else count)
    if min(counts) < 1:
        raise RuntimeError(
            f"{operator}(): Given input size: {list(own[-dims - 1 :])}. Calculated output size: "
            f"{[own[-dims - 1], *counts]}. Output size is too small"
        )
    ends = zip(own[-dims:], around, counts, step, reach, strict=True)
    reached = [max(n + 2 * p, (c - 1) * s + r) for n, p, c, s, r in ends]
    if prod(own[:-dims]) * prod(reached) > maxsize:
        raise RuntimeError(f"{operator}(): an input padded to sizes {reached} has more bytes than memory has addresses")
    return Pool(kernel, step, around, spread, tuple(counts))
