"""Whether calls are recorded, thread by thread: no_grad, enable_grad, set_grad_enabled."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any, Self, TypeVar

from ..core.errors import type_error
from ..dispatch.state import STATE
from ..memory.storage import new_object
from ..tensor.hooks import UNRECORDED

F = TypeVar("F", bound=Callable[..., Any])


class _Unrecorded:
    """Held by a thread whose user wished that nothing is recorded; views are marked until guards and thread let go."""

    __slots__ = ()

    def __del__(self, leave: Callable[[], None] = UNRECORDED.pop) -> None:
        leave()


def _entered(mode: bool) -> tuple[bool, object]:
    """Return what this thread's mode was before it became `mode`."""
    held = STATE.unrecorded
    before = STATE.grad, held
    STATE.grad = mode
    if mode:
        STATE.unrecorded = None
    elif held is None:
        UNRECORDED.append(None)
        STATE.unrecorded = new_object(_Unrecorded)
    return before


class GradMode:
    """A context manager and decorator that sets the mode and puts it back on every way out; it may be nested."""

    mode: bool
    _before: list[tuple[bool, object]]

    def __enter__(self) -> Self:
        self._before.append(_entered(self.mode))
        return self

    def __exit__(self, *error: object) -> None:
        STATE.grad, STATE.unrecorded = self._before.pop()

    def clone(self) -> GradMode:
        """A fresh guard of the same mode."""
        return type(self)()

    def __call__(self, function: F) -> F:
        """`function`, run in this mode; of a generator every step is."""
        if inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def steps(*args: Any, **kwargs: Any) -> Iterator[Any]:
                return _in_mode(self, function(*args, **kwargs))  # type: ignore[no-any-return]

            return steps  # type: ignore[return-value]

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return function(*args, **kwargs)

        return run  # type: ignore[return-value]


def _in_mode(guard: GradMode, generator: Any) -> Any:
    """Forward what is sent to and yielded by a generator that runs in the guard's mode, and only it."""
    try:
        with guard.clone():
            response = next(generator)
        while True:
            try:
                request = yield response
            except GeneratorExit:
                with guard.clone():
                    generator.close()
                raise
            except BaseException as error:
                with guard.clone():
                    response = generator.throw(error)
            else:
                with guard.clone():
                    response = generator.send(request)
    except StopIteration as end:
        return end.value


class no_grad(GradMode):
    """Nothing is recorded: ``with no_grad():`` or ``@no_grad()`` or ``@no_grad``."""

    mode = False

    def __new__(cls, orig_func: F | None = None) -> Any:
        return new_object(cls) if orig_func is None else cls()(orig_func)

    def __init__(self, orig_func: Callable[..., Any] | None = None) -> None:
        self._before = []


class enable_grad(no_grad):
    """Calls are recorded, also inside no_grad: ``with enable_grad():`` or ``@enable_grad()``."""

    mode = True


class set_grad_enabled(GradMode):
    """Sets the mode at once, as a function does; as a context manager it puts the old one back at the end. TypeError
    unless `mode` is a bool."""

    def __init__(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            type_error("set_grad_enabled", "mode", mode, "bool")
        self.mode = mode
        self._before = [_entered(mode)]
        self._fresh = True

    def __enter__(self) -> Self:
        if self._fresh:
            self._fresh = False
            return self
        return super().__enter__()

    def clone(self) -> GradMode:
        """A fresh guard of the same mode, which is not in force yet."""
        made = object.__new__(set_grad_enabled)
        made.mode, made._before, made._fresh = self.mode, [], False
        return made

    def __call__(self, function: F) -> F:
        """`function` run in this mode; the mode of the caller is what it was before."""
        if self._fresh:
            self._fresh = False
            STATE.grad, STATE.unrecorded = self._before.pop()
        return super().__call__(function)

    def __repr__(self) -> str:
        return f"set_grad_enabled(mode={self.mode})"


def is_grad_enabled() -> bool:
    """Return whether calls with tensors that require gradients are recorded in this thread."""
    return STATE.grad and not STATE.inference
