"""Pausing garbage collection while the engine builds its tables, whose many objects are never freed."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable


def with_gc_paused(work: Callable[[], None]) -> Callable[[], None]:
    """Return `work` with automatic garbage collection off; what it makes is moved to the oldest generation."""

    @functools.wraps(work)
    def paused() -> None:
        wanted = gc.isenabled()
        gc.disable()
        try:
            work()
        finally:
            if not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            if wanted:
                gc.enable()

    return paused
