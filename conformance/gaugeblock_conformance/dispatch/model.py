"""The order of keys, and the kernels that a call enters, as a model of a few lines."""

from __future__ import annotations

from collections.abc import Collection

# Functionality keys of a cpu tensor from high to low; those of one line have no order that the spec names.
ORDER = (
    "PythonDispatcher",
    "FuncTorchVmapMode",
    "AutocastCPU",
    "AutogradCPU",
    "ADInplaceOrView",
    "ZeroTensor",
    "Negative",
    "Conjugate",
    "Functionalize",
    "Python",
    "BackendSelect",
    "SparseCsrCPU",
    "SparseCPU",
    "QuantizedCPU",
    "CPU",
)
# Keys of which kernels that hand on can be entered with a cpu tensor, by including them or by default.
LAYERS = (
    "FuncTorchVmapMode", "AutogradCPU", "ADInplaceOrView", "ZeroTensor", "Negative", "Conjugate", "Functionalize",
    "BackendSelect", "CPU",
)  # fmt: skip
# Layers that every call on a cpu tensor has.
DEFAULT = frozenset({"AutogradCPU", "ADInplaceOrView", "BackendSelect", "CPU"})


def entered(
    kernels: Collection[str], included: Collection[str] = (), excluded: Collection[str] = ()
) -> tuple[str, ...]:
    """The kernels among ``kernels`` that a call on a cpu tensor enters, in order, if each hands on."""
    keys = (DEFAULT | set(included)) - set(excluded)
    return tuple(key for key in ORDER if key in keys and key in kernels)
