"""llvmlite, imported when it is first needed."""

from __future__ import annotations

import functools
from typing import Any

from ..core.fork_safety import fork_safe


@functools.cache
def llvm() -> Any:
    """Return `llvmlite.binding`; the lock that it holds in every call is free in forked children."""
    import llvmlite.binding

    lock = getattr(getattr(llvmlite.binding.ffi.lib, "_lock", None), "_lock", None)
    if lock is not None:
        fork_safe(lock)
    return llvmlite.binding
