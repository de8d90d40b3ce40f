"""The handle that a hook's registration returns."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

_NUMBERS = itertools.count()


class RemovableHandle:
    """Takes one hook out of its table with `remove`, or at the end of a ``with`` block; doing it again does nothing."""

    __slots__ = ("hooks", "id")

    def __init__(self, hooks: dict[int, Any], hook: Callable[..., Any]) -> None:
        self.hooks = hooks
        self.id = next(_NUMBERS)
        hooks[self.id] = hook

    def remove(self) -> None:
        """Take the hook away."""
        self.hooks.pop(self.id, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()
