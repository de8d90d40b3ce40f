"""The hook that sees what is planned for a call in this thread: iteration plans, loops, reductions."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from .away import carried


class Tracing(threading.local):
    """`hook(what, thing)` is called with "iterator", "loop" or "reduction" and the object; None: nothing is traced."""

    hook: Callable[[str, Any], None] | None = None


TRACING = carried(Tracing())
