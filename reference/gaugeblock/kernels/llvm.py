"""llvmlite, imported when it is first needed."""

from __future__ import annotations

import functools
from importlib import import_module
from typing import Any

from ..core.fork_safety import fork_safe


@functools.cache
def llvm() -> Any:
    """Return `llvmlite.binding`; the lock that it holds in every call is free in forked children."""
    binding = import_module("llvmlite.binding")  # the package lacks the name after an import that Ctrl-C has ended
    lock = getattr(getattr(binding.ffi.lib, "_lock", None), "_lock", None)
    if lock is not None:
        fork_safe(lock)
    return binding
