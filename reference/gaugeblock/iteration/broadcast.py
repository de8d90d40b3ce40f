"""Step: the common shape of all operands, and an operand's strides in it."""

from __future__ import annotations

from collections.abc import Iterable

Ints = tuple[int, ...]


def broadcast_shapes(shapes: Iterable[Ints]) -> Ints:
    """The shape all of `shapes` stretch to; RuntimeError names the two sizes and the dim that do not fit."""
    result: Ints = ()
    for shape in shapes:
        if shape == result:
            continue
        result = _pair(result, shape)
    return result


def _pair(a: Ints, b: Ints) -> Ints:
    if not a or not b:
        return a or b
    ndim = max(len(a), len(b))
    a = (1,) * (ndim - len(a)) + a
    b = (1,) * (ndim - len(b)) + b
    sizes = []
    for dim, (x, y) in enumerate(zip(a, b, strict=True)):
        if x != y and x != 1 and y != 1:
            raise RuntimeError(
                f"The size of tensor a ({x}) must match the size of tensor b ({y}) at non-singleton dimension {dim}; "
                f"shapes {list(a)} and {list(b)} do not broadcast"
            )
        sizes.append(y if x == 1 else x)
    return tuple(sizes)


def iteration_strides(sizes: Ints, strides: Ints, shape: Ints, itemsize: int) -> Ints:
    """Byte strides over `shape`: 0 on dims that the operand lacks or stretches."""
    lead = len(shape) - len(sizes)
    stretched = [
        0 if size == 1 and target != 1 else stride * itemsize
        for size, stride, target in zip(sizes, strides, shape[lead:], strict=True)
    ]
    return (0,) * lead + tuple(stretched)
