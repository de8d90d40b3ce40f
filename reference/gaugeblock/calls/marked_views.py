"""Views that operators return, marked in threads that record nothing."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..dispatch.state import STATE
from ..tensor.hooks import UNRECORDED, hooks
from ..tensor.tensor import Tensor
from ..tensor.versions import mark_unrecorded
from ..tensor.view_table import VIEWS

COMPOSITES = frozenset(
    "atleast_1d atleast_2d atleast_3d broadcast_tensors cartesian_prod einsum linalg_diagonal meshgrid".split()
)
"""Functions made of views."""
NO_VIEWS = frozenset("contiguous detach resolve_conj resolve_neg".split())
MARKED = (frozenset(name.partition(".")[0] for name in VIEWS) | COMPOSITES) - NO_VIEWS
"""Functions whose results may be new views of what they are given."""


def marking(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function`, which marks the new views in its results where nothing is recorded."""

    @functools.wraps(function)
    def marked(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        return marked_views((*args, *kwargs.values()), result) if UNRECORDED else result

    return marked


def marked_views(given: tuple[Any, ...], result: Any) -> Any:
    """Return the result of a call on the arguments `given`, its new views marked where nothing is recorded."""
    if STATE.grad:
        return result
    if result.__class__ is Tensor and given and given[0].__class__ is Tensor:
        return taken(given[0], result)
    return mark_unrecorded([x for one in given for x in (one if type(one) in (list, tuple) else (one,))], result)


def taken(tensor: Tensor, views: Any) -> Any:
    """Return a view or several that were just taken of `tensor`, marked where nothing is recorded."""
    if STATE.grad:
        return views
    if views.__class__ is Tensor and views.counter is None and views.autograd is None and views.base is not None:
        views.counter = None if views is tensor else views.storage_impl
        return views
    return mark_unrecorded((tensor,), views)


hooks.taken = taken
