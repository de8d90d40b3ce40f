"""Detection of copies of a worker: processes that a backend forks inside a call and that return from the call."""

from __future__ import annotations

import mmap
import os
import struct
import time

from ..conversation import Conversation

TWICE = "a call returned twice: the backend forked and both processes went on"
WAIT = 0.5
"""Seconds to wait, after the backend has forked, for a copy to report or for the children to exit."""
PAUSE = 0.002
_TURN = struct.Struct("<Q")
# Bound at import, so that a backend that replaces these functions later has no effect here.
_getpid, _exit, _waitid, _sleep, _now = os.getpid, os._exit, os.waitid, time.sleep, time.monotonic


class Copies:
    """Ends each copy of the process that creates the object as soon as a call of the backend returns in the copy.

    A shared memory page tells the original process in which turn a copy was found.
    """

    def __init__(self) -> None:
        self._owner = _getpid()
        self._page = mmap.mmap(-1, _TURN.size)
        self._turn = 0
        self._forks = self._before = 0
        os.register_at_fork(after_in_parent=self._count)
        Conversation.returned = self.leave_if_copy

    def begin(self) -> None:
        """Begin a turn, which runs one requirement."""
        self._turn += 1
        self._before = self._forks

    def leave_if_copy(self) -> None:
        """Exit unless this process is the one that began the turn."""
        if _getpid() != self._owner:
            _TURN.pack_into(self._page, 0, self._turn)
            _exit(0)

    def found(self) -> bool:
        """Return whether a copy went on in this turn."""
        limit = _now() + WAIT
        while self._forks > self._before and not self._marked() and _has_children() and _now() < limit:
            _sleep(PAUSE)
        return self._marked()

    def _marked(self) -> bool:
        return bool(_TURN.unpack_from(self._page)[0] == self._turn)

    def _count(self) -> None:
        self._forks += 1


def _has_children() -> bool:
    try:
        return _waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
    except ChildProcessError:
        return False
