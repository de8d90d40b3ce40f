"""The tensors of a call on a CUDA device, and its results, by running the kernel on meta tensors.

`Operands` finds the device. A `TensorConverter` gives tensors that stand for those of the call: meta tensors, without
data, to learn what the call gives; aliases on the host, on the same bytes, to do its work. `meta_call` allocates the
results, resizes written tensors, and so has every error that needs no values at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from ...core.device import Device, as_device, cpu, meta_device
from ...core.tracing import TRACING
from ...dispatch.dispatcher import redispatch
from ...dispatch.keys import BACKEND_BIT, FUNCTIONALITY_BIT, map_tensors, tensor_keys
from ...dispatch.operator import Operator
from ...memory.storage import Storage, allocate_storage, foreign_storage
from ...operators.copy import clone
from ...operators.fallbacks import LAZY_MASK
from ...tensor.changing import UnbackedTensor, change_metadata
from ...tensor.refresh import grow_own_storage
from ...tensor.tensor import Tensor, make_tensor, new_like
from ...tensor.tensor_meta import TensorMeta, meta_of, remember, without_autograd
from ...tensor.versions import bump_version
from .deferred import plain_state

INDEXED = frozenset({"index", "index_put", "index_put_", "_index_put_impl_"})
"""Operators whose index tensors may lie on the CPU."""


WRITTEN_BESIDE: Mapping[str, tuple[str, ...]] = {"native_batch_norm": ("running_mean", "running_var")}
"""Arguments that an operator writes although its schema does not say so, and without a new version."""


INDICES = frozenset({"index", "indices", "target", "targets"})
"""Arguments with numbers that have to lie in a range."""


class Operands:
    """The tensors of a call; `device` is the CUDA device that they are on, or that ``device=`` names; `indexed` says
    that one of them holds indices.

    0-dim tensors on the CPU go with any device, unless they are written. RuntimeError names the operator, the two
    arguments and their devices otherwise.
    """

    __slots__ = ("device", "indexed", "tensors", "written")

    def __init__(self, operator: Operator, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        self.tensors: list[Tensor] = []
        self.written: list[Tensor] = []
        self.indexed = False
        first: tuple[str, Device] | None = None
        apart: list[tuple[str, Device]] = []
        indexed = operator.name.partition(".")[0] in INDEXED
        for name, tensor, written in _named_tensors(operator, args, kwargs):
            device = tensor.meta.device
            self.indexed = self.indexed or name in INDICES
            if device.type == "cuda":
                if first is None:
                    first = name, device
                elif device is not first[1]:
                    apart.append((name, device))
                self.tensors.append(tensor)
            elif device is not cpu or written or (tensor.meta.ndim and not (indexed and name == "indices")):
                apart.append((name, device))
            if written:
                self.written.append(tensor)
        if first is None:
            self.device = as_device(kwargs.get("device", "cuda"))
        else:
            self.device = first[1]
            if apart:
                name, (argument, device) = operator.name.partition(".")[0], apart[0]
                raise RuntimeError(
                    f"{name}(): Expected all tensors to be on the same device, but found at least two devices, "
                    f"{first[1]} and {device}! (argument '{first[0]}' is on {first[1]}, argument '{argument}' on "
                    f"{device})"
                )

    @property
    def index(self) -> int:
        """The index of the device."""
        return self.device.index or 0


def _named_tensors(
    operator: Operator, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Iterator[tuple[str, Tensor, bool]]:
    """Name, tensor and whether it is written; out= may be one tuple of several arguments of the schema."""
    beside = WRITTEN_BESIDE.get(operator.name, ())
    for place, argument in enumerate(operator.schema.arguments):
        value = args[place] if place < len(args) else kwargs.get(argument.name)
        for part in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(part, Tensor):
                yield argument.name, part, argument.written or argument.name in beside
    several = kwargs.get("out")
    for part in several if isinstance(several, (tuple, list)) else ():
        yield "out", part, True


class TensorConverter:
    """Tensors on another device that stand for those of a call; those that share a storage are given ones that do.

    `pairs` has each tensor with what stands for it, `owners` the first tensor of each storage likewise. Nothing here
    holds a storage, so that one which a single tensor refers to is seen to be so when it is resized.
    """

    __slots__ = ("_of_other", "_storage_of", "device", "owners", "pairs")

    def __init__(
        self, device: Device, storage_of: Callable[[Storage], Storage], of_other: Callable[[Tensor], Tensor]
    ) -> None:
        self.device = device
        self._storage_of = storage_of
        self._of_other = of_other
        self.pairs: list[tuple[Tensor, Tensor]] = []
        self.owners: list[tuple[Tensor, Tensor]] = []

    def of(self, value: Any) -> Any:
        """Return `value`, the tensors in it replaced by those that stand for them, those in lists too."""
        return map_tensors(self._tensor, value)

    def _tensor(self, tensor: Tensor) -> Tensor:
        for original, made in self.pairs:
            if original is tensor:
                return made
        if tensor.meta.device.type == "cuda":
            if tensor.__class__ is UnbackedTensor:
                _ = tensor.pointer  # raises RuntimeError
            made = self._on_device(tensor, meta_elsewhere(tensor.meta, self.device))
        else:
            made = self._of_other(tensor)
        self.pairs.append((tensor, made))
        return made

    def _on_device(self, tensor: Tensor, meta: TensorMeta) -> Tensor:
        for original, made in self.owners:
            if original.storage_impl is tensor.storage_impl:
                return make_tensor(meta, made.storage_impl, tensor.offset, None)
        made = make_tensor(meta, self._storage_of(tensor.storage_impl), tensor.offset, None)
        self.owners.append((tensor, made))
        return made


def meta_elsewhere(meta: TensorMeta, device: Device) -> TensorMeta:
    """The same sizes, strides and dtype on another device."""
    meta = without_autograd(meta)
    key = ("elsewhere", device)
    found: TensorMeta | None = meta.plans.get(key)
    if found is None:
        made = meta_of(meta.sizes, meta.strides, meta.dtype, device, meta.lazy)
        found = remember(meta.plans, key, made)
    return found


def meta_converter() -> TensorConverter:
    """TensorConverter without data, also of the CPU's tensors."""

    def storage_of(storage: Storage) -> Storage:
        made = allocate_storage(storage.nbytes, meta_device)
        made.resizable = storage.resizable
        return made

    return TensorConverter(meta_device, storage_of, lambda tensor: new_like(meta_elsewhere(tensor.meta, meta_device)))


