"""What a call gives, learnt from its kernel for tensors without data: results allocated, written tensors resized."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ...core.tracing import TRACING
from ...dispatch.dispatcher import Operator, redispatch
from ...dispatch.keys import BACKEND_BIT, FUNCTIONALITY_BIT, tensor_keys
from ...memory.storage import Storage, allocate_storage
from ...operators.fallbacks import LAZY_MASK
from ...tensor.changing import change_metadata
from ...tensor.refresh import grow_own_storage
from ...tensor.tensor import Tensor, make_tensor
from ...tensor.versions import bump_version
from .deferred import plain_state
from .operands import Operands
from .twins import Twins, meta_elsewhere, outlines, replaced

HOST_KEYS = BACKEND_BIT["CPU"] | FUNCTIONALITY_BIT["Dense"]
META_KEYS = BACKEND_BIT["Meta"] | FUNCTIONALITY_BIT["Dense"]
REFUSED = (IndexError, RuntimeError, TypeError, ValueError)
"""What a kernel without data raises: NotImplementedError, a RuntimeError, where values decide; else what is wrong."""


class Outlined(NamedTuple):
    """The results of a call as it returns them, and the fresh tensors among them, whose memory is to be filled."""

    results: Any
    fresh: list[Tensor]


def outlined_call(
    operator: Operator, operands: Operands, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Outlined | None:
    """The results of a call on the device, not filled, and its changes of metadata made.

    None, with nothing changed, where values decide or the call is wrong, and where an out= would be resized before
    the kernel has looked at indices that may be out of range.
    """
    outlined = outlines()
    try:
        with plain_state():
            given = [outlined.of(value) for value in args]
            options = {name: outlined.of(value) for name, value in kwargs.items()}
            found = redispatch(operator, keys_for(META_KEYS, given, options), *given, **options)
    except REFUSED:
        if TRACING.hook is not None:
            TRACING.hook("waiting", operator)
        return None
    if operands.indexed and _resized(operands, outlined):
        return None
    change_written(operands, outlined)
    made = Results(outlined, operands)
    results = made.of(found)
    fresh = [tensor for tensor, _ in made.fresh]
    return Outlined(results, fresh)


def keys_for(backend: int, args: Any, kwargs: Mapping[str, Any]) -> int:
    """The keys of a call below autograd on one backend."""
    return (tensor_keys([*args, *kwargs.values()]) & LAZY_MASK) | backend


def _resized(operands: Operands, outlined: Twins) -> bool:
    written = [outline for tensor, outline in outlined.pairs if any(tensor is one for one in operands.written)]
    before = [tensor for tensor, _ in outlined.pairs if any(tensor is one for one in operands.written)]
    return any(one.meta.sizes != two.meta.sizes for one, two in zip(before, written, strict=True))


def change_written(operands: Operands, outlined: Twins) -> None:
    """Count the changes that the twins of the written tensors saw, and give those the sizes that they got."""
    for owner, twin in outlined.owners:
        written = [one for one in operands.written if one.storage_impl is owner.storage_impl]
        for _ in range(twin.storage_impl.version if written else 0):
            bump_version(written[0])
    for tensor, outline in outlined.pairs:
        if not any(tensor is one for one in operands.written):
            continue
        grow_own_storage(tensor, outline.storage_impl.nbytes)
        before, after = tensor.meta, outline.meta
        meta = before
        if (before.sizes, before.strides) != (after.sizes, after.strides):
            meta = meta_elsewhere(after, before.device)
        change_metadata(tensor, meta, tensor.storage_impl, tensor.offset)


class Results:
    """The results of a call, from those of its twins: arguments as they are, views of them, and fresh tensors.

    `fresh` has each of the last with what it was made from; their memory is to be filled.
    """

    __slots__ = ("_outlined", "_storages", "device", "fresh")

    def __init__(self, outlined: Twins, operands: Operands) -> None:
        self._outlined = outlined
        self._storages: list[tuple[Storage, Storage]] = []
        self.device = operands.device
        self.fresh: list[tuple[Tensor, Tensor]] = []

    def of(self, value: Any) -> Any:
        """What stands for a result or a list of results."""
        return replaced(value, self._tensor)

    def _tensor(self, outline: Tensor) -> Tensor:
        for original, twin in self._outlined.pairs:
            if twin is outline:
                return original
        meta = meta_elsewhere(outline.meta, self.device)
        for base, twin in self._outlined.owners:
            if twin.storage_impl is outline.storage_impl:
                root = base if base.base is None else base.base
                return make_tensor(meta, base.storage_impl, outline.offset, root)
        made = make_tensor(meta, self._fresh_storage(outline.storage_impl), outline.offset, None)
        self.fresh.append((made, outline))
        return made

    def _fresh_storage(self, outline: Storage) -> Storage:
        for known, made in self._storages:
            if known is outline:
                return made
        storage = allocate_storage(outline.nbytes, self.device)
        storage.version = outline.version
        self._storages.append((outline, storage))
        return storage
