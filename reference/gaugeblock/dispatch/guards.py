"""Guards: context managers that change this thread's dispatch state and put it back on every way out."""

from __future__ import annotations

from typing import Any, Self

from .keys import AUTOGRAD_MASK, BACKEND_MASK, FUNCTIONALITY_BIT, DispatchKeySet
from .state import STATE, enter_special, leave_special

AUTOGRAD_AND_VIEWS = AUTOGRAD_MASK | FUNCTIONALITY_BIT["ADInplaceOrView"]
PYTHON = FUNCTIONALITY_BIT["Python"] | FUNCTIONALITY_BIT["PythonTLSSnapshot"]


class Guard:
    """Saves the state named in `saved` on entry and restores it on exit; a guard may be entered again."""

    saved: tuple[str, ...] = ("include", "exclude")

    def __init__(self) -> None:
        self._before: list[tuple[Any, ...]] = []

    def change(self) -> None:
        """Change the state; called after it was saved."""

    def __enter__(self) -> Self:
        self._before.append(tuple(getattr(STATE, name) for name in self.saved))
        enter_special()
        self.change()
        return self

    def __exit__(self, *error: object) -> None:
        for name, value in zip(self.saved, self._before.pop(), strict=True):
            setattr(STATE, name, value)
        leave_special()


class _Excluding(Guard):
    """Calls skip the functionalities of `mask`."""

    mask: int

    def change(self) -> None:
        """Exclude the keys."""
        STATE.exclude |= self.mask


class ExcludeDispatchKeyGuard(_Excluding):
    """Calls skip the functionalities of these keys; backend bits stay."""

    def __init__(self, keys: str | DispatchKeySet) -> None:
        super().__init__()
        self.mask = DispatchKeySet(keys).mask & ~BACKEND_MASK


class IncludeDispatchKeyGuard(Guard):
    """Calls dispatch on these keys too."""

    def __init__(self, keys: str | DispatchKeySet) -> None:
        super().__init__()
        self.mask = DispatchKeySet(keys).mask

    def change(self) -> None:
        """Include the keys."""
        STATE.include |= self.mask


class AutoDispatchBelowAutograd(_Excluding):
    """Calls skip autograd."""

    mask = AUTOGRAD_MASK


class AutoDispatchBelowADInplaceOrView(_Excluding):
    """Calls skip autograd and the tracking of views and in-place changes."""

    mask = AUTOGRAD_AND_VIEWS


class DisableTorchDispatch(_Excluding):
    """Calls reach neither dispatch modes nor ``__torch_dispatch__`` of their arguments."""

    mask = PYTHON


class DisableTorchFunctionSubclass(Guard):
    """``__torch_function__`` of arguments is not asked; function modes are."""

    saved = ("overrides",)

    def change(self) -> None:
        """Keep function modes only."""
        STATE.overrides = min(STATE.overrides, 1)


class DisableTorchFunction(Guard):
    """Neither ``__torch_function__`` of arguments nor function modes are asked."""

    saved = ("overrides",)

    def change(self) -> None:
        """Ask nobody."""
        STATE.overrides = 0


def tls_include_set() -> DispatchKeySet:
    """The keys that every call of this thread dispatches on."""
    return DispatchKeySet(mask=STATE.include)


def tls_exclude_set() -> DispatchKeySet:
    """The keys that no call of this thread dispatches on."""
    return DispatchKeySet(mask=STATE.exclude)
