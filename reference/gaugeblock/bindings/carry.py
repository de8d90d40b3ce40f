"""Fast entries for sizes seen for the first time: the entry of one row-major geometry serves all others of its dtype.

A kernel over one contiguous run does not depend on the sizes, so only the result geometry and the count are new. The
strides of a contiguous tensor must be the default ones: other strides of dims of size 1 change the result's strides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.device import cpu
from ..core.dtype import DType
from ..dispatch.state import FAST_GLOBALS
from ..tensor.geometry import Geometry, contiguous_geometry, remember
from ..tensor.strides import default_strides

Kernel = Callable[..., None]
_TAUGHT: dict[tuple[str, DType], tuple[Kernel, DType | None]] = {}
"""Binding key and dtype of all tensor operands -> kernel and dtype of the result (None: in place)."""


def teach(key: Any, geometry: Geometry, entry: Any) -> None:
    """Note a fresh entry under a plain key for the other contiguous geometries of the dtype."""
    if entry and isinstance(key, str) and geometry.contiguous:
        _TAUGHT[key, geometry.dtype] = (entry[0], entry[1].dtype if len(entry) == 3 else None)


def carry(key: str, geometry: Geometry, result_geometry: Geometry | None = None) -> Any:
    """The entry of `key` for a geometry that has none yet, put into its plans; None when nothing was taught for it.

    The result is row-major unless its geometry is given.
    """
    taught = _TAUGHT.get((key, geometry.dtype))
    if taught is None or FAST_GLOBALS["SPECIAL"] or not geometry.contiguous or geometry.lazy or geometry.watched:
        return None
    if result_geometry is None and geometry.strides != default_strides(geometry.sizes):
        return None
    count = geometry.numel
    if key in geometry.plans or geometry.device is not cpu or count == 0:
        return None
    kernel, result = taught
    if result is None:
        return remember(geometry.plans, key, (kernel, count))
    return remember(
        geometry.plans, key, (kernel, result_geometry or contiguous_geometry(geometry.sizes, result), count)
    )
