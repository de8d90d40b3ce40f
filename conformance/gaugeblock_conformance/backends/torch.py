"""PyTorch itself, on any device that it has: ``torch``, ``torch:cpu``, ``torch:meta``, ``torch:cuda`` …"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from .torch_style import CAPABILITIES, TorchStyleBackend

# What a tensor without data cannot be asked.
_NEEDS_DATA = frozenset("numpy threads serialize bigmem refcount sort rng".split())

# What torch has beside the common capabilities where memory is the host's, and what it has only there.
_HOST_ONLY = frozenset(
    """quantized shm sparse_coo dispatch.keyset dispatch.registry dispatch.mode wrapper inference autograd""".split()
)
_HOST_MEMORY = frozenset({"numpy", "threads"})


class TorchBackend(TorchStyleBackend):
    """The installed torch on ``device``.

    Raises:
        RuntimeError: torch has no such device here.
    """

    def __init__(self, device: str = "cpu") -> None:
        torch = importlib.import_module("torch")
        torch.empty(0, device=device)
        super().__init__(torch, device, "torch")
        common = CAPABILITIES | {"refcount"}
        self.capabilities = common | _HOST_ONLY if device == "cpu" else common - _HOST_MEMORY
        self.dialect.watching = ("ref = {0}.untyped_storage()._weak_ref()", "not torch.UntypedStorage._expired(ref)")
        if device == "meta":
            self.has_data = False
            self.capabilities = CAPABILITIES - _NEEDS_DATA

    def watch_storage(self, tensor: Any) -> Callable[[], bool]:
        """Capability ``refcount``: whether the storage under ``tensor`` is still there."""
        storage = tensor.untyped_storage()
        gone, reference = type(storage)._expired, storage._weak_ref()
        return lambda: not gone(reference)
