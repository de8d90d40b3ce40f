"""The reference engine's CUDA device as the suite uses it: a device that is there, and calls that are over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dialect import TorchDialect

HOST_ONLY = frozenset(
    """numpy shm blob alloc.pluggable isa vec.introspect accessor threads dispatch.keyset dispatch.registry
    dispatch.mode wrapper inference blocked""".split()
)
"""Capabilities that have to do with memory of the host, or whose requirements speak of the keys of CPU tensors."""


class CudaDialect(TorchDialect):
    """Snippets whose tensors are on the device, a simulated one where there is no other."""

    def imports(self, text: str) -> list[str]:
        simulated = f"{self.alias}.cuda.is_available() or {self.alias}.cuda.use_driver('simulated', devices=2)"
        return [*super().imports(text), simulated]


class CudaCalls:
    """Calls of ``engine`` on CUDA devices, simulated ones where there are no others.

    A call is over when ``device`` is done with it, so that an error of its kernel is the call's own.
    """

    def __init__(self, engine: Any, device: str) -> None:
        self._cuda = engine.cuda
        if not self._cuda.is_available():
            self._cuda.use_driver("simulated", devices=2)
        self._index = engine.device(device).index or 0

    def finished(self, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """What ``call`` gives, or the error of its kernel."""
        try:
            result = call(*args, **kwargs)
            self._cuda.synchronize(self._index)
            return result
        except self._cuda.DeferredError as error:
            raise error.__cause__ or error from None
