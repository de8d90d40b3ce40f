"""Dispatch keys: backend components and functionalities in PyTorch's order of priority, and the keys of tensors.

A key set is a 64-bit word: the low 16 bits are backends, functionality number k (counted from 1) has bit 15 + k.
A *runtime key* is what a kernel is registered under: a functionality alone (``BackendSelect``) or, for the
per-backend functionalities, the pair (``CPU`` = Dense on CPU, ``AutogradCUDA``, ``SparseCPU``).
An *alias key* names many runtime keys at once and never occurs in a set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..core.device import Device
from ..core.layout import Layout, _mkldnn, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import AUTOGRAD_KEY, CONJUGATE, NEGATIVE, TensorMeta
from ..tensor.versions import INFERENCE

BACKENDS = (
    "CPU", "CUDA", "HIP", "XLA", "MPS", "IPU", "XPU", "HPU", "VE", "Lazy", "MTIA", "MAIA",
    "PrivateUse1", "PrivateUse2", "PrivateUse3", "Meta",
)  # fmt: skip
FUNCTIONALITIES = (
    "Dense", "FPGA", "Vulkan", "Metal", "Quantized", "CustomRNGKeyId", "MkldnnCPU", "Sparse", "SparseCsr",
    "NestedTensor", "BackendSelect", "Fake", "Python", "FuncTorchDynamicLayerBackMode", "Functionalize", "Conjugate",
    "Negative", "ZeroTensor", "ADInplaceOrView", "AutogradOther", "AutogradFunctionality", "AutogradNestedTensor",
    "Tracer", "AutocastCPU", "AutocastMTIA", "AutocastMAIA", "AutocastXPU", "AutocastIPU", "AutocastHPU",
    "AutocastXLA", "AutocastMPS", "AutocastCUDA", "AutocastPrivateUse1", "FuncTorchBatched",
    "BatchedNestedTensor", "FuncTorchVmapMode", "Batched", "VmapMode", "FuncTorchGradWrapper",
    "DeferredInit", "PythonTLSSnapshot", "FuncTorchDynamicLayerFrontMode", "TESTING_ONLY_GenericWrapper",
    "TESTING_ONLY_GenericMode", "PreDispatch", "PythonDispatcher",
)  # fmt: skip
PER_BACKEND = {
    "Dense": "", "Quantized": "Quantized", "Sparse": "Sparse", "SparseCsr": "SparseCsr",
    "NestedTensor": "NestedTensor", "AutogradFunctionality": "Autograd",
}  # fmt: skip
ALIASES = (
    "Autograd", "CompositeImplicitAutograd", "FuncTorchBatchedDecomposition", "CompositeImplicitAutogradNestedTensor",
    "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional",
)  # fmt: skip

BACKEND_COUNT = len(BACKENDS)
BACKEND_MASK = (1 << BACKEND_COUNT) - 1
BACKEND_BIT = {name: 1 << index for index, name in enumerate(BACKENDS)}
FUNCTIONALITY_BIT = {name: 1 << (BACKEND_COUNT + index) for index, name in enumerate(FUNCTIONALITIES)}
UNDEFINED = "Undefined"
RUNTIME_KEYS = {UNDEFINED: 0}
for _name, _bit in FUNCTIONALITY_BIT.items():
    if _name in PER_BACKEND:
        RUNTIME_KEYS.update({PER_BACKEND[_name] + backend: _bit | BACKEND_BIT[backend] for backend in BACKENDS})
    else:
        RUNTIME_KEYS[_name] = _bit
"""Runtime key name -> its bits; a per-backend key has two."""
AUTOGRAD_KEYS = frozenset(
    ["AutogradOther", "AutogradNestedTensor"] + [PER_BACKEND["AutogradFunctionality"] + name for name in BACKENDS]
)
ABOVE_AUTOGRAD = sum(
    bit for bit in FUNCTIONALITY_BIT.values() if bit > FUNCTIONALITY_BIT["AutogradNestedTensor"]
)
"""The functionalities that come before autograd."""
LAYOUT_BIT = {
    sparse_coo: FUNCTIONALITY_BIT["Sparse"], _mkldnn: FUNCTIONALITY_BIT["MkldnnCPU"],
    **dict.fromkeys((sparse_csr, sparse_csc, sparse_bsr, sparse_bsc), FUNCTIONALITY_BIT["SparseCsr"]),
}  # fmt: skip
"""Layout that is not strided -> the functionality of its tensors."""
AUTOCAST_MASK = sum(bit for name, bit in FUNCTIONALITY_BIT.items() if name.startswith("Autocast"))
AUTOGRAD_MASK = sum(
    FUNCTIONALITY_BIT[name] for name in ("AutogradOther", "AutogradFunctionality", "AutogradNestedTensor")
)


def runtime_key(mask: int) -> str:
    """The highest-priority runtime key of a set of bits; functionality decides, then the highest backend bit."""
    functionality = mask >> BACKEND_COUNT
    if functionality == 0:
        return UNDEFINED
    name = FUNCTIONALITIES[functionality.bit_length() - 1]
    prefix = PER_BACKEND.get(name)
    if prefix is None:
        return name
    backend = mask & BACKEND_MASK
    return prefix + BACKENDS[backend.bit_length() - 1] if backend else UNDEFINED


def check_key(name: str) -> str:
    """`name` if it is a runtime or alias key, else ValueError listing some that are."""
    if name in RUNTIME_KEYS or name in ALIASES:
        return name
    raise ValueError(
        f"unknown dispatch key {name!r}; allowed are backends ({', '.join(BACKENDS)}), those with a prefix "
        f"({', '.join(prefix for prefix in PER_BACKEND.values() if prefix)}), functionalities "
        f"({', '.join(n for n in FUNCTIONALITIES if n not in PER_BACKEND)}) and aliases ({', '.join(ALIASES)})"
    )


def backend_of(key: str) -> str | None:
    """The backend component of a per-backend runtime key (``AutogradCPU`` -> ``CPU``), else None."""
    bits = RUNTIME_KEYS.get(key, 0) & BACKEND_MASK
    return BACKENDS[bits.bit_length() - 1] if bits else None


NAMES = tuple(dict.fromkeys((*RUNTIME_KEYS, *FUNCTIONALITIES, *ALIASES)))


class _Members(type):
    """Makes keys attributes of the class, and the class iterable over all of them."""

    def __getattr__(cls, name: str) -> DispatchKey:
        if name in NAMES:
            return DispatchKey(name)
        raise AttributeError(f"there is no DispatchKey {name!r}")

    def __iter__(cls) -> Iterator[DispatchKey]:
        return (DispatchKey(name) for name in NAMES)

    def __dir__(cls) -> list[str]:
        return [*type.__dir__(cls), *NAMES]


class DispatchKey(str, metaclass=_Members):
    """A key; it equals its name, so either may be given. ValueError for a name that is no key."""

    __slots__ = ()

    def __new__(cls, name: str) -> DispatchKey:
        if name not in NAMES:
            check_key(str(name))
        return super().__new__(cls, name)

    @property
    def name(self) -> str:
        """The key's name as a plain string."""
        return str.__str__(self)

    def __str__(self) -> str:
        return f"DispatchKey.{self.name}"

    def __repr__(self) -> str:
        return f"<DispatchKey.{self.name}>"


