"""Locks across forks: in a forked child every lock of the engine is free, and the data it protects is consistent.

A fork copies all memory, but only the forking thread. A lock held by another thread would stay locked in the child, and
its data half changed. So the forking thread first acquires all locks of the engine, and waits until no other thread is
importing one of its modules, which the child could never import again. Parent and child release them after the fork.
After PATIENCE seconds it forks anyway, and the child gets new locks in place of those that could not be acquired.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
import weakref
from typing import Any, TypeVar

PATIENCE = 20.0
_FIRST_TIMEOUT = 0.01
_PAUSE = 0.001
_OURS = {"gaugeblock", "gaugeblock_spec", "gaugeblock_testing", "gaugeblock_tools"}
_PACKAGES = sys.stdlib_module_names | _OURS | {"llvmlite", "ml_dtypes", "numpy"}
Lock = TypeVar("Lock")
_LOCKS: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()


def fork_safe(lock: Lock) -> Lock:
    """Register a lock to be free in forked children, and return it.

    It needs `acquire`, `release` and `_at_fork_reinit`, as the locks of `threading` have. It must be reentrant if a
    thread may fork while holding it.
    """
    _LOCKS[id(lock)] = lock
    return lock


class _ModuleLocks:
    """The import locks of the engine's modules as one lock, free while no other thread imports any of them."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Wait for running imports to finish, and block new ones."""
        import _imp

        end = time.monotonic() + timeout
        while True:
            _imp.acquire_lock()
            locks: dict[str, Any] = getattr(sys.modules["_frozen_importlib"], "_module_locks", {})
            ours = [lock() for name, lock in list(locks.items()) if name.partition(".")[0] in _PACKAGES]
            if all(getattr(lock, "owner", None) in (None, threading.get_ident()) for lock in ours):
                return True
            _imp.release_lock()
            if not blocking or time.monotonic() > end:
                return False
            time.sleep(_PAUSE)

    def release(self) -> None:
        """Let other threads import again."""
        import _imp

        _imp.release_lock()

    def _at_fork_reinit(self) -> None:
        """Do nothing: a half-imported module cannot be repaired."""


class _Held(threading.local):
    """The locks that the forking thread holds."""

    def __init__(self) -> None:
        self.locks: list[Any] = []


_HELD = _Held()
_MODULES = _ModuleLocks()


def _take_all() -> None:
    """Acquire every lock, one after the other.

    The thread that holds a lock may itself wait for one that was acquired earlier. After a timeout all locks are
    released, and the next round starts with the lock that was not free and doubles the timeout. There is another round
    too if locks were made meanwhile, such as that of a device's allocator at its first use.
    """
    held, locks = _HELD.locks, [_MODULES, *_all()]
    end, timeout = time.monotonic() + PATIENCE, _FIRST_TIMEOUT
    while (left := end - time.monotonic()) > 0:
        for lock in locks:
            if not lock.acquire(True, min(timeout, left)):
                break
            held.append(lock)
        else:
            made = [lock for lock in _all() if not any(lock is known for known in locks)]
            if not made:
                return
            _let_go()
            locks += made
            continue
        _let_go()
        locks.remove(lock)
        locks.insert(0, lock)
        timeout *= 2
    for lock in locks:
        if lock.acquire(False):
            held.append(lock)


def _all() -> list[Any]:
    library = getattr(sys.modules.get("llvmlite.binding.ffi"), "lib", None)
    of_llvmlite = getattr(getattr(library, "_lock", None), "_lock", None)  # held in every call of it
    found = (*(reference() for reference in _LOCKS.valuerefs()), of_llvmlite)
    return [lock for lock in found if lock is not None]


def _let_go() -> None:
    while _HELD.locks:
        with contextlib.suppress(RuntimeError):
            _HELD.locks.pop().release()


def _free_all() -> None:
    """Release every lock in a child, whose only thread is the one that forked."""
    held = set(map(id, _HELD.locks))
    _let_go()
    for lock in _all():
        if id(lock) not in held:
            lock._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_take_all, after_in_parent=_let_go, after_in_child=_free_all)
