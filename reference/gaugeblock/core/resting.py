"""Garbage collection rests while the engine's tables are made: all of it stays, and it is a lot to look through."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable


def without_collecting(work: Callable[[], None]) -> Callable[[], None]:
    """`work` with automatic garbage collection off; what it has made counts as old, not as new and to be looked at."""

    @functools.wraps(work)
    def rested() -> None:
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

    return rested
