"""Per-thread included and excluded keys, and one flag that fast paths test.

Each switch is a list that is true while it has members, one for each reason, so that a binding learns with one test
that nothing is active:

- ``SPECIAL``: some thread has changed its include or exclude set or entered a mode, or a kernel for CPU tensors was
  replaced;
- ``UNRECORDED``: some thread records nothing, so that the views it takes are marked;
- ``IN_PYTHON``: recording takes more than machine code does: hooks pack what is saved, anomaly or forward mode is on,
  or a backward pass runs that is not recorded itself;
- ``OVERRIDING``: some thread is in a function mode, or a subclass of Tensor exists;
- ``AUTOGRAD_IN_USE``: a tensor has required a gradient.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from ..core.away import carried
from ..core.fork_safety import fork_safe
from ..tensor.hooks import SPECIAL as SPECIAL
from ..tensor.hooks import UNRECORDED as UNRECORDED
from .keys import AUTOCAST_MASK, FUNCTIONALITY_BIT

DEFAULT_INCLUDE = FUNCTIONALITY_BIT["BackendSelect"] | FUNCTIONALITY_BIT["ADInplaceOrView"]
DEFAULT_EXCLUDE = AUTOCAST_MASK
OVERRIDING: list[None] = []
AUTOGRAD_IN_USE: list[None] = []
IN_PYTHON: list[None] = []

_COUNTERS = fork_safe(threading.RLock())
_FUNCTION_MODES: list[None] = []
MODE_LISTENERS: list[Callable[[bool], None]] = []
"""Called with True when the first function mode of any thread begins and with False after the last."""


class DispatchState(threading.local):
    """The sets of the current thread, its stacks of dispatch and function modes, and who writes down its calls.

    In inference mode (`inference`) what is made takes no part in autograd; while `grad` is false nothing is recorded,
    and where that is the user's wish (`unrecorded` is held) views are marked.
    `overrides` says which ``__torch_function__`` are asked: those of modes and arguments (2), of modes only (1), none.
    `asking` tells which ``__torch_function__`` are at work, by function and argument, the innermost last.
    """

    include: int = DEFAULT_INCLUDE
    exclude: int = DEFAULT_EXCLUDE
    modes: tuple[Any, ...] = ()
    function_modes: tuple[Any, ...] = ()
    inference: bool = False
    grad: bool = True
    unrecorded: object = None
    overrides: int = 2
    asking: tuple[tuple[Any, ...], ...] = ()
    trace: Callable[..., Any] | None = None


STATE = carried(DispatchState())


def enter_special() -> None:
    """Count one more reason to leave the fast paths; pair with `leave_special`."""
    SPECIAL.append(None)


def leave_special() -> None:
    """Take back one `enter_special`."""
    SPECIAL.pop()


def enter_function_mode() -> None:
    """Count one more function mode; pair with `leave_function_mode`."""
    OVERRIDING.append(None)
    with _COUNTERS:
        _FUNCTION_MODES.append(None)
        if len(_FUNCTION_MODES) == 1:
            for listener in MODE_LISTENERS:
                listener(True)


def leave_function_mode() -> None:
    """Take back one `enter_function_mode`."""
    with _COUNTERS:
        _FUNCTION_MODES.pop()
        if not _FUNCTION_MODES:
            for listener in MODE_LISTENERS:
                listener(False)
    OVERRIDING.pop()
