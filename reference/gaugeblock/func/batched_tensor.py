"""Tensors of vmap: one example of a batch, whose values all lie in a tensor with one more dim, the first."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, NoReturn

from ..core.away import carried
from ..dispatch.keys import FUNCTIONALITY_BIT, tensors_in
from ..dispatch.overrides import _disabled_torch_function_impl
from ..dispatch.state import OVERRIDING, STATE, enter_special, leave_special
from ..memory.storage import dataless_storage
from ..tensor.tensor import Tensor, tensor_object
from ..tensor.tensor_meta import meta_of

BATCHED = FUNCTIONALITY_BIT["FuncTorchBatched"]
MAPPING = FUNCTIONALITY_BIT["FuncTorchVmapMode"]
ITEM = (
    "vmap: It looks like you're calling .item() on a Tensor: its value is another one for each example. Rewrite it "
    "with operators on tensors"
)
NO_DATA = (
    "vmap: an example of a batch has no memory of its own, so its data cannot be read as numbers, by address or as a "
    "mask that picks elements"
)


class Level(NamedTuple):
    """One vmap that runs: examples in its batch, and what random operators do."""

    size: int
    randomness: str


class Levels(threading.local):
    """The vmaps that run in this thread, the outermost first."""

    running: tuple[Level, ...] = ()


LEVELS = carried(Levels())


@contextmanager
def running(levels: tuple[Level, ...]) -> Iterator[None]:
    """These vmaps run in this thread for the duration; random operators come to the kernel of the innermost."""
    before = LEVELS.running, STATE.include
    LEVELS.running = levels
    STATE.include = STATE.include | MAPPING if levels else STATE.include & ~MAPPING
    enter_special()
    try:
        yield
    finally:
        LEVELS.running, STATE.include = before
        leave_special()


def _refuse(*given: Any, **options: Any) -> NoReturn:
    raise RuntimeError(NO_DATA)


def _value_requires_grad(self: Any) -> bool:
    return bool(self.value.requires_grad)


def _set_requires_grad(self: Any, requires_grad: bool) -> None:
    self.value.requires_grad = requires_grad


class BatchedTensor(Tensor):
    """One example of `value`, whose first dim counts the examples of the vmap of number `level`, from 1 on."""

    __slots__ = ("level", "value")
    class_keys = BATCHED
    __torch_function__: Any = classmethod(_disabled_torch_function_impl)
    value: Tensor
    level: int

    def __repr__(self) -> str:
        shown = repr(self.value).replace("\n", "\n    ")
        return f"BatchedTensor(lvl={self.level}, bdim=0, value=\n    {shown}\n)"

    requires_grad = property(_value_requires_grad, _set_requires_grad)
    is_leaf = property(lambda self: self.value.is_leaf)
    grad_fn = property(lambda self: self.value.grad_fn)
    pointer = property(_refuse)
    tolist = numpy = __array__ = __dlpack__ = data_ptr = untyped_storage = storage = _refuse

    @property
    def grad(self) -> Tensor | None:
        """The gradient of the example, if there is one."""
        found: Any = self.value.grad  # type: ignore[attr-defined]
        return None if found is None else batched(found, self.level)

    def requires_grad_(self, requires_grad: bool = True) -> BatchedTensor:
        """Set whether the batch requires a gradient and return the example."""
        self.value.requires_grad_(requires_grad)  # type: ignore[attr-defined]
        return self


OVERRIDING.pop()  # this subclass overrides nothing


def batched(value: Tensor, level: int) -> BatchedTensor:
    """Return the example of a tensor whose first dim counts them."""
    meta = value.meta
    own = meta_of(meta.sizes[1:], meta.strides[1:], meta.dtype, meta.device)
    made = tensor_object(BatchedTensor, own, dataless_storage(own.nbytes, meta.device), 0)
    made._pointer = 0
    made.value, made.level = value, level
    return made


def batched_in(values: Any) -> list[BatchedTensor]:
    """Return the examples of batches among the values, those in lists included."""
    return [one for one in tensors_in(values) if isinstance(one, BatchedTensor)]


def level_of(values: Any) -> int:
    """Return the number of the innermost vmap that a value among these belongs to, 0 for none."""
    return max((one.level for one in batched_in(values)), default=0)


def is_batched(value: Any, level: int) -> bool:
    """Return whether a value is an example of the vmap of this number."""
    return isinstance(value, BatchedTensor) and value.level == level


def value_of(value: Any, level: int) -> Any:
    """Return the whole batch of an example of this level, any other value as it is."""
    return value.value if is_batched(value, level) else value


def lifted(value: Any, level: int, size: int) -> Any:
    """Return the whole batch of a tensor: one that is the same for all examples is expanded."""
    if is_batched(value, level):
        return value.value
    return value.unsqueeze(0).expand(size, *value.shape)
