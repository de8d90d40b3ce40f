"""The dispatcher: operators with their kernels, the kernel that a key set resolves to, and calls.

Precedence for one runtime key (PyTorch's): a kernel for the key itself; CompositeExplicitAutogradNonFunctional,
then CompositeExplicitAutograd, for backend keys; CompositeImplicitAutograd, for backend keys and for autograd keys
whose backend has no kernel of its own; Autograd, for autograd keys; the key's fallback; missing.
The last registration for a key is the active one; earlier ones stay and come back when it is removed.

A call collects the key set of its arguments, and runs the kernel of the highest key.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from gaugeblock_spec.schema import parse

from ..core.device import cpu
from ..core.fork_safety import fork_safe
from ..core.layout import strided
from ..core.warn import warn as give_warning
from ..tensor.changing import change_meta
from ..tensor.hooks import SPECIAL
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import AUTOGRAD_KEY, without_autograd
from ..tensor.versions import INFERENCE
from .keys import (
    ABOVE_AUTOGRAD,
    ALIASES,
    AUTOGRAD_KEYS,
    AUTOGRAD_MASK,
    BACKEND_COUNT,
    BACKEND_MASK,
    BACKENDS,
    DEVICE_KEYS,
    FUNCTIONALITY_BIT,
    LAYOUT_BIT,
    PER_BACKEND,
    RUNTIME_KEYS,
    UNDEFINED,
    any_autograd,
    backend_of,
    check_key,
    runtime_key,
    tensor_keys,
    tensors_in,
)
from .operator import (
    AMBIGUOUS,
    FALLTHROUGH,
    IMPLIED_NAMESPACE,
    MISSING,
    Kernel,
    Operator,
    Registration,
    Resolved,
    missing_kernel,
)
from .state import AUTOGRAD_IN_USE, DEFAULT_EXCLUDE, DEFAULT_INCLUDE, STATE, enter_special, leave_special

BACKEND_KEYS = frozenset(
    prefix + backend for name, prefix in PER_BACKEND.items() if name != "AutogradFunctionality" for backend in BACKENDS
) | {"FPGA", "Vulkan", "Metal", "MkldnnCPU", "CustomRNGKeyId"}

KEYS = frozenset((*RUNTIME_KEYS, *ALIASES))
FAST_CALLS = frozenset({"CPU", "AutogradCPU", "CUDA", "AutogradCUDA", "BackendSelect", "ADInplaceOrView", *ALIASES})
"""Keys whose kernels may serve calls on plain tensors, which the fast paths would otherwise run themselves."""


class Registry:
    """All declared operators and the per-key fallbacks.

    Once autograd is imported, `autograd` gives its kernel for an operator and a key set, and `guard` what runs in place
    of the kernel found for a call: one that unpacks tensors before a kernel sees them. `bind_operator`, which makes
    calls that keep their plans, is there once bindings are, and `publish`, which makes the callable object that stands
    for an operator outside, in the end. `strided_composites` has the keys of layouts on which the engine's composite
    kernels do not work, with the operators whose kernels do.
    """

    autograd: Callable[[Operator, int], Resolved]
    guard: Callable[[Operator, Resolved, tuple[Any, ...], Mapping[str, Any]], Resolved]
    bind_operator: Callable[[Operator], Callable[..., Any]]
    publish: Callable[[Operator], Any]

    def __init__(self) -> None:
        self.operators: dict[str, Operator] = {}
        self.fallbacks: dict[str, Registration] = {}
        self.strided_composites: dict[str, frozenset[str]] = {}
        self.sealed = False
        self._overloads: dict[str, tuple[Operator, ...]] = {}
        self._lock = fork_safe(threading.RLock())

    def seal(self) -> None:
        """Mark the operators declared so far: a kernel registered later keeps callers off the fast paths."""
        self.sealed = True
        for operator in self.operators.values():
            operator.sealed = True

    def define(self, text: str) -> Operator:
        """Declare an operator by its schema; RuntimeError when the name and overload are taken."""
        text = text.removeprefix(IMPLIED_NAMESPACE)
        name = text[: text.index("(")].strip() if "(" in text else parse(text).qualified_name
        with self._lock:
            if name in self.operators:
                raise RuntimeError(f"operator {name!r} is already declared as {self.operators[name].text!r}")
            return self._declare(name, text)

    def define_missing(self, texts: Iterable[str]) -> None:
        """Declare, by their schemas, the operators of the implied namespace that are not declared yet."""
        with self._lock:
            for text in texts:
                name = text[: text.index("(")]
                if name not in self.operators:
                    self._declare(name, text)

    def _declare(self, name: str, text: str) -> Operator:
        operator = self.operators[name] = Operator(name, text)
        base = name.partition(".")[0]
        self._overloads[base] = (*self.overloads(base), operator)
        return operator

    def undefine(self, name: str) -> None:
        """Take a declaration away, with its kernels; nothing happens when there is none."""
        with self._lock:
            operator = self.operators.pop(name, None)
            if operator is not None:
                base = name.partition(".")[0]
                self._overloads[base] = tuple([one for one in self.overloads(base) if one is not operator])
                for key, stack in operator.kernels.items():
                    for _ in stack:
                        self._leave(operator, key)
                operator.kernels.clear()
                operator.resolved.clear()

    def overloads(self, base: str) -> tuple[Operator, ...]:
        """The operators of one name, ``add.Tensor`` and ``add.Scalar`` of ``add``, in the order of declaration."""
        return self._overloads.get(base, ())

    def find(self, name: str) -> Operator:
        """The operator ``name.overload``; RuntimeError when it is not declared."""
        name = name.removeprefix(IMPLIED_NAMESPACE)
        found = self.operators.get(name)
        if found is None:
            base = name.split(".")[0]
            known = sorted(other.name for other in self.overloads(base))
            hint = f"; declared overloads of {base!r}: {', '.join(known)}" if known else ""
            raise RuntimeError(f"no operator {name!r} is declared{hint}")
        return found

    def register(
        self, name: str, key: str, kernel: Kernel | Registration, *, with_keys: bool = False, warn: bool = True,
        own: bool = False,
    ) -> Callable[[], None]:  # fmt: skip
        """Put a kernel under a key; the last one wins. Returns a function that takes it away again. With `warn` one
        that is replaced is warned of. The engine's `own` kernels stay, and do what the fast paths do."""
        operator = self.operators.get(name) or self.find(name)
        if key not in KEYS:
            check_key(key)
        entry = kernel if isinstance(kernel, Registration) else Registration(kernel, "kernel", with_keys=with_keys)
        with self._lock:
            stack = operator.kernels.get(key)
            if stack is None:
                stack = operator.kernels[key] = []
            elif stack and warn:
                give_warning(f"{name}: a kernel for {key} is registered; the new one replaces it")
            stack.append(entry)
            if operator.resolved:
                operator.resolved.clear()
            if operator.sealed and key in FAST_CALLS and not own:
                enter_special()

        def remove() -> None:
            with self._lock:
                at = next((index for index, one in enumerate(stack) if one is entry), None)
                if at is not None:
                    del stack[at]
                    self._leave(operator, key)
                operator.resolved.clear()

        return remove

    def put(self, name: str, keys: Iterable[str], kernel: Kernel) -> None:
        """Register one of the engine's own kernels under keys, for good."""
        operator = self.operators.get(name) or self.find(name)
        entry = Registration(kernel, "kernel")
        for key in keys:
            if self.sealed or key in operator.kernels or key not in KEYS:
                self.register(name, key, entry)
            else:
                operator.kernels[key] = [entry]

    def put_below(self, name: str, key: str, kernel: Kernel) -> None:
        """Register one of the engine's own kernels, which it has from now on: those from outside go before it."""
        operator = self.find(name)
        with self._lock:
            operator.kernels.setdefault(key, []).insert(0, Registration(kernel, "kernel"))
            operator.resolved.clear()

    @staticmethod
    def _leave(operator: Operator, key: str) -> None:
        if operator.sealed and key in FAST_CALLS:
            leave_special()

    def register_fallback(self, key: str, kernel: Kernel | Registration, *, own: bool = False) -> Callable[[], None]:
        """A boxed kernel ``(operator, keys, args, kwargs)`` for every operator that has nothing else under `key`.
        Returns a function that puts back what was there before."""
        if key in ALIASES:
            raise ValueError(f"a fallback belongs to a runtime key; {key!r} is an alias")
        check_key(key)
        entry = kernel if isinstance(kernel, Registration) else Registration(kernel, "backend fallback", boxed=True)
        special = self.sealed and key in FAST_CALLS and not own
        with self._lock:
            before = self.fallbacks.get(key)
            self._set_fallback(key, entry)
            if special:
                enter_special()

        def remove() -> None:
            with self._lock:
                if self.fallbacks.get(key) is entry:
                    self._set_fallback(key, before)
                    if special:
                        leave_special()

        return remove

    def keep_composites_from(self, keys: Iterable[str], served: frozenset[str]) -> None:
        """Give the engine's composite kernels no tensors with these keys, but for the operators `served`."""
        with self._lock:
            self.strided_composites.update(dict.fromkeys(keys, served))
            for operator in self.operators.values():
                operator.resolved.clear()

    def _set_fallback(self, key: str, entry: Registration | None) -> None:
        if entry is None:
            self.fallbacks.pop(key, None)
        else:
            self.fallbacks[key] = entry
        for operator in self.operators.values():
            operator.resolved.clear()

    def lookup(self, operator: Operator, key: str) -> Registration:
        """Return what a runtime key resolves to, by the table's precedence."""
        direct = operator.active(key)
        if direct is not None:
            return direct
        served = self.strided_composites.get(key)
        if served is not None and "::" not in operator.name and operator.name not in served:
            return self.fallbacks.get(key, MISSING)
        if key in BACKEND_KEYS or key == UNDEFINED:
            for alias in ("CompositeExplicitAutogradNonFunctional", "CompositeExplicitAutograd"):
                found = operator.active(alias)
                if found is not None:
                    return Registration(found.function, "default backend kernel", with_keys=found.with_keys)
        implicit = operator.active("CompositeImplicitAutograd")
        if implicit is not None and (key in BACKEND_KEYS or key == UNDEFINED or key in AUTOGRAD_KEYS):
            if key == "AutogradOther" and self._backend_without_autograd_key(operator):
                return AMBIGUOUS
            if key not in AUTOGRAD_KEYS or not self._has_backend_kernel(operator, key):
                return Registration(implicit.function, "math kernel", with_keys=implicit.with_keys)
        if key in AUTOGRAD_KEYS:
            autograd = operator.active("Autograd")
            if autograd is not None:
                return Registration(autograd.function, "autograd kernel", autograd.boxed, autograd.with_keys)
        if key == "FuncTorchBatched":
            decomposition = operator.active("FuncTorchBatchedDecomposition")
            if decomposition is not None:
                return decomposition
        return self.fallbacks.get(key, MISSING)

    def resolve(self, operator: Operator, mask: int) -> Resolved:
        """The kernel for a key set and the set with fallthrough functionalities removed; remembered per operator."""
        found = operator.resolved.get(mask)
        if found is not None:
            return found
        if mask & AUTOGRAD_KEY:
            found = operator.resolved[mask] = self.autograd(operator, mask & ~AUTOGRAD_KEY)
            return found
        remaining = mask
        entry = self.lookup(operator, runtime_key(remaining))
        while entry.fallthrough:
            remaining &= ~(1 << (remaining.bit_length() - 1))
            entry = self.lookup(operator, runtime_key(remaining))
        remaining = self._without_fallthroughs(operator, remaining)
        found = operator.resolved[mask] = Resolved(
            entry, remaining, entry.function is not None and not entry.boxed and not entry.with_keys
        )
        return found

    def _without_fallthroughs(self, operator: Operator, mask: int) -> int:
        """The set without the functionalities that the operator skips on the set's backend."""
        backends = mask & BACKEND_MASK
        for functionality in range(BACKEND_COUNT, mask.bit_length()):
            bit = 1 << functionality
            if mask & bit and self.lookup(operator, runtime_key(bit | backends)).fallthrough:
                mask &= ~bit
        return mask

    @staticmethod
    def _has_backend_kernel(operator: Operator, autograd_key: str) -> bool:
        backend = backend_of(autograd_key)
        return operator.has_kernel("CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional") or (
            backend is not None and operator.has_kernel(backend)
        )

    @staticmethod
    def _backend_without_autograd_key(operator: Operator) -> bool:
        sparse = [prefix + name for prefix in ("Sparse", "SparseCsr", "Quantized") for name in BACKENDS]
        return operator.has_kernel("FPGA", "Vulkan", "Metal", "MkldnnCPU", "CustomRNGKeyId", *sparse)