class DispatchKeySet:
    """A set of dispatch keys; made from keys, their names, other sets, or the raw word."""

    __slots__ = ("mask",)
    mask: int

    def __init__(self, *keys: str | DispatchKeySet, mask: int = 0) -> None:
        for key in keys:
            mask |= key.mask if isinstance(key, DispatchKeySet) else key_bits(key)
        object.__setattr__(self, "mask", mask)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a DispatchKeySet cannot be changed; use |, & and -")

    def has(self, key: str) -> bool:
        """Return whether every bit of the runtime key is present."""
        bits = key_bits(key)
        return self.mask & bits == bits

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self.has(key)

    def add(self, key: str) -> DispatchKeySet:
        """This set and one more key."""
        return DispatchKeySet(mask=self.mask | key_bits(key))

    def remove(self, key: str) -> DispatchKeySet:
        """This set without the functionality of `key`."""
        return self - DispatchKeySet(key)

    def highestPriorityTypeId(self) -> DispatchKey:
        """The runtime key that a call with these keys is dispatched to."""
        return DispatchKey(runtime_key(self.mask))

    @staticmethod
    def from_raw_repr(mask: int) -> DispatchKeySet:
        """The set whose 64-bit word is `mask`."""
        return DispatchKeySet(mask=mask)

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(mask=self.mask | other.mask)

    def __and__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(mask=self.mask & other.mask)

    def __sub__(self, other: DispatchKeySet) -> DispatchKeySet:
        """Without the functionalities of `other`; backend bits stay, since other functionalities may need them."""
        return DispatchKeySet(mask=self.mask & ~(other.mask & ~BACKEND_MASK))

    def __iter__(self) -> Iterator[str]:
        """Runtime keys, highest priority first."""
        backends = [name for index, name in enumerate(BACKENDS) if self.mask >> index & 1]
        for functionality in reversed(FUNCTIONALITIES):
            if self.mask & FUNCTIONALITY_BIT[functionality]:
                prefix = PER_BACKEND.get(functionality)
                if prefix is None:
                    yield functionality
                else:
                    yield from (prefix + backend for backend in reversed(backends))

    def __bool__(self) -> bool:
        return self.mask != 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DispatchKeySet) and self.mask == other.mask

    def __hash__(self) -> int:
        return hash(self.mask)

    def raw_repr(self) -> int:
        return self.mask

    def __repr__(self) -> str:
        return f"DispatchKeySet({', '.join(reversed(list(self)))})"


