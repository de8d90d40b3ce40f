"""The device of new tensors that ask for none: ``with device("meta"):`` and set_default_device."""

from __future__ import annotations

from typing import Any

from .core.device import Device, as_device, cpu
from .dispatch.state import STATE
from .operators.factories import FACTORIES
from .overrides import TorchFunctionMode

__all__ = ["get_default_device", "set_default_device"]

CONSTRUCTORS = frozenset(FACTORIES) | {"as_tensor", "asarray", "empty", "empty_strided", "tensor"}
"""The functions that make a tensor of no other tensor."""


class DeviceMode(TorchFunctionMode):
    """Gives the calls of CONSTRUCTORS that ask for no device this one."""

    def __init__(self, device: Device) -> None:
        self.device = device

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        """The call, with the device where it is one of CONSTRUCTORS."""
        options = dict(kwargs or {})
        if getattr(func, "__name__", None) in CONSTRUCTORS and options.get("device") is None:
            options["device"] = self.device
        return func(*args, **options)


class _DefaultMode(DeviceMode):
    """What set_default_device put below all other modes of the thread."""


def enter(device: Device) -> Device:
    """``with device:`` begins."""
    DeviceMode(as_device(device)).__enter__()
    return device


def leave() -> None:
    """The innermost ``with device:`` ends."""
    STATE.function_modes[-1].__exit__()


def set_default_device(device: Device | str | int | None) -> None:
    """Let this thread's new tensors be on `device` unless they ask for another; None takes that back. Raises
    RuntimeError for a device that is not there."""
    mode = None if device is None else _DefaultMode(as_device(f"cuda:{device}" if isinstance(device, int) else device))
    if STATE.function_modes and isinstance(STATE.function_modes[0], _DefaultMode):
        kept = STATE.function_modes[1:]
        STATE.function_modes[0].__exit__()
        STATE.function_modes = kept
    if mode is not None:
        above = STATE.function_modes
        mode.__enter__()
        STATE.function_modes = (mode, *above)


def get_default_device() -> Device:
    """The device that a new tensor has that asks for none."""
    return next((mode.device for mode in reversed(STATE.function_modes) if isinstance(mode, DeviceMode)), cpu)
