"""PyTorch itself, on any device that it has: ``torch``, ``torch:cpu``, ``torch:meta``, ``torch:cuda`` …"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Sequence
from typing import Any

from gaugeblock_spec import operators

from ..backend import Array, Unsupported, UnsupportedDType
from ..backend_allocator import CALLS as ALLOCATOR_CALLS
from ..backend_kernels import CALLS as KERNEL_CALLS
from . import instruction_sets
from .torch_allocator import CAPABILITIES as ALLOCATOR_CAPABILITIES
from .torch_allocator import TorchAllocating
from .torch_probes import probes
from .torch_style import CAPABILITIES, TorchStyleBackend

_COMPOSITE = ("CompositeImplicitAutograd", "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional")
# What torch has beside the common capabilities, on the devices that have it.
_FURTHER = frozenset(
    """refcount quantized blocked shm sparse_coo sparse_csr dispatch.keyset dispatch.registry dispatch.kernels
    dispatch.mode wrapper inference isa vmap autocast functionalize
    autograd autograd.graph autograd.hooks autograd.func autograd.fwd autograd.double autograd.anomaly""".split()
)
_OF_QUANTIZED = frozenset({"q_scale", "q_zero_point"})
_INSTRUCTION_SETS = ("default", "avx2", "avx512")
# What dispatch says where the device has no kernel: the operator that was called, and the device.
_ABSENT = re.compile(r"Could not run '(aten::[\w.]+)' with arguments from the '(\w+)' backend")
_ABSENT_ON_META = re.compile(r"(aten::[\w.]+): attempted to run this operator with (Meta) tensors")
# What operators say on the meta device if sizes or values of their results depend on elements.
_ASKS_FOR_DATA = re.compile(
    r"Cannot copy out of meta tensor|Tensor\.item\(\) cannot be called on meta tensors"
    r"|cannot repeat_interleave a meta tensor|The register_meta function for torch\.nonzero\(\) raises unimplemented"
)
_ASKS_FOR_THE_HOST = re.compile(r"tensor_split expected tensor_indices_or_sections to be on cpu")
# What a device of an extension says that has not registered what an operator needs -> what that is.
_NOT_REGISTERED = (
    (re.compile(r"convolution_overrideable not implemented"), "no convolution"),
    (re.compile(r"You should register `PrivateUse1HooksInterface`"), "no way to resize storages"),
    (re.compile(r"_share_fd_: only available on CPU"), "no memory that processes share"),
)
_NO_DTYPE = re.compile(r'"\w+" not implemented for \'(\w+)\'')
WATCHING = ("ref = {0}.untyped_storage()._weak_ref()", "not torch.UntypedStorage._expired(ref)")
"""A line that makes a weak reference to a storage, and an expression that tells whether the storage is alive."""
NO_DATA = "the device holds no data"


class TorchBackend(TorchStyleBackend):
    """The installed torch on ``device``.

    Raises:
        RuntimeError: torch has no such device here.
    """

    def __init__(self, device: str = "cpu") -> None:
        torch = importlib.import_module("torch")
        device = str(torch.empty(0, device=device).device)  # with its number, as tensors tell it
        super().__init__(torch, device, "torch")
        self.capabilities = CAPABILITIES | _FURTHER
        self.probes = probes(torch, device)
        self.dialect.watching = WATCHING
        self._allocating: TorchAllocating | None = None
        if device.partition(":")[0] == "cuda" and torch.cuda.is_available():
            self._allocating = TorchAllocating(torch, device)
            self.capabilities = self.capabilities | ALLOCATOR_CAPABILITIES
            self.finish = lambda _: torch.cuda.synchronize(device)
        if device == "meta":
            self.has_data = False

    def _resolve(self, operator: str) -> Callable[..., Any]:
        if operator in ALLOCATOR_CALLS:
            if self._allocating is None:
                raise Unsupported(operator, f"torch has no caching allocator for {self.device}")
            return self._allocating.resolve(operator)
        if operator == "instruction_sets":
            return self._instruction_sets
        if operator == "on_instruction_set":
            return self._on_instruction_set
        if operator in KERNEL_CALLS:
            raise Unsupported(operator, "torch shows its kernels to C++ alone")
        return super()._resolve(operator)

    def _instruction_sets(self) -> tuple[str, ...]:
        best = self.module.backends.cpu.get_cpu_capability().lower()
        known = _INSTRUCTION_SETS
        return known[: known.index(best) + 1] if best in known else ("default",)

    def _on_instruction_set(self, level: str, calls: Sequence[tuple[Any, ...]]) -> list[Array]:
        return instruction_sets.run(type(self), "ATEN_CPU_CAPABILITY", level, calls)

    def _missing(self, operator: str, error: RuntimeError) -> Unsupported | None:
        if operator in _OF_QUANTIZED:  # what it says of a tensor that is not quantized
            return None
        without = _NO_DTYPE.match(str(error)) if self.device not in ("cpu", "meta") else None
        if without is not None:
            return UnsupportedDType(operator, f"no kernel of {self.device} takes {without[1]}")
        reason = self._absent(error)
        return None if reason is None else Unsupported(operator, reason)

    def _absent(self, error: RuntimeError) -> str | None:
        """Return the reason if an error says that the device does not offer an operator at all."""
        if not self.has_data and _ASKS_FOR_DATA.match(str(error)):
            return NO_DATA
        if self.device != "cpu" and _ASKS_FOR_THE_HOST.match(str(error)):
            return "it takes its indices from the host"
        for said, missing in _NOT_REGISTERED:
            if said.match(str(error)):
                return f"the device has {missing}"
        found = _ABSENT.match(str(error)) or _ABSENT_ON_META.match(str(error))
        if found is None or found[2].lower() != self.device.partition(":")[0]:
            return None
        return f"torch has no kernel of {found[1]} for {self.device}"

    def support(self, operator: str) -> str | None:
        """``native`` for a kernel registered for the device, ``fallback`` for one that serves all devices by other
        operators; None for views, which compute nothing, and for what has no schema."""
        row = operators.load().get(operator)
        if row is None or row.family in ("view", "metadata"):
            return None
        has = self.module._C._dispatch_has_kernel_for_dispatch_key
        own = self.module._C._dispatch_key_for_device(self.device.partition(":")[0])
        try:
            if has(f"aten::{operator}", own):
                return "native"
            return "fallback" if any(has(f"aten::{operator}", key) for key in _COMPOSITE) else None
        except RuntimeError:
            return None

    def to_numpy(self, tensor: Any) -> Array:
        if not self.has_data:
            raise Unsupported("to_numpy", NO_DATA)
        # Derivatives that are zero everywhere may have no memory.
        return super().to_numpy(tensor.clone() if tensor._is_zerotensor() else tensor)

    def _on_host(self, tensor: Any) -> Any:
        try:
            return tensor.cpu()
        except RuntimeError:
            if tensor.is_contiguous():
                raise
        # Some devices copy contiguous tensors alone: the whole storage is read, and the host takes the view of it.
        count = tensor.untyped_storage().nbytes() // tensor.element_size()
        storage = tensor.as_strided((count,), (1,), 0).cpu()
        return storage.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())

    def watch_storage(self, tensor: Any) -> Callable[[], bool]:
        """Capability ``refcount``: whether the storage under ``tensor`` is still there."""
        storage = tensor.untyped_storage()
        gone, reference = type(storage)._expired, storage._weak_ref()
        return lambda: not gone(reference)
