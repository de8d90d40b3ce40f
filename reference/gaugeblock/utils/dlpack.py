"""torch.utils.dlpack's functions."""

from __future__ import annotations

from typing import Any

from ..interop.dlpack_export import dlpack
from ..interop.dlpack_import import from_dlpack
from ..tensor.tensor import Tensor

__all__ = ["from_dlpack", "to_dlpack"]


def to_dlpack(tensor: Tensor) -> Any:
    """A capsule of the first kind, without a version. BufferError for what DLPack cannot describe."""
    return dlpack(tensor)
