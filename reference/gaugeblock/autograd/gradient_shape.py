"""Giving a gradient the sizes, dtype and kind of numbers of what it is the gradient of."""

from __future__ import annotations

from typing import Any

from ..tensor.geometry import Geometry
from ..tensor.tensor import Tensor
from .node import Node


def summable(given: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Whether something of sizes `wanted` broadcasts to `given`."""
    if len(given) < len(wanted):
        return False
    return all(have == want or want == 1 for have, want in zip(given[len(given) - len(wanted) :], wanted, strict=True))


def summed_to(grad: Any, sizes: tuple[int, ...]) -> Any:
    """The gradient summed over the dims along which something of `sizes` was broadcast."""
    given = grad.geometry.sizes
    lead = len(given) - len(sizes)
    inner = [lead + dim for dim, size in enumerate(sizes) if size == 1 and given[lead + dim] != 1]
    if inner:
        grad = grad.sum(inner, keepdim=True)
    return grad.sum(tuple(range(lead))) if lead else grad


def fitted(grad: Tensor, wanted: Geometry, node: Node) -> Tensor:
    """A gradient made to fit: summed to the sizes, real where they are real, in the dtype.

    RuntimeError naming the node when it does not sum to the sizes or lies on another device.
    """
    geometry = grad.geometry
    if geometry.sizes != wanted.sizes:
        if not summable(geometry.sizes, wanted.sizes):
            raise RuntimeError(
                f"Function {node.name()} returned an invalid gradient - got {list(geometry.sizes)} but expected shape "
                f"compatible with {list(wanted.sizes)}"
            )
        grad = summed_to(grad, wanted.sizes)
    if geometry.dtype is not wanted.dtype:
        if geometry.dtype.is_complex and not wanted.dtype.is_complex:
            grad = grad.real  # type: ignore[attr-defined]
        if grad.geometry.dtype is not wanted.dtype:
            grad = grad.to(wanted.dtype)  # type: ignore[attr-defined]
    if geometry.device is not wanted.device:
        if geometry.ndim:
            raise RuntimeError(
                f"Function {node.name()} returned an invalid gradient - expected device {wanted.device} but got "
                f"{geometry.device}"
            )
        grad = grad.to(wanted.device)  # type: ignore[attr-defined]
    return grad
