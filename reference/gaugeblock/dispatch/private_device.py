"""A device from outside the package: the backend PrivateUse1 under a name of its own."""

from __future__ import annotations

from ..core.device import PRIVATE, rename_private_device
from .dispatcher import DEVICE_KEYS


def rename_privateuse1_backend(backend_name: str) -> None:
    """Call the device of the PrivateUse1 keys `backend_name` from now on, once per process.

    Kernels are registered under "PrivateUse1", memory with `register_allocator`. Raises RuntimeError when the name is
    no identifier, belongs to another device, or the device has another name already.
    """
    rename_private_device(backend_name)
    DEVICE_KEYS[backend_name] = DEVICE_KEYS[PRIVATE]
