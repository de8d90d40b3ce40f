"""``__torch_function__`` from outside: function modes, and what a function needs to be overridable itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

from .dispatch.guards import DisableTorchFunction, DisableTorchFunctionSubclass
from .dispatch.overrides import _disabled_torch_function_impl, ask, overloaded
from .dispatch.state import STATE, enter_function_mode, enter_special, leave_function_mode, leave_special
from .tensor.tensor import Tensor

__all__ = [
    "BaseTorchFunctionMode", "DisableTorchFunction", "DisableTorchFunctionSubclass", "TorchFunctionMode",
    "_disabled_torch_function_impl", "handle_torch_function", "has_torch_function", "is_tensor_like",
    "is_tensor_method_or_property", "resolve_name",
]  # fmt: skip


class TorchFunctionMode:
    """A subclass defines ``__torch_function__`` and sees every call of the public API of this thread, inside ``with``.
    While it answers it is not active, so ``func(*args, **kwargs)`` is the call for the modes around it."""

    def __torch_function__(
        self, func: Callable[..., Any], types: tuple[type, ...], args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:  # fmt: skip
        """The answer to a call of `func`; `types` are the classes of arguments with ``__torch_function__``."""
        raise NotImplementedError(f"{type(self).__name__} does not define __torch_function__")

    def __enter__(self) -> Self:
        enter_special()
        enter_function_mode()
        STATE.function_modes = (*STATE.function_modes, self)
        return self

    def __exit__(self, *error: object) -> None:
        STATE.function_modes = STATE.function_modes[:-1]
        leave_function_mode()
        leave_special()


class BaseTorchFunctionMode(TorchFunctionMode):
    """A function mode that lets every call through."""

    def __torch_function__(
        self, func: Callable[..., Any], types: tuple[type, ...], args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:  # fmt: skip
        """The call itself."""
        return func(*args, **(kwargs or {}))


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Return whether one of the arguments, or a function mode, wants to be asked."""
    return bool(STATE.overrides and STATE.function_modes) or bool(overloaded(tuple(relevant_args), {}))


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], /, *args: Any, **kwargs: Any
) -> Any:
    """The answer of the function modes and of `relevant_args` to a call of `public_api`. TypeError when nobody is there
    to ask or all return NotImplemented."""
    asked = overloaded(tuple(relevant_args), {})
    if not asked and not STATE.function_modes:
        raise TypeError(f"no argument of '{getattr(public_api, '__name__', public_api)}' has a __torch_function__")
    return ask(public_api, asked, args, kwargs)


def is_tensor_like(inp: Any) -> bool:
    """Return whether this is a tensor or has a ``__torch_function__``."""
    return isinstance(inp, Tensor) or hasattr(inp, "__torch_function__")


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Return whether a function given to ``__torch_function__`` is a method or property of Tensor."""
    owner = getattr(func, "__self__", None)
    if isinstance(owner, property):
        return owner in Tensor.__dict__.values()
    return func is not None and Tensor.__dict__.get(getattr(func, "__name__", "")) is func


def resolve_name(f: Callable[..., Any]) -> str | None:
    """A function given to ``__torch_function__`` as a dotted name: ``gaugeblock.add``, ``gaugeblock.Tensor.add``."""
    owner = getattr(f, "__self__", None)
    if isinstance(owner, property):
        for name, value in Tensor.__dict__.items():
            if value is owner:
                return f"gaugeblock.Tensor.{name}.{f.__name__}"
    if is_tensor_method_or_property(f):
        return f"gaugeblock.Tensor.{f.__name__}"
    qualified: str | None = getattr(f, "__qualname__", None)
    return None if qualified is None else f"gaugeblock.{qualified}"
