"""Dispatch modes: objects that see every operator a thread runs, below autograd, in the order they are run."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, Self

from ..dispatch.modes import MODE_KEYS, mode_stack
from ..dispatch.state import STATE, enter_special, leave_special
from ..library.op_overload import OpOverload

__all__ = ["TorchDispatchMode", "_disable_current_modes", "_get_current_dispatch_mode"]


class TorchDispatchMode:
    """A subclass defines ``__torch_dispatch__`` and is entered with ``with``; the innermost mode is asked first. While
    it answers it is not active, so ``func(*args, **kwargs)`` runs the operator for the modes around it."""

    def __torch_dispatch__(
        self, func: OpOverload, types: tuple[type, ...], args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:  # fmt: skip
        """The answer to a call of `func`; `types` are the classes of arguments with ``__torch_dispatch__``."""
        raise NotImplementedError(f"{type(self).__name__} does not define __torch_dispatch__")

    def __enter__(self) -> Self:
        enter_special()
        STATE.modes = (*STATE.modes, self)
        STATE.include |= MODE_KEYS
        return self

    def __exit__(self, *error: object) -> None:
        STATE.modes = STATE.modes[:-1]
        if not STATE.modes:
            STATE.include &= ~MODE_KEYS
        leave_special()


def _disable_current_modes() -> AbstractContextManager[None]:
    """A block in which this thread is in no dispatch mode."""
    return mode_stack(())


def _get_current_dispatch_mode() -> TorchDispatchMode | None:
    """This thread's innermost dispatch mode."""
    return STATE.modes[-1] if STATE.modes else None
