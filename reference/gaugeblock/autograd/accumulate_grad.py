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
from ..tensor.tensor import Tensor, empty_tensor
from ..tensor.tensor_meta import TensorMeta, unwatched
from .autograd_meta import more_of, plain_of, requires_grad
from .node import FIRST, Node


def summable(given: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Return whether a tensor of sizes `wanted` broadcasts to `given`."""
    if len(given) < len(wanted):
        return False
    return all(have == want or want == 1 for have, want in zip(given[len(given) - len(wanted) :], wanted, strict=True))


def summed_to(grad: Any, sizes: tuple[int, ...]) -> Any:
    """The gradient summed over the dims along which something of `sizes` was broadcast."""
    given = grad.meta.sizes
    lead = len(given) - len(sizes)
    inner = [lead + dim for dim, size in enumerate(sizes) if size == 1 and given[lead + dim] != 1]
    if inner:
        grad = grad.sum(inner, keepdim=True)
    return grad.sum(tuple(range(lead))) if lead else grad


def fitted(grad: Tensor, wanted: TensorMeta, node: Node) -> Tensor:
    """A gradient made to fit: summed to the sizes, real where they are real, in the dtype.

    RuntimeError naming the node when it does not sum to the sizes or lies on another device.
    """
    meta = grad.meta
    if meta.sizes != wanted.sizes:
        if not summable(meta.sizes, wanted.sizes):
            raise RuntimeError(
                f"Function {node.name()} returned an invalid gradient - got {list(meta.sizes)} but expected shape "
                f"compatible with {list(wanted.sizes)}"
            )
        grad = summed_to(grad, wanted.sizes)
    if meta.dtype is not wanted.dtype:
        if meta.dtype.is_complex and not wanted.dtype.is_complex:
            grad = grad.real  # type: ignore[attr-defined]
        if grad.meta.dtype is not wanted.dtype:
            grad = grad.to(wanted.dtype)  # type: ignore[attr-defined]
    if meta.device is not wanted.device:
        if meta.ndim:
            raise RuntimeError(
                f"Function {node.name()} returned an invalid gradient - expected device {wanted.device} but got "
                f"{meta.device}"
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
    was, now = grad.meta, changed.meta
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
        meta = variable.meta
        self.edges = ()
        self.metas = (meta.twin if meta.watched else meta,)  # type: ignore[assignment]
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
            elif held is not None and not STATE.grad and not held.meta.watched and not grad.meta.watched:
                held.add_(grad)  # type: ignore[union-attr]
            elif STATE.grad:
                more.grad = laid_out(grad, self.metas[0]) if held is None else held + grad  # type: ignore[operator]
            elif held is None:
                alone = getrefcount(grad) <= ALONE[0] and getrefcount(grad.storage_impl) <= ALONE[1]
                take = alone and not grad.meta.watched and _lies_as(grad.meta, self.metas[0])
                more.grad = grad if take else laid_out(grad, self.metas[0])
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
        super().__init__((), (unwatched(view.meta),))
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


def _lies_as(meta: TensorMeta, wanted: TensorMeta) -> bool:
    """Return whether a gradient may serve as it is: dense, and with the strides of the leaf where those are dense."""
    if meta is wanted and meta.dense:
        return True
    return meta.dense and not meta.lazy and (not wanted.dense or meta.strides == wanted.strides)


def laid_out(grad: Tensor, wanted: TensorMeta) -> Tensor:
    """A copy of a gradient with the strides of its leaf where those are dense, else row-major."""
    if STATE.grad and requires_grad(grad):
        copy: Tensor = grad.clone()  # type: ignore[attr-defined]
        return copy
    plain = plain_of(grad)
    meta = plain.meta
    fits = wanted.dense and wanted.sizes == meta.sizes
    strides = wanted.strides if fits else None
    made: Tensor
    if strides is None:
        made = ops.empty(meta.sizes, dtype=meta.dtype, device=meta.device)
    else:
        made = ops.empty_strided(meta.sizes, strides, dtype=meta.dtype, device=meta.device)
    made.copy_(plain)  # type: ignore[attr-defined]
    return made
