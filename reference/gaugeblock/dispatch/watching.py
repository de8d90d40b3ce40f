"""Where autograd joins dispatch: what a call with a watched tensor runs. The floor that records fills it in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ..tensor.tensor import Tensor
from .operator import Operator, Resolved


class Watchers(Protocol):
    """`resolve` gives the recorder of a call with watched tensors; `guarded` a kernel that is not to see them."""

    def resolve(self, operator: Operator, mask: int) -> Resolved: ...

    def guarded(
        self, operator: Operator, found: Resolved, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Resolved: ...


class NoWatchers:
    """While no tensor has required a gradient there is nothing to record."""

    def resolve(self, operator: Operator, mask: int) -> Resolved:
        """Never asked: only autograd makes watched tensors."""
        raise RuntimeError(f"{operator.name}: a tensor is watched, but nothing records")

    def guarded(
        self, operator: Operator, found: Resolved, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Resolved:
        """The kernel itself."""
        return found


DEEPEST = 8
"""Lists within lists that are searched for tensors; a list may contain itself."""


def any_watched(args: Sequence[Any], kwargs: Mapping[str, Any], depth: int = 0) -> bool:
    """Whether autograd watches a tensor among the arguments, those in lists included."""
    for value in (*args, *kwargs.values()) if kwargs else args:
        kind = value.__class__
        if kind is Tensor or isinstance(value, Tensor):
            if value.geometry.watched:
                return True
        elif (kind is tuple or kind is list) and depth < DEEPEST and any_watched(value, {}, depth + 1):
            return True
    return False