REGISTRY = Registry()


for _key in (
    "BackendSelect", "ADInplaceOrView", "AutogradOther", "AutogradNestedTensor", "Tracer", "PythonTLSSnapshot",
    "PythonDispatcher", *(f"Autograd{name}" for name in BACKENDS),
    *(name for name in FUNCTIONALITY_BIT if name.startswith("Autocast")),
):  # fmt: skip
    REGISTRY.register_fallback(_key, FALLTHROUGH)


def key_set(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> int:
    """The keys a call dispatches on: those of its tensors, else of ``device=`` (default cpu) and ``layout=``, and the
    thread's sets."""
    mask = tensor_keys(args)
    if kwargs:
        mask |= tensor_keys(kwargs.values())
    if mask == 0:
        device = kwargs.get("device")
        mask = DEVICE_KEYS["cpu" if device is None else getattr(device, "type", str(device).split(":")[0])]
        layout = kwargs.get("layout")
        if layout is not None and layout is not strided:
            mask = mask & ~FUNCTIONALITY_BIT["Dense"] | LAYOUT_BIT[layout]
    return (mask | STATE.include) & ~STATE.exclude if SPECIAL else (mask | DEFAULT_INCLUDE) & ~DEFAULT_EXCLUDE


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
    if AUTOGRAD_IN_USE and not found.mask & (AUTOGRAD_MASK | AUTOGRAD_KEY):
        if mask & AUTOGRAD_MASK and any_autograd(args, kwargs):
            return recorded(operator, mask, args, kwargs)
        found = REGISTRY.guard(operator, found, args, kwargs)
    if STATE.trace is not None:
        result = STATE.trace(operator, mask, found, args, kwargs)
    else:
        result = run_entry(operator, found, args, kwargs)
    return made_in_inference(result, (*args, *kwargs.values())) if STATE.inference else result


def recorded(operator: Operator, mask: int, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Run and record a call that a kernel above autograd hands on by a key set without autograd's keys. Functionalities
    above autograd that the set lacks have run already."""
    before = STATE.exclude
    STATE.exclude |= ABOVE_AUTOGRAD & ~mask
    enter_special()
    try:
        return redispatch(operator, mask | AUTOGRAD_KEY, *args, **kwargs)
    finally:
        STATE.exclude = before
        leave_special()


def made_in_inference(result: Any, given: tuple[Any, ...]) -> Any:
    """Return `result` as inference tensors: new tensors lose their version and autograd keys. A view of an inference
    tensor is not a view for autograd; a view of any other tensor keeps its base."""
    for value in tensors_in((result,)):
        if value.base is None:
            if value.counter is None and not any(part.storage_impl is value.storage_impl for part in tensors_in(given)):
                value.counter = INFERENCE
        elif value.counter is INFERENCE and not any(part is value for part in tensors_in(given)):
            value.base = value.autograd = None
            change_meta(value, without_autograd)
    return result


def run_entry(operator: Operator, found: Resolved, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Call the kernel that was found; NotImplementedError or RuntimeError when there is none."""
    entry = found.entry
    if entry.function is None:
        check_one_device(operator, (*args, *kwargs.values()))
        raise missing_kernel(operator, entry, runtime_key(found.mask))
    if entry.boxed:
        return entry.function(operator, found.mask, args, kwargs)
    return entry.function(found.mask, *args, **kwargs) if entry.with_keys else entry.function(*args, **kwargs)


def composed(operator: Operator, keys: int) -> Kernel | None:
    """Return the function that is made of other operators, if the operator is one, for a call on these keys."""
    entry = operator.active("CompositeImplicitAutograd")
    if entry is None or entry.function is None:
        return None
    return functools.partial(entry.function, keys) if entry.with_keys else entry.function


def check_one_device(operator: Operator, values: Iterable[Any]) -> None:
    """RuntimeError naming two devices when tensors of a call lie on several; 0-dim ones on the CPU go with any."""
    with_place = (one.meta for one in tensors_in(values) if one.meta.ndim or one.meta.device is not cpu)
    found = list(dict.fromkeys(str(meta.device) for meta in with_place))
    if len(found) > 1:
        raise RuntimeError(
            f"{operator.name}: Expected all tensors to be on the same device, but found at least two devices, "
            f"{found[0]} and {found[1]}!"
        )
