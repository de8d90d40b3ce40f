"""Watching what is worked out for a call: iteration plans and loops tell who watches, in the thread that watches."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from .away import carried


class Observation(threading.local):
    """`watcher(what, thing)` is called with "iterator", "loop" or "reduction" and the object; None: nobody watches."""

    watcher: Callable[[str, Any], None] | None = None


OBSERVATION = carried(Observation())
