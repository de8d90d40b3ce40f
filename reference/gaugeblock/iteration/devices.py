"""Step: one device for all operands; a 0-dim CPU tensor may join any other device."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.device import Device, cpu
from ..tensor.geometry import Geometry


def common_device(operands: Sequence[Geometry], *, check: bool = True, allow_cpu_scalars: bool = False) -> Device:
    """The device of the operands; RuntimeError names both when two differ."""
    found: Device | None = None
    for operand in operands:
        if operand.device is not cpu or operand.ndim:
            if found is None:
                found = operand.device
            elif check and operand.device is not found:
                raise RuntimeError(
                    f"Expected all tensors to be on the same device, but found at least two devices, "
                    f"{found} and {operand.device}!"
                )
    if found is None:
        return cpu
    if check and not allow_cpu_scalars and any(operand.device is not found for operand in operands):
        raise RuntimeError(
            f"Expected all tensors to be on the same device, but found at least two devices, {found} and {cpu}!"
        )
    return found
