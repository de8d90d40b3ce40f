"""Hooks for what nodes save: saved_tensors_hooks, save_on_cpu, disable_saved_tensors_hooks."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Self, TypeVar

from ..core.device import Device, cpu
from ..tensor.tensor import Tensor
from .saved_tensor import PACKING

F = TypeVar("F", bound=Callable[..., Any])


class saved_tensors_hooks:
    """Within the block ``pack_hook(tensor)`` is called for every tensor that a node saves, and what it returns is kept
    in its place; ``unpack_hook`` makes a tensor of it when it is needed. The innermost pair counts."""

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        for name, hook in (("pack_hook", pack_hook), ("unpack_hook", unpack_hook)):
            if not callable(hook):
                raise TypeError(f"saved_tensors_hooks(): argument '{name}' must be callable, not {type(hook).__name__}")
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook
        self._before: list[Any] = []

    def __enter__(self) -> Self:
        if PACKING.refused is not None:
            raise RuntimeError(PACKING.refused)
        self._before.append(PACKING.pairs)
        PACKING.pairs = (*PACKING.pairs, (self.pack_hook, self.unpack_hook))
        return self

    def __exit__(self, *error: object) -> None:
        PACKING.pairs = self._before.pop()


class save_on_cpu(saved_tensors_hooks):
    """Keeps in host memory what nodes of the block save, and brings it back where it was."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(tensor: Any) -> tuple[Device, Any]:
            return tensor.device, tensor.clone() if tensor.device is cpu else tensor.to(cpu)

        def unpack(packed: tuple[Device, Any]) -> Any:
            device, tensor = packed
            return tensor if device is cpu else tensor.to(device)

        super().__init__(pack, unpack)


class disable_saved_tensors_hooks:
    """Within the block entering saved_tensors_hooks raises RuntimeError with this message."""

    def __init__(self, error_message: str) -> None:
        self.error_message = error_message
        self._before: list[str | None] = []

    def __enter__(self) -> Self:
        if PACKING.pairs:
            raise RuntimeError(self.error_message)
        self._before.append(PACKING.refused)
        PACKING.refused = self.error_message
        return self

    def __exit__(self, *error: object) -> None:
        PACKING.refused = self._before.pop()

    def __call__(self, function: F) -> F:
        """`function`, run within such a block."""

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            with disable_saved_tensors_hooks(self.error_message):
                return function(*args, **kwargs)

        return run  # type: ignore[return-value]
