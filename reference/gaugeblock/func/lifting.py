"""Derivatives within a vmap: arguments become examples of all vmaps that run, and are differentiated as whole batches.

The gradient of an example's result is that of its batch, since no example depends on another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..autograd import forward_ad
from ..autograd.backward import seed_of
from ..autograd.forward_mode import detached
from ..autograd.functional import pulled_back
from ..calls.functions import ops
from ..tensor.tensor import Tensor
from .batched_tensor import LEVELS, BatchedTensor, batched, level_of, lifted


def on_whole(make: Callable[..., Tensor], *given: Any) -> Tensor:
    """Return what `make` makes of tensors; within vmaps, of their whole batches, as an example."""
    return _on_whole(make, given, len(LEVELS.running))


def _on_whole(make: Callable[..., Tensor], given: tuple[Any, ...], level: int) -> Tensor:
    if not level:
        return make(*given)
    size = LEVELS.running[level - 1].size
    return batched(_on_whole(make, tuple([lifted(one, level, size) for one in given]), level - 1), level)


def _whole(one: Tensor, level: int, size: int) -> Tensor:
    """Return the whole batch of a tensor at a level, as an example of those further in."""
    if isinstance(one, BatchedTensor) and one.level > level:
        inner: Any = _whole(one.value, level, size)
        return batched(inner.transpose(0, 1), one.level)
    made: Tensor = lifted(one, level, size)
    return made


def _example(whole: Tensor, level: int) -> Tensor:
    """Return an example of a whole batch, and still one of the vmaps further in."""
    if isinstance(whole, BatchedTensor) and whole.level > level:
        inner: Any = whole.value
        return batched(_example(inner.transpose(0, 1), level), whole.level)
    return batched(whole, level)


def gradients(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], seeds: Sequence[Tensor], *, create: bool
) -> list[Tensor]:
    """Return the gradients of inputs for those of outputs; of inputs that are examples, those of their batches."""
    level = level_of(inputs)
    if not level:
        return pulled_back(outputs, inputs, seeds, create=create)
    size = next(one.value.meta.sizes[0] for one in inputs if isinstance(one, BatchedTensor) and one.level == level)
    whole = [[_whole(one, level, size) for one in tensors] for tensors in (outputs, inputs, seeds)]
    return [_example(one, level) for one in gradients(*whole, create=create)]


def seed(value: Tensor) -> Tensor:
    """Return the gradient 1 of a value without dims."""
    if isinstance(value, BatchedTensor):
        made: Tensor = ops.ones_like(value)
        return made
    return seed_of(value, None)


def without_history(value: Tensor) -> Tensor:
    """Return a tensor with the same values that no graph leads to."""
    return batched(without_history(value.value), value.level) if isinstance(value, BatchedTensor) else detached(value)


def unpacked(value: Tensor) -> tuple[Tensor, Tensor | None]:
    """Return the primal and the tangent of a tensor, None for one that has no tangent."""
    if not isinstance(value, BatchedTensor):
        primal, tangent = forward_ad.unpack_dual(value)
        return primal, tangent
    primal, tangent = unpacked(value.value)
    return batched(primal, value.level), None if tangent is None else batched(tangent, value.level)
