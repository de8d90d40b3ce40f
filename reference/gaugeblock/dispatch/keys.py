"""Dispatch keys: backend components and functionalities in PyTorch's order of priority.

A key set is a 64-bit word: the low 16 bits are backends, functionality number k (counted from 1) has bit 15 + k.
A *runtime key* is what a kernel is registered under: a functionality alone (``BackendSelect``) or, for the
per-backend functionalities, the pair (``CPU`` = Dense on CPU, ``AutogradCUDA``, ``SparseCPU``).
An *alias key* names many runtime keys at once and never occurs in a set.
"""

from __future__ import annotations

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


def _runtime_keys() -> dict[str, int]:
    table = {UNDEFINED: 0}
    for functionality, bit in FUNCTIONALITY_BIT.items():
        prefix = PER_BACKEND.get(functionality)
        if prefix is None:
            table[functionality] = bit
        else:
            table.update({prefix + backend: bit | BACKEND_BIT[backend] for backend in BACKENDS})
    return table


RUNTIME_KEYS = _runtime_keys()
"""Runtime key name -> its bits; a per-backend key has two."""
AUTOGRAD_KEYS = frozenset(
    ["AutogradOther", "AutogradNestedTensor"] + [PER_BACKEND["AutogradFunctionality"] + name for name in BACKENDS]
)
AUTOCAST_MASK = sum(bit for name, bit in FUNCTIONALITY_BIT.items() if name.startswith("Autocast"))
AUTOGRAD_MASK = sum(
    FUNCTIONALITY_BIT[name] for name in ("AutogradOther", "AutogradFunctionality", "AutogradNestedTensor")
)
BELOW_AUTOGRAD_MASK = FUNCTIONALITY_BIT["ADInplaceOrView"] - 1 | FUNCTIONALITY_BIT["ADInplaceOrView"]
AFTER_AUTOGRAD_MASK = BELOW_AUTOGRAD_MASK | FUNCTIONALITY_BIT["PythonDispatcher"]


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
