"""Locks that a forking thread has to hold."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from gaugeblock.core import fork_safety


class MakesAnother:
    """A lock at whose first acquisition another one is made, as when a device is used for the first time."""

    def __init__(self) -> None:
        self.made: list[Any] = []

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if not self.made:
            self.made.append(fork_safety.fork_safe(threading.RLock()))
        return True

    def release(self) -> None: ...

    def _at_fork_reinit(self) -> None: ...


def test_locks_that_are_made_meanwhile_are_acquired_too() -> None:
    lock = fork_safety.fork_safe(MakesAnother())
    fork_safety._take_all()
    try:
        with ThreadPoolExecutor(1) as other:
            assert not other.submit(lock.made[0].acquire, False).result()
    finally:
        fork_safety._let_go()
    assert lock.made[0].acquire(False)
    lock.made[0].release()
