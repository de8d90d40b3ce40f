"""Views that are taken while the user records nothing: they are marked, so that no recorded write may go into them.

A binding or method that makes views tests `SPECIAL_VIEWS` in place of ``SPECIAL`` and then comes here, so that the
mark costs nothing while all threads record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

from ..dispatch.state import STATE
from ..tensor.attributes import METHODS, PROPERTIES
from ..tensor.hooks import hooks
from ..tensor.tensor import Tensor
from ..tensor.versions import mark_unrecorded
from ..tensor.view_table import VIEWS
from . import dispatched
from .generate import compile_function
from .source import CHOICE

MARKED = frozenset(name.partition(".")[0] for name in VIEWS) - {"contiguous", "detach", "resolve_conj", "resolve_neg"}
"""Functions whose results may be new views of what they are given."""


def marking(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, the new views in its results marked where nothing is recorded."""

    def marked(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        if STATE.grad:
            return result
        if result.__class__ is Tensor and args:
            if result.counter is None and result.autograd is None and result.base is not None and result is not args[0]:
                result.counter = result.storage
            return result
        if args and args[0].__class__ is Tensor:
            return mark_unrecorded(args, result)
        given = (*args, *kwargs.values())
        return mark_unrecorded([x for one in given for x in (one if type(one) in (list, tuple) else (one,))], result)

    return marked


def special_view(
    name: str, label: str, function: str, text: str, document: str, direct: Callable[..., Any]
) -> Callable[..., Any]:
    """What the view binding `text`, with names for `name`, calls while views are special: itself, as it is when they
    are not, marking what it or `direct` makes."""
    ordinary = text.replace(CHOICE.format(name=name), f"slow_{name}").replace("SPECIAL_VIEWS", "SPECIAL")
    if _MADE not in ordinary:
        return marking(compile_function(f"{label} while nothing is recorded", function, ordinary, document))
    marked = ordinary.replace(_MADE, _MARKED).replace(f"direct_{name}", f"marking_{name}")
    names = {f"marking_{name}": marking(direct)}
    made: Callable[..., Any] = compile_function(
        f"{label} while nothing is recorded", function, marked, document, **names
    )
    return made


_MADE = "    view.autograd = None\n"
_MARKED = "    if view.counter is None and not STATE.grad:\n        view.counter = view.storage\n" + _MADE


class _Ordinary:
    """What methods of the tensor floor read in place of `hooks` in a copy for which no views are special."""

    special_views = ()
    dispatched = hooks.dispatched


def _viewed(method: Any, dispatched_form: Callable[..., Any]) -> Callable[..., Any]:
    """What `method` of the tensor floor calls while views are special: its own code, to which they are not, or, while a
    mode is active, its form through the dispatcher."""
    ordinary = FunctionType(
        method.__code__, {**method.__globals__, "hooks": _Ordinary}, None, method.__defaults__, method.__closure__
    )
    ordinary.__kwdefaults__ = method.__kwdefaults__

    def viewed(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        if hooks.special:
            return through(self, *args, **kwargs)
        result = ordinary(self, *args, **kwargs)
        if not STATE.grad and result.counter is None and result.autograd is None and result.base is not None:
            result.counter = None if result is self else result.storage
        return result

    through = marking(dispatched_form)
    return viewed


def _iterate(self: Tensor) -> Iterator[Any]:
    return iter(_UNBOUND(self))


_UNBOUND = marking(lambda self: tuple(dispatched.iterate(self)))
hooks.viewed.update({name: _viewed(PROPERTIES[name].fget, form) for name, form in dispatched.PROPERTIES.items()})
hooks.viewed.update({name: _viewed(METHODS[name], dispatched.METHODS[name]) for name in ("view", "__getitem__")})
hooks.viewed["__iter__"] = _iterate
