"""The end of the graph: the node that adds to the .grad of a leaf.

Gradients are converted to the sizes and dtype of their tensors, and hooks have to keep these.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from sys import getrefcount
from typing import Any

from ..bindings.functions import ops
from ..core.dtype import float32
from ..core.fork_safety import fork_safe
from ..dispatch.state import STATE
from ..tensor.geometry import Geometry, unwatched
from ..tensor.tensor import Tensor, empty_tensor
from .autograd_meta import more_of, plain_of, requires_grad
from .node import FIRST, Node


def summable(given: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Return whether a tensor of sizes `wanted` broadcasts to `given`."""
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


LOCK = fork_safe(threading.RLock())
"""Held while a gradient is added, for several backward passes may share leaves."""


class AccumulateGrad(Node):
    """Adds what arrives to ``variable.grad``, first taking it over if nobody else holds it, else copying it."""

    __slots__ = ("variable",)

    label = "AccumulateGrad"
    runs_undefined = True

    def __init__(self, variable: Tensor) -> None:
        geometry = variable.geometry
        self.edges = ()
        self.geometries = (geometry.twin if geometry.watched else geometry,)  # type: ignore[assignment]
        self.hooks = self.notes = None
        self.released = False
        self.variable = variable
        self.sequence = FIRST
        more = variable.autograd.more
        if more is not None and more.hooks is not None:
            self.hooked().tensors[0] = more.hooks

    def apply(self, grads: list[Tensor | None]) -> Sequence[Tensor | None]:
        """Add the gradient and pass nothing on. Post hooks are called even without a gradient."""
        grad = grads.pop()
        meta = self.variable.autograd
        more = more_of(self.variable) if meta.more is None else meta.more
        with LOCK:
            held = more.grad
            if grad is None:
                pass
            elif held is not None and not STATE.grad and not held.geometry.watched and not grad.geometry.watched:
                held.add_(grad)  # type: ignore[union-attr]
            elif STATE.grad:
                more.grad = laid_out(grad, self.geometries[0]) if held is None else held + grad  # type: ignore[operator]
            elif held is None:
                alone = getrefcount(grad) <= ALONE[0] and getrefcount(grad.storage_impl) <= ALONE[1]
                take = alone and not grad.geometry.watched and _lies_as(grad.geometry, self.geometries[0])
                more.grad = grad if take else laid_out(grad, self.geometries[0])
            else:
                plain_of(held).add_(plain_of(grad))  # type: ignore[attr-defined]
            for hook in () if more.post_hooks is None else tuple(more.post_hooks.values()):
                if hook(self.variable) is not None:
                    raise RuntimeError("Tensor post accumulate grad hooks should return None.")
        return ()


class DeadEnd(Node):
    """Discards the gradient of a view without history that requires a gradient only because its base does."""

    __slots__ = ()

    label = "DeadEnd"
    ends = True

    def __init__(self, view: Tensor) -> None:
        super().__init__((), (unwatched(view.geometry),))
        self.sequence = FIRST

    def apply(self, grads: list[Tensor | None]) -> Sequence[Tensor | None]:
        """Discard the gradients."""
        return ()


def accumulator_of(tensor: Tensor) -> Node:
    """Return the node that adds to the gradient of a leaf: one, shared by all uses."""
    meta = tensor.autograd
    more = more_of(tensor) if meta is None or meta.more is None else meta.more
    node: Node | None = None if more.accumulator is None else more.accumulator()
    if node is None:
        node = AccumulateGrad(tensor)
        more.accumulator = weakref.ref(node)
    return node


def _references_of_one() -> tuple[int, int]:
    """The references to a gradient that only `apply` holds, and to its storage."""
    grads = [empty_tensor((1,), float32)]
    grad = grads.pop()
    return getrefcount(grad), getrefcount(grad.storage_impl)


ALONE = _references_of_one()


def _lies_as(geometry: Geometry, wanted: Geometry) -> bool:
    """Whether a gradient may serve as it is: dense, and with the strides of the leaf where those are dense."""
    if geometry is wanted and geometry.dense:
        return True
    return geometry.dense and not geometry.lazy and (not wanted.dense or geometry.strides == wanted.strides)


def laid_out(grad: Tensor, wanted: Geometry) -> Tensor:
    """A copy of a gradient with the strides of its leaf where those are dense, else row-major."""
    if STATE.grad and requires_grad(grad):
        copy: Tensor = grad.clone()  # type: ignore[attr-defined]
        return copy
    plain = plain_of(grad)
    geometry = plain.geometry
    fits = wanted.dense and wanted.sizes == geometry.sizes
    strides = wanted.strides if fits else None
    made: Tensor
    if strides is None:
        made = ops.empty(geometry.sizes, dtype=geometry.dtype, device=geometry.device)
    else:
        made = ops.empty_strided(geometry.sizes, strides, dtype=geometry.dtype, device=geometry.device)
    made.copy_(plain)  # type: ignore[attr-defined]
    return made
