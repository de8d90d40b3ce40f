"""Foreign memory as storage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.errors import check_nbytes
from .storage import Storage, foreign_storage


def blob_storage(
    pointer: int, nbytes: int, *, deleter: Callable[[int], object] | None = None, owner: Any = None
) -> Storage:
    """`nbytes` bytes at address `pointer` as a storage that is never resized; ``deleter(pointer)`` runs once, last.

    Raises RuntimeError for a negative size and for a null pointer with bytes.
    """
    if nbytes < 0:
        raise RuntimeError(f"from_blob(): argument 'nbytes' must not be negative, got {nbytes}")
    if not pointer and nbytes:
        raise RuntimeError(f"from_blob(): argument 'pointer' must not be null for {nbytes} bytes")
    return foreign_storage(pointer, check_nbytes("from_blob", nbytes), owner=owner, deleter=deleter)
