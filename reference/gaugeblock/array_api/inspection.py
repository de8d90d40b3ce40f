"""What the namespace offers: the inspection API of the standard."""

from __future__ import annotations

from typing import Any

from ..core import dtype as dtypes
from ..core.device import PLACING, Device, cpu, meta_device
from ..core.dtype import BY_NAME, DType
from ..default_device import get_default_device
from .data_types import NAMES, isdtype


class ArrayNamespaceInfo:
    """Capabilities, devices and dtypes of the namespace."""

    def capabilities(self) -> dict[str, Any]:
        """Return what is optional: boolean indices, shapes that depend on values, the greatest number of dims."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Device:
        """Return the device of arrays for which none is named."""
        return get_default_device()

    def default_dtypes(self, *, device: Device | str | None = None) -> dict[str, DType]:
        """Return the dtypes of arrays for which none is named."""
        return {
            "real floating": dtypes.DEFAULTS.dtype, "complex floating": dtypes.DEFAULTS.complex_dtype,
            "integral": dtypes.int64, "indexing": dtypes.int64,
        }  # fmt: skip

    def devices(self) -> list[Device]:
        """Return the devices that there are."""
        count = PLACING.load(".cuda").device_count()
        return [cpu, meta_device, *[Device("cuda", index) for index in range(count)]]

    def dtypes(
        self, *, device: Device | str | None = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, DType]:
        """Return the dtypes of the standard by their names, all or those of a kind such as "integral"."""
        return {name: BY_NAME[name] for name in NAMES if kind is None or isdtype(BY_NAME[name], kind)}
