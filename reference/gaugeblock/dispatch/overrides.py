"""``__torch_function__``: function modes, duck types and Tensor subclasses that take over calls of the public API."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from operator import is_
from typing import Any

from ..tensor.blocked_tensor import BlockedTensor
from ..tensor.changing import ChangingTensor, UnbackedTensor
from ..tensor.sparse_tensor import SparseTensor
from ..tensor.tensor import Tensor
from .guards import DisableTorchFunctionSubclass
from .state import OVERRIDING, STATE

PLAIN: set[type] = {
    Tensor, UnbackedTensor, ChangingTensor, SparseTensor, BlockedTensor, int, float, bool, complex, str, bytes,
    type(None), tuple, list, dict, slice, type(...),
}  # fmt: skip
"""Classes without ``__torch_function__``; grows with the classes that were looked at."""
NOT_OVERRIDDEN: Any = object()
NOT_WRAPPED: set[Any] = set()
"""Functions whose results the default ``__torch_function__`` returns as they are."""
PLAIN_LIMIT = 4096


def _disabled_torch_function_impl(
    cls: type, func: Any, types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
) -> Any:
    """As ``__torch_function__`` of a class: its tensors take part in no overriding."""
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


def overrides(kind: type) -> bool:
    """Return whether arguments of this class have a ``__torch_function__`` to be asked."""
    if kind in PLAIN:
        return False
    handler = getattr(kind, "__torch_function__", None)
    if handler is not None and getattr(handler, "__func__", handler) is not _disabled_torch_function_impl:
        return True
    if handler is None and len(PLAIN) < PLAIN_LIMIT:
        PLAIN.add(kind)
    return False


def overloaded(values: tuple[Any, ...], options: Mapping[str, Any]) -> list[Any]:
    """The arguments to be asked, also those inside lists: one of each class, subclasses before their bases."""
    if STATE.overrides < 2:
        return []
    found: list[Any] = []
    for value in (*values, *options.values()) if options else values:
        kind = value.__class__
        if kind is tuple or kind is list:
            for part in value:
                if part.__class__ not in PLAIN and overrides(part.__class__):
                    insert_by_class(found, part)
        elif kind not in PLAIN and overrides(kind):
            insert_by_class(found, value)
    return found


def foreign(values: tuple[Any, ...], options: Mapping[str, Any]) -> bool:
    """Return whether an argument, or a member of a list, is of a class that the engine does not know to be plain."""
    for value in (*values, *options.values()):
        kind = value.__class__
        if kind not in PLAIN or ((kind is tuple or kind is list) and any(p.__class__ not in PLAIN for p in value)):
            return True
    return False


def insert_by_class(found: list[Any], value: Any) -> None:
    """Put a value into a list of one of each class, subclasses before their bases."""
    kind = type(value)
    if all(type(other) is not kind for other in found):
        at = next((index for index, other in enumerate(found) if issubclass(kind, type(other))), len(found))
        found.insert(at, value)


@contextmanager
def asking(*key: Any) -> Iterator[None]:
    """While a handler is at work; `key` tells which and on what."""
    STATE.asking = (*STATE.asking, key)
    try:
        yield
    finally:
        STATE.asking = STATE.asking[:-1]


def is_asked(*key: Any) -> bool:
    """Return whether the handler that `key` means is at work."""
    return any(len(one) == len(key) and all(map(is_, one, key)) for one in STATE.asking)


def ask(public: Any, asked: list[Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """The first answer of the innermost function mode and then of the arguments; NOT_OVERRIDDEN if nobody is there.
    TypeError when all return NotImplemented."""
    types = tuple(type(value) for value in asked)
    modes = STATE.function_modes if STATE.overrides else ()
    if not modes and not asked:
        return NOT_OVERRIDDEN
    if modes:
        STATE.function_modes = modes[:-1]  # while the innermost runs
        try:
            result = modes[-1].__torch_function__(public, types, args, dict(kwargs))
        finally:
            STATE.function_modes = modes
        if result is not NotImplemented:
            return result
    for value in asked:
        if is_asked(public, value):
            # Its handler came back with the call as it was: it belongs to a library that does not know this one.
            return NOT_OVERRIDDEN
        with asking(public, value):
            result = type(value).__torch_function__(public, types, args, dict(kwargs))
        if result is not NotImplemented:
            return result
    name = getattr(public, "__name__", str(public))
    handlers = ", ".join(repr(one) for one in [*modes[-1:], *types])
    raise TypeError(
        f"Multiple dispatch failed for '{name}'; all __torch_function__ handlers returned NotImplemented: {handlers}"
    )


def intercept(public: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Return what modes and arguments make of a call of `public`, or NOT_OVERRIDDEN."""
    if STATE.overrides == 0:
        return NOT_OVERRIDDEN
    asked = overloaded(args, kwargs)
    return NOT_OVERRIDDEN if not asked and not STATE.function_modes else ask(public, asked, args, kwargs)


def taken(public: Any, args: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
    """intercept of a call whose `options` were not given where they are None or false."""
    given = {name: value for name, value in options.items() if value is not None and value is not False}
    return intercept(public, args, given)


def overridable(public: Callable[..., Any]) -> Callable[..., Any]:
    """`public` as a function that modes and arguments may take over. A call whose first argument is plain is tried at
    once; what it does not take may still be one that overrides."""
    plain = PLAIN

    def function(*args: Any, **kwargs: Any) -> Any:
        if args and args[0].__class__ in plain and not OVERRIDING:
            try:
                return public(*args, **kwargs)
            except (TypeError, AttributeError):
                found = intercept(function, args, kwargs)
                if found is NOT_OVERRIDDEN:
                    raise
                return found
        found = intercept(function, args, kwargs)
        return public(*args, **kwargs) if found is NOT_OVERRIDDEN else found

    functools.update_wrapper(function, public)
    return function
