"""Calling an operator: key set of the arguments, kernel of the highest key, redispatch below it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..core.device import PRIVATE, cpu, rename_private_device
from ..core.errors import type_error
from ..tensor.changing import change_meta
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import CONJUGATE, NEGATIVE, WATCHED_KEY, TensorMeta, unwatched
from ..tensor.versions import INFERENCE
from .keys import ALIASES, AUTOGRAD_MASK, BACKEND_BIT, FUNCTIONALITY_BIT, DispatchKeySet, check_key, runtime_key
from .registry import AMBIGUOUS, DEEPEST, FALLTHROUGH, REGISTRY, Kernel, Operator, Registration, Resolved
from .state import DEFAULT_EXCLUDE, DEFAULT_INCLUDE, SPECIAL, STATE, WATCHING

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

for _key in (
    "BackendSelect", "ADInplaceOrView", "AutogradOther", "AutogradNestedTensor", "Tracer", "PythonTLSSnapshot",
    "PythonDispatcher",
):  # fmt: skip
    REGISTRY.register_fallback(_key, FALLTHROUGH)
for _backend in BACKEND_BIT:
    REGISTRY.register_fallback("Autograd" + _backend, FALLTHROUGH)
for _functionality in FUNCTIONALITY_BIT:
    if _functionality.startswith("Autocast"):
        REGISTRY.register_fallback(_functionality, FALLTHROUGH)


def meta_keys(meta: TensorMeta) -> int:
    """The keys of a tensor of this meta, remembered in it."""
    mask = DEVICE_KEYS[meta.device.type]
    if meta.lazy & CONJUGATE:
        mask |= FUNCTIONALITY_BIT["Conjugate"]
    if meta.lazy & NEGATIVE:
        mask |= FUNCTIONALITY_BIT["Negative"]
    if meta.watched:
        mask |= WATCHED_KEY
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


def key_set(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> int:
    """The keys a call dispatches on: those of its tensors, else of ``device=`` (default cpu), and the thread's sets."""
    mask = tensor_keys(args)
    if kwargs:
        mask |= tensor_keys(kwargs.values())
    if mask == 0:
        device = kwargs.get("device")
        mask = DEVICE_KEYS["cpu" if device is None else getattr(device, "type", str(device).split(":")[0])]
    if SPECIAL:
        return (mask | STATE.include) & ~STATE.exclude
    return (mask | DEFAULT_INCLUDE) & ~DEFAULT_EXCLUDE


def call(operator: Operator, *args: Any, **kwargs: Any) -> Any:
    """Run an operator on checked arguments; NotImplementedError when no kernel exists for the resolved key."""
    mask = key_set(args, kwargs)
    found = operator.resolved.get(mask)
    if found is None or not found.plain or SPECIAL:
        return redispatch(operator, mask, *args, **kwargs)
    return found.entry.function(*args, **kwargs)  # type: ignore[misc]


def call_on(operator: Operator, tensor: Tensor, *args: Any) -> Any:
    """`call` with no other tensor than the first argument: its key set is at hand."""
    if tensor.__class__ is Tensor and tensor.counter is not INFERENCE and not SPECIAL:
        found = operator.resolved.get(((tensor.meta.keys or 0) | DEFAULT_INCLUDE) & ~DEFAULT_EXCLUDE)
        if found is not None and found.plain:
            return found.entry.function(tensor, *args)  # type: ignore[misc]
    return call(operator, tensor, *args)


