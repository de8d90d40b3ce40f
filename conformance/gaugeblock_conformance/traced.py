"""A backend whose every use is told before it happens, so that what ran is known when the process ends in it.

A use is told as ``call neg``, ``build from_numpy`` or ``read strides``; when it has returned as ``after neg``, for what
ends the process then is the freeing of tensors, or a thread of the backend's own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .backend import Backend

READERS = frozenset(
    """to_numpy shape strides storage_offset dtype storage_id storage_nbytes data_ptr version_of""".split()
)
BUILDERS = frozenset({"from_numpy", "from_blob"})


class TracedBackend:
    """``backend``, of which ``at`` is told each use, and ``reading`` what is read before it is."""

    def __init__(
        self, backend: Backend, at: Callable[[str], None], reading: Callable[[str, Any], None]
    ) -> None:
        self._backend = backend
        self._at = at
        self._reading = reading
        self.building = False

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._backend, name)
        if not callable(member):
            return member

        def use(*args: Any, **kwargs: Any) -> Any:
            if name in READERS:
                self._reading(name, args[0])
            kind = "build" if self.building or name in BUILDERS else "read" if name in READERS else "call"
            return self._told(kind, name, member, args, kwargs)

        return use

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        """Run one operator."""
        kind = "build" if self.building else "call"
        return self._told(kind, operator, self._backend.call, (operator, *args), kwargs)

    def _told(self, kind: str, name: str, member: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        self._at(f"{kind} {name}")
        try:
            return member(*args, **kwargs)
        finally:
            self._at(f"after {name}")
