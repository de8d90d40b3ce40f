"""Views that are taken while the user records nothing: they are marked, so that no recorded write may go into them.

A binding or method that makes views tests `SPECIAL_VIEWS` in place of ``SPECIAL`` and then comes here, so that the
mark costs nothing while all threads record.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

from ..dispatch.state import STATE
from ..tensor.basic_indexing import getitem
from ..tensor.hooks import hooks
from ..tensor.tensor import Tensor
from ..tensor.versions import mark_unrecorded
from ..tensor.view_table import VIEWS
from .direct import CHOICE
from .generate import compile_function

COMPOSITES = frozenset(
    "atleast_1d atleast_2d atleast_3d broadcast_tensors cartesian_prod einsum linalg_diagonal meshgrid".split()
)
"""Functions made of views."""
NO_VIEWS = frozenset("contiguous detach resolve_conj resolve_neg".split())
MARKED = (frozenset(name.partition(".")[0] for name in VIEWS) | COMPOSITES) - NO_VIEWS
"""Functions whose results may be new views of what they are given."""


def marking(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, the new views in its results marked where nothing is recorded."""

    @functools.wraps(function)
    def marked(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        if STATE.grad:
            return result
        if result.__class__ is Tensor and args:
            if result.counter is None and result.autograd is None and result.base is not None and result is not args[0]:
                result.counter = result.storage_impl
            return result
        if args and args[0].__class__ is Tensor:
            return mark_unrecorded(args, result)
        given = (*args, *kwargs.values())
        return mark_unrecorded([x for one in given for x in (one if type(one) in (list, tuple) else (one,))], result)

    return marked


def special_view(
    name: str, label: str, function: str, text: str, document: str, names: dict[str, Any]
) -> Callable[..., Any]:
    """Return what the view binding `text`, with globals `names`, calls while views are special: itself, as it is when
    they are not, marking what it or its implementation makes."""
    ordinary = text.replace(CHOICE.format(name=name), f"slow_{name}").replace("SPECIAL_VIEWS", "SPECIAL")
    label = f"{label} while nothing is recorded"
    if _MADE not in ordinary:
        return marking(compile_function(label, function, ordinary, document, **names))
    marked = ordinary.replace(_MADE, _MARKED)
    names = names | {f"direct_{name}": marking(names[f"direct_{name}"])}
    made: Callable[..., Any] = compile_function(label, function, marked, document, **names)
    return made


_MADE = "    view.autograd = None\n"
_MARKED = "    if view.counter is None and not STATE.grad:\n        view.counter = view.storage_impl\n" + _MADE


def taken(tensor: Tensor, views: Any) -> Any:
    """A view or several that were just taken of `tensor`, marked where nothing is recorded."""
    if STATE.grad:
        return views
    if views.__class__ is Tensor and views.counter is None and views.autograd is None and views.base is not None:
        views.counter = None if views is tensor else views.storage_impl
        return views
    return mark_unrecorded((tensor,), views)


class _Ordinary:
    """What `getitem` reads in place of `hooks` in a copy for which no views are special."""

    special_views = ()
    dispatched = hooks.dispatched


_plain_getitem = FunctionType(getitem.__code__, {**getitem.__globals__, "hooks": _Ordinary})


def special_getitem(self: Tensor, index: Any) -> Any:
    """``x[index]`` while views are special."""
    return taken(self, (hooks.dispatched["__getitem__"] if hooks.special else _plain_getitem)(self, index))


hooks.taken = taken
hooks.special_getitem = special_getitem
