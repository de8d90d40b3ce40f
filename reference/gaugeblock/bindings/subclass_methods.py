"""Methods and properties that ask ``__torch_function__``: on every subclass of Tensor, on Tensor during function modes.

Otherwise Tensor has its own, so that plain tensors pay nothing. Generated methods look for overrides themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from ..dispatch.overrides import NOT_OVERRIDDEN, NOT_WRAPPED, intercept
from ..dispatch.state import MODE_LISTENERS
from ..dispatch.subclass import LISTENERS
from ..tensor.tensor import Tensor
from .dispatched import METHODS, PROPERTIES
from .tensor_methods import GENERATED

OWN = frozenset({"__new__", "__init_subclass__", "__reduce_ex__", "as_subclass", "__matmul__"})
"""What a subclass takes from Tensor unchanged; the last asks by itself."""
UNWRAPPED_PROPERTIES = frozenset({"_base", "grad"})


def intercepted(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    """The method called `name` of a subclass."""
    dispatched = METHODS.get(name, original)

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        found = intercept(original, (self, *args), kwargs)
        if found is not NOT_OVERRIDDEN:
            return found
        return (dispatched if self.class_keys else original)(self, *args, **kwargs)

    method.__name__ = name
    method.__qualname__ = f"Tensor.{name}"
    method.__doc__ = original.__doc__
    return method


def intercepted_property(name: str, original: property) -> property:
    """The property called `name` of a subclass."""
    dispatched = PROPERTIES.get(name)

    def getter(self: Tensor) -> Any:
        found = intercept(original.__get__, (self,), {})
        if found is not NOT_OVERRIDDEN:
            return found
        return dispatched(self) if dispatched is not None and self.class_keys else original.__get__(self)

    def setter(self: Tensor, value: Any) -> None:
        if intercept(original.__set__, (self, value), {}) is NOT_OVERRIDDEN:
            original.__set__(self, value)

    def deleter(self: Tensor) -> None:
        if intercept(original.__delete__, (self,), {}) is NOT_OVERRIDDEN:
            original.__delete__(self)

    writing = None if original.fset is None else setter
    return property(getter, writing, None if original.fdel is None else deleter, original.__doc__)


def complete(cls: type[Tensor]) -> None:
    """Give a subclass of Tensor the intercepting forms of what it and its other bases do not define."""
    before = cls.__mro__[: cls.__mro__.index(Tensor)]
    if any(issubclass(kind, Tensor) for kind in before[1:]):
        return  # that class has them
    for name, value in list(Tensor.__dict__.items()):
        if name in GENERATED or name in OWN or any(name in kind.__dict__ for kind in before):
            continue
        value = value.original if isinstance(value, Intercepting) else value
        if isinstance(value, FunctionType):
            setattr(cls, name, intercepted(name, value))
        elif isinstance(value, property):
            setattr(cls, name, intercepted_property(name, value))


class Intercepting:
    """Stands on Tensor during function modes: as before when looked up on the class, intercepted on a tensor."""

    __slots__ = ("method", "original")

    def __init__(self, name: str, original: Any) -> None:
        self.original = original
        is_property = isinstance(original, property)
        self.method: Any = (intercepted_property if is_property else intercepted)(name, original)

    def __get__(self, tensor: Tensor | None, owner: type) -> Any:
        return self.original if tensor is None else self.method.__get__(tensor, owner)

    def __set__(self, tensor: Tensor, value: Any) -> None:
        self.method.__set__(tensor, value)

    def __delete__(self, tensor: Tensor) -> None:
        self.method.__delete__(tensor)


def watch(active: bool) -> None:
    """Put intercepting forms on Tensor when the first function mode begins, take them off after the last."""
    for name, value in list(Tensor.__dict__.items()):
        if active and name not in GENERATED and name not in OWN and isinstance(value, (FunctionType, property)):
            setattr(Tensor, name, Intercepting(name, value))
        elif not active and isinstance(value, Intercepting):
            setattr(Tensor, name, value.original)


LISTENERS.append(complete)
MODE_LISTENERS.append(watch)
NOT_WRAPPED.update(Tensor.__dict__[name].__get__ for name in UNWRAPPED_PROPERTIES)
