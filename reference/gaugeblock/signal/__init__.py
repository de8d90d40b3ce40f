"""Signal processing under torch.signal's names."""

from __future__ import annotations

from . import windows

__all__ = ["windows"]
