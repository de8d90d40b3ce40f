"""Foreign memory as storage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.errors import check_nbytes
from .storage import Storage, foreign_storage

ADDRESS_LIMIT = 1 << 62
"""More than any machine addresses, less than what overflows."""


def blob_storage(
    pointer: int, nbytes: int, *, deleter: Callable[[int], object] | None = None, owner: Any = None
) -> Storage:
    """`nbytes` bytes at address `pointer` as a storage that is never resized; ``deleter(pointer)`` runs once, last.

    Raises RuntimeError for a negative size, for a null pointer with bytes and for what can be no address.
    """
    if nbytes < 0:
        raise RuntimeError(f"from_blob(): argument 'nbytes' must not be negative, got {nbytes}")
    if not pointer and nbytes:
        raise RuntimeError(f"from_blob(): argument 'pointer' must not be null for {nbytes} bytes")
    check_nbytes("from_blob", nbytes)
    if not 0 <= pointer <= ADDRESS_LIMIT - nbytes:
        raise RuntimeError(f"from_blob(): argument 'pointer' must be an address with {nbytes} bytes, got {pointer}")
    return foreign_storage(pointer, nbytes, owner=owner, deleter=deleter)