def host_aliases() -> TensorConverter:
    """Return what converts to CPU tensors on the same bytes, which have to stay; of the CPU's own it makes copies."""
    return TensorConverter(cpu, lambda storage: foreign_storage(storage.pointer, storage.nbytes), clone)


def on_host(operands: tuple[Any, ...]) -> Any:
    """Return tensors of the CPU at the same addresses in the place of those of the device."""
    return host_aliases().of(operands)


HOST_KEYS = BACKEND_BIT["CPU"] | FUNCTIONALITY_BIT["Dense"]
META_KEYS = BACKEND_BIT["Meta"] | FUNCTIONALITY_BIT["Dense"]
REFUSED = (IndexError, RuntimeError, TypeError, ValueError)
"""What a kernel without data raises: NotImplementedError, a RuntimeError, where values decide; else what is wrong."""


class MetaCall(NamedTuple):
    """The results of a call as it returns them, and the fresh tensors among them, whose memory is to be filled."""

    results: Any
    fresh: list[Tensor]


def meta_call(
    operator: Operator, operands: Operands, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> MetaCall | None:
    """The results of a call on the device, not filled, and its changes of metadata made.

    None, with nothing changed, where values decide or the call is wrong, and where an out= would be resized before
    the kernel has looked at indices that may be out of range.
    """
    metas = meta_converter()
    try:
        with plain_state():
            given = [metas.of(value) for value in args]
            options = {name: metas.of(value) for name, value in kwargs.items()}
            found = redispatch(operator, keys_for(META_KEYS, given, options), *given, **options)
    except REFUSED:
        if TRACING.hook is not None:
            TRACING.hook("waiting", operator)
        return None
    if operands.indexed and any(
        tensor.meta.sizes != converted.meta.sizes
        for tensor, converted in metas.pairs
        if any(tensor is one for one in operands.written)
    ):
        return None
    change_written(operands, metas)
    made = Results(metas, operands)
    return MetaCall(made.of(found), [tensor for tensor, _ in made.fresh])


def keys_for(backend: int, args: Any, kwargs: Mapping[str, Any]) -> int:
    """The keys of a call below autograd on one backend."""
    return (tensor_keys([*args, *kwargs.values()]) & LAZY_MASK) | backend


def change_written(operands: Operands, converter: TensorConverter) -> None:
    """Count the changes of the tensors that stood for the written ones, and give these the sizes that those got."""
    for owner, converted in converter.owners:
        written = [one for one in operands.written if one.storage_impl is owner.storage_impl]
        for _ in range(converted.storage_impl.version if written else 0):
            bump_version(written[0])
    for tensor, converted in converter.pairs:
        if not any(tensor is one for one in operands.written):
            continue
        grow_own_storage(tensor, converted.storage_impl.nbytes)
        before, after = tensor.meta, converted.meta
        meta = before
        if (before.sizes, before.strides) != (after.sizes, after.strides):
            meta = meta_elsewhere(after, before.device)
        change_metadata(tensor, meta, tensor.storage_impl, tensor.offset)


class Results:
    """The results of a call on the device: arguments as they are, views of them, and fresh tensors. `fresh` has each of
    the last with what it was made from; their memory is to be filled."""

    __slots__ = ("_converter", "_storages", "device", "fresh")

    def __init__(self, converter: TensorConverter, operands: Operands) -> None:
        self._converter = converter
        self._storages: list[tuple[Storage, Storage]] = []
        self.device = operands.device
        self.fresh: list[tuple[Tensor, Tensor]] = []

    def of(self, value: Any) -> Any:
        """Return what stands for a result or a list of results."""
        return map_tensors(self._tensor, value)

    def _tensor(self, found: Tensor) -> Tensor:
        for original, converted in self._converter.pairs:
            if converted is found:
                return original
        meta = meta_elsewhere(found.meta, self.device)
        for base, converted in self._converter.owners:
            if converted.storage_impl is found.storage_impl:
                root = base if base.base is None else base.base
                return make_tensor(meta, base.storage_impl, found.offset, root)
        made = make_tensor(meta, self._fresh_storage(found.storage_impl), found.offset, None)
        self.fresh.append((made, found))
        return made

    def _fresh_storage(self, found: Storage) -> Storage:
        for known, made in self._storages:
            if known is found:
                return made
        storage = allocate_storage(found.nbytes, self.device)
        storage.version = found.version
        self._storages.append((found, storage))
        return storage