def key_bits(key: str) -> int:
    """The bits of a runtime key or of a functionality; ValueError for an unknown name or an alias key."""
    bits = RUNTIME_KEYS.get(key)
    if bits is None:
        bits = FUNCTIONALITY_BIT.get(key)
    if bits is not None:
        return bits
    check_key(key)
    raise ValueError(f"{key!r} is an alias key; a key set holds runtime keys only")


DENSE = FUNCTIONALITY_BIT["Dense"] | FUNCTIONALITY_BIT["AutogradFunctionality"] | FUNCTIONALITY_BIT["ADInplaceOrView"]
RECORDED = FUNCTIONALITY_BIT["AutogradFunctionality"] | FUNCTIONALITY_BIT["ADInplaceOrView"]
"""Keys that tensors made in inference mode lack."""
DEVICE_KEYS = {
    "cpu": DENSE | BACKEND_BIT["CPU"] | FUNCTIONALITY_BIT["AutocastCPU"],
    "cuda": DENSE | BACKEND_BIT["CUDA"] | FUNCTIONALITY_BIT["AutocastCUDA"],
    "meta": DENSE | BACKEND_BIT["Meta"],
    **{
        name.lower(): DENSE | BACKEND_BIT[name]
        for name in ("HIP", "XLA", "MPS", "IPU", "XPU", "HPU", "VE", "Lazy", "MTIA", "MAIA")
    },
    "privateuseone": DENSE | BACKEND_BIT["PrivateUse1"] | FUNCTIONALITY_BIT["AutocastPrivateUse1"],
}
"""Device type -> the keys of a plain strided tensor on it, which do not depend on requires_grad."""


def layout_keys(layout: Layout, device: Device) -> int:
    """Return the keys of a tensor on a device in a layout that is not strided."""
    return DEVICE_KEYS[device.type] & ~FUNCTIONALITY_BIT["Dense"] | LAYOUT_BIT[layout]


DEEPEST = 8
"""Lists within lists that are searched for tensors; a list may contain itself."""


def meta_keys(meta: TensorMeta) -> int:
    """The keys of a tensor of this meta, remembered in it."""
    mask = DEVICE_KEYS[meta.device.type]
    if meta.dtype.quantized:
        mask = mask & ~FUNCTIONALITY_BIT["Dense"] | FUNCTIONALITY_BIT["Quantized"]
    if meta.lazy & CONJUGATE:
        mask |= FUNCTIONALITY_BIT["Conjugate"]
    if meta.lazy & NEGATIVE:
        mask |= FUNCTIONALITY_BIT["Negative"]
    if meta.has_autograd:
        mask |= AUTOGRAD_KEY
    meta.keys = mask
    return mask


def keys_of(tensor: Tensor) -> int:
    """The keys of one tensor: those of its meta and those of its class."""
    keys = tensor.meta.keys
    if keys is None:
        keys = meta_keys(tensor.meta)
    return (keys & ~RECORDED if tensor.counter is INFERENCE else keys) | tensor.class_keys


def tensor_keys(values: Iterable[Any], depth: int = 0) -> int:
    """The union of the keys of all tensors among the values, also inside lists and tuples."""
    mask = 0
    for value in values:
        kind = value.__class__
        if kind is Tensor:
            keys = value.meta.keys
            if keys is None or value.counter is INFERENCE:
                keys = keys_of(value)
            mask |= keys
        elif isinstance(value, Tensor):
            mask |= keys_of(value)
        elif kind is tuple or kind is list:
            mask |= tensor_keys(value, depth + 1) if depth < DEEPEST else 0
    return mask


def tensors_in(values: Iterable[Any], depth: int = 0) -> Iterator[Tensor]:
    """Yield the tensors among the values, also inside lists and tuples."""
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (list, tuple)) and depth < DEEPEST:
            yield from tensors_in(value, depth + 1)


def map_tensors(function: Callable[[Any], Any], value: Any) -> Any:
    """Return ``function(value)`` for a tensor; lists, tuples and dicts with that of the tensors in them."""
    if isinstance(value, Tensor):
        return function(value)
    if isinstance(value, (list, tuple)):
        parts = [map_tensors(function, part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return {key: map_tensors(function, part) for key, part in value.items()} if isinstance(value, dict) else value


def any_autograd(args: Sequence[Any], kwargs: Mapping[str, Any], depth: int = 0) -> bool:
    """Return whether autograd watches a tensor among the arguments, those in lists included."""
    for value in (*args, *kwargs.values()) if kwargs else args:
        kind = value.__class__
        if kind is Tensor or isinstance(value, Tensor):
            if value.meta.has_autograd:
                return True
        elif (kind is tuple or kind is list) and depth < DEEPEST and any_autograd(value, {}, depth + 1):
            return True
    return False
