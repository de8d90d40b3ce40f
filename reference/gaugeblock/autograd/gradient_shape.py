"""Conversion of gradients to the sizes and dtype of their tensors, and checks that hooks keep these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


def replaced(hook: Callable[..., Any], grad: Tensor | None, changed: Any) -> Any:
    """Return the gradient that a hook returned to replace `grad`.

    Raises TypeError unless it is a tensor, RuntimeError unless `grad` has the same sizes, dtype and device.
    """
    name = getattr(hook, "__name__", hook)
    if not isinstance(changed, Tensor):
        raise TypeError(f"expected Variable, but hook '{name}' returned '{type(changed).__name__}'")
    if grad is None:
        raise RuntimeError(f"hook '{name}' can't replace a None gradient with a non-None value")
    was, now = grad.geometry, changed.geometry
    if now.sizes != was.sizes:
        raise RuntimeError(
            f"hook '{name}' has changed the size of value: expected {list(was.sizes)}, got {list(now.sizes)}"
        )
    if now.dtype is not was.dtype:
        raise RuntimeError(f"hook '{name}' has changed the type of value (was {was.dtype} got {now.dtype})")
    if now.device is not was.device:
        raise RuntimeError(f"hook '{name}' has changed the device of value (was {was.device} got {now.device})")
    return changed


def replaced_all(hook: Callable[..., Any], grads: Sequence[Tensor | None], changed: Any) -> list[Any]:
    """Return the gradients that a node's hook returned to replace `grads`; each may be None.

    Raises TypeError unless it is a tuple, RuntimeError for another number of gradients.
    """
    name = getattr(hook, "__name__", hook)
    if not isinstance(changed, tuple):
        raise TypeError(f"expected tuple, but hook '{name}' returned '{type(changed).__name__}'")
    if len(changed) != len(grads):
        raise RuntimeError(
            f"hook '{name}' has returned an incorrect number of values (got {len(changed)}, but expected {len(grads)})"
        )
    return [None if now is None else replaced(hook, was, now) for was, now in zip(grads, changed, strict=True)]