def plain_kernel(operator: Operator, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Kernel | None:
    """Return the kernel that `call` runs on these arguments; None when it takes more than them."""
    found = REGISTRY.resolve(operator, key_set(tuple(args), kwargs))
    return found.entry.function if found.plain else None


def redispatch(operator: Operator, mask: int, *args: Any, **kwargs: Any) -> Any:
    """Run the kernel of the highest key in `mask`, whatever the tensors carry."""
    found = REGISTRY.resolve(operator, mask)
    if WATCHING and not found.mask & (AUTOGRAD_MASK | WATCHED_KEY):
        found = REGISTRY.watchers.guarded(operator, found, args, kwargs)
    if STATE.trace is not None:
        result = STATE.trace(operator, mask, found, args, kwargs)
    else:
        result = run_entry(operator, found, args, kwargs)
    return made_in_inference(result, (*args, *kwargs.values())) if STATE.inference else result


def made_in_inference(result: Any, given: tuple[Any, ...]) -> Any:
    """Return `result` as inference tensors: new tensors lose their version and autograd keys.

    A view of an inference tensor is not a view for autograd; a view of any other tensor keeps its base.
    """
    for value in result if isinstance(result, (tuple, list)) else (result,):
        if not isinstance(value, Tensor):
            continue
        if value.base is None:
            if value.counter is None and not any(part.storage_impl is value.storage_impl for part in _tensors(given)):
                value.counter = INFERENCE
        elif value.counter is INFERENCE and not any(part is value for part in _tensors(given)):
            value.base = value.autograd = None
            change_meta(value, unwatched)
    return result


def _tensors(given: tuple[Any, ...]) -> Iterator[Tensor]:
    """Yield the tensors among the arguments, those in lists included."""
    for one in given:
        for part in one if isinstance(one, (tuple, list)) else (one,):
            if isinstance(part, Tensor):
                yield part


def run_entry(operator: Operator, found: Resolved, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Call the kernel that was found; NotImplementedError or RuntimeError when there is none."""
    entry = found.entry
    if entry.function is None:
        check_one_device(operator, (*args, *kwargs.values()))
        raise missing_kernel(operator, entry, runtime_key(found.mask))
    if entry.boxed:
        return entry.function(operator, found.mask, args, kwargs)
    if entry.with_keys:
        return entry.function(found.mask, *args, **kwargs)
    return entry.function(*args, **kwargs)


def check_one_device(operator: Operator, values: Iterable[Any]) -> None:
    """RuntimeError naming two devices when tensors of a call lie on several; 0-dim ones on the CPU go with any."""
    found: list[str] = []
    for value in values:
        for part in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(part, Tensor) and (part.meta.ndim or part.meta.device is not cpu):
                name = str(part.meta.device)
                if name not in found:
                    found.append(name)
    if len(found) > 1:
        raise RuntimeError(
            f"{operator.name}: Expected all tensors to be on the same device, but found at least two devices, "
            f"{found[0]} and {found[1]}!"
        )


def missing_kernel(operator: Operator, entry: Registration, key: str) -> Exception:
    """The exception for a key set that resolves to no kernel."""
    if entry is AMBIGUOUS:
        return RuntimeError(
            f"{operator.name}: AutogradOther is ambiguous: there is a composite kernel and a kernel of a backend that "
            f"has no autograd key of its own; register an AutogradOther kernel"
        )
    registered = sorted(name for name, stack in operator.kernels.items() if stack)
    return NotImplementedError(
        f"Could not run '{operator.qualified_name}' with arguments from the '{key}' backend: it has kernels for "
        f"{', '.join(registered) or 'no backend'} only"
    )


def dispatch_keys(tensor: Any) -> DispatchKeySet:
    """The keys of a tensor; they do not depend on requires_grad. TypeError for anything else."""
    if not isinstance(tensor, Tensor):
        type_error("dispatch_keys", "tensor", tensor, "Tensor")
    return DispatchKeySet(mask=keys_of(tensor) & ~WATCHED_KEY)


def has_kernel_for_dispatch_key(name: str, key: str) -> bool:
    """Return whether a kernel of operator `name` is registered under exactly this key. RuntimeError, ValueError."""
    return REGISTRY.find(name).has_kernel(check_key(str.__str__(key)))


def has_kernel_for_any_dispatch_key(name: str, keys: DispatchKeySet) -> bool:
    """Return whether a kernel of operator `name` is registered under one of the keys. RuntimeError."""
    return REGISTRY.find(name).has_kernel(*keys)


def has_computed_kernel_for_dispatch_key(name: str, key: str) -> bool:
    """Return whether the operator's table has a kernel for this key: registered, from an alias key, or a fallback."""
    if check_key(str.__str__(key)) in ALIASES:
        return has_kernel_for_dispatch_key(name, key)
    return REGISTRY.lookup(REGISTRY.find(name), str.__str__(key)).function is not None


def rename_privateuse1_backend(backend_name: str) -> None:
    """Call the device of the PrivateUse1 keys `backend_name` from now on, once per process.

    Kernels are registered under "PrivateUse1", memory with `register_allocator`. Raises RuntimeError when the name is
    no identifier, belongs to another device, or the device has another name already.
    """
    rename_private_device(backend_name)
    DEVICE_KEYS[backend_name] = DEVICE_KEYS[PRIVATE]
