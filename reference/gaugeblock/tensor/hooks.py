"""Functions that this package needs from packages above it, which set them when they are imported."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .tensor import Tensor


SPECIAL: list[None] = []
"""Has members while a mode, an override or a guard may want to see every call."""
UNRECORDED: list[None] = []
"""Has members while a thread records nothing, so that views taken by it are marked."""


class Hooks:
    """`copy_into(destination, source)` copies equal sizes, resolving lazy sources; `advanced_getitem(tensor, index)`
    and `advanced_setitem(tensor, index, value)` serve every index that is not basic; `assign(view, value)` is the
    copy_ or fill_ behind basic assignment. Methods that usually go straight to the work call `dispatched[name]`, their
    form through the dispatcher, while `SPECIAL` has members. While `UNRECORDED` has members, new views go through
    `taken(tensor, views)`, which marks them."""

    __slots__ = (
        "advanced_getitem", "advanced_setitem", "assign", "copy_into", "dispatched", "taken",
    )  # fmt: skip

    copy_into: Callable[[Tensor, Tensor], object]
    advanced_getitem: Callable[[Tensor, Any], Tensor]
    advanced_setitem: Callable[[Tensor, Any, Any], object]
    assign: Callable[[Tensor, Any], object]
    dispatched: dict[str, Callable[..., Any]]
    taken: Callable[[Tensor, Any], Any]


def taken(self: Tensor, views: Any) -> Any:
    """Return a view or several of `self`, marked if they were taken while nothing is recorded."""
    return hooks.taken(self, views) if UNRECORDED else views


hooks = Hooks()
hooks.dispatched = {}
