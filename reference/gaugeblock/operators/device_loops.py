"""Loops over the memory of other devices, as fast entries call them: what a device registers under its type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from ..core.device import Device
from ..tensor.geometry import Geometry
from .launch import Launch


class DeviceLoops(Protocol):
    """A device that can run the loops of the CPU's plans."""

    def on_host(self, operands: tuple[Any, ...]) -> tuple[Any, ...]:
        """The operands of a call, its tensors replaced by tensors of the CPU at the same addresses; for plans only."""

    def geometry(self, geometry: Geometry, device: Device) -> Geometry:
        """The same sizes, strides and dtype on the device."""

    def entry(self, operator: str, launch: Launch, operands: tuple[Any, ...]) -> Callable[..., None]:
        """What puts the loop on the current stream, called with the result's address, addresses and numbers of the
        operands, and a number that it has no need of."""


DEVICE_LOOPS: dict[str, DeviceLoops] = {}
"""Device type -> its loops."""
