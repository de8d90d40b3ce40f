"""Tensor's autograd members until autograd is loaded: each loads it when it is needed for an answer."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from ..tensor.hooks import hooks
from ..tensor.tensor import Tensor

METHODS = (
    "backward", "detach_", "register_hook", "register_post_accumulate_grad_hook", "requires_grad_", "retain_grad",
)  # fmt: skip
UNWATCHED = {
    "grad": None, "grad_fn": None, "is_leaf": True, "output_nr": 0, "requires_grad": False, "retains_grad": False,
}  # fmt: skip
"""Property -> its value for a tensor that autograd knows nothing of."""


def members() -> Any:
    """The module of the members, which puts them on Tensor when it is loaded."""
    return import_module("..autograd.tensor_members", __package__)


def _method(name: str) -> Any:
    def method(self: Tensor, /, *args: Any, **kwargs: Any) -> Any:
        return members().METHODS[name](self, *args, **kwargs)

    method.__name__, method.__qualname__ = name, f"Tensor.{name}"
    return method


def _property(name: str, without_autograd: Any) -> property:
    def getter(self: Tensor) -> Any:
        return without_autograd if self.autograd is None else members().PROPERTIES[name][0](self)

    def setter(self: Tensor, value: Any) -> None:
        write = members().PROPERTIES[name][1]
        if write is None:
            raise AttributeError(f"attribute {name!r} of 'Tensor' objects is not writable")
        write(self, value)

    def deleter(self: Tensor) -> None:
        if self.autograd is not None:
            setter(self, None)

    return property(getter, setter, deleter if name == "grad" else None, f"See autograd's tensor_members: {name}.")


def _later(module: str, name: str) -> Callable[..., Any]:
    """Return a function of a module of autograd, which is loaded when it is called."""

    def function(*args: Any) -> Any:
        return getattr(import_module(f"..autograd.{module}", __package__), name)(*args)

    return function


for _name in METHODS:
    setattr(Tensor, _name, _method(_name))
for _name, _value in UNWATCHED.items():
    setattr(Tensor, _name, _property(_name, _value))
hooks.dispatched |= {
    "set_requires_grad": _later("tensor_members", "requires_grad_"),
    "shown_suffix": _later("tensor_members", "shown_suffix"),
    "detach_": _later("tensor_members", "forget_history"),
    "refresh_plain": _later("autograd_meta", "refresh_plain"),
    "rebound": _later("variable_type_manual", "rebound"),
}
"""Run by operators that meet a tensor with the Autograd key."""
