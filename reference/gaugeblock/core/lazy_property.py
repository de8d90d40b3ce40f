"""Properties that are computed once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

Value = TypeVar("Value")


class lazy_property(Generic[Value]):
    """A property that is computed when it is first read, then stored as an attribute of the object.

    Before Python 3.12 `functools.cached_property` holds a lock during the computation; a child that another thread
    forks meanwhile would wait for it forever.
    """

    def __init__(self, function: Callable[[Any], Value]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> lazy_property[Value]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...
    def __get__(self, instance: object | None, owner: type) -> lazy_property[Value] | Value:
        if instance is None:
            return self
        value = self._function(instance)
        return instance.__dict__.setdefault(self._name, value)  # type: ignore[no-any-return]
