"""What composite operators are made of: calls by name, views that are dispatched where that is seen, named results."""

from __future__ import annotations

import functools
from collections import namedtuple
from collections.abc import Callable, Sequence
from typing import Any

from gaugeblock_spec.schema import parse

from ..dispatch.dispatcher import REGISTRY, call
from ..tensor import reshaping, views
from ..tensor.hooks import SPECIAL
from ..tensor.tensor import Tensor
from .rows import rows

_CALLS: dict[str, Callable[..., Any]] = {}
"""Operator -> its call that keeps plans; making one costs more than a first call saves."""
_SEEN: set[str] = set()


def _call_of(name: str) -> Callable[..., Any]:
    """Return the call of an operator: from the second time on, one that keeps its plans."""
    operator = REGISTRY.find(name)
    if name not in _SEEN:
        _SEEN.add(name)
        return functools.partial(call, operator)
    made = _CALLS[name] = REGISTRY.bind_operator(operator)
    return made


def kept_call(name: str) -> Callable[..., Any]:
    """Return the call of an operator that keeps its plans. KeyError for no such operator."""
    _SEEN.add(name)
    return _CALLS.get(name) or _call_of(name)


def invoke(name: str, *args: Any, **kwargs: Any) -> Any:
    """The result of operator `name`, such as "max.dim". KeyError for no such operator."""
    return (_CALLS.get(name) or _call_of(name))(*args, **kwargs)


apply: Callable[..., Tensor] = invoke
"""The one tensor that operator `name` returns, such as "add.Tensor". KeyError for no such operator."""
apply_for_many: Callable[..., tuple[Tensor, ...]] = invoke
"""The tensors that operator `name` returns, such as "native_batch_norm". KeyError for no such operator."""


@functools.cache
def result_type(name: str) -> Any:
    """The named tuple that operator `name` ("sort.stable") returns, called after its base name."""
    row = rows()[name]
    fields = [result.name or f"result{place}" for place, result in enumerate(parse(row.schema).returns)]
    return namedtuple(row.base, fields)


def _unseen(tensor: Tensor) -> bool:
    """Return whether nobody would notice that a view is made without the dispatcher."""
    return tensor.__class__ is Tensor and not tensor.meta.has_autograd and not SPECIAL


def _quick(name: str, view: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return the function that makes a view, by the operator `name` where somebody would notice."""

    def made(self: Tensor, *args: Any) -> Tensor:
        return view(self, *args) if _unseen(self) else apply(name, self, *args)

    return made


diagonal = _quick("diagonal", views.diagonal)
"""The diagonal over two dims, as a new last dim."""
expand = _quick("expand", views.expand)
"""Size-1 dims repeated, and new leading dims."""
permute = _quick("permute", views.permute)
"""Dim k of the result is dim ``dims[k]``."""
squeeze = _quick("squeeze.dim", views.squeeze)
"""Without a dim of size 1."""
unsqueeze = _quick("unsqueeze", views.unsqueeze)
"""With a dim of size 1 added."""


def reshape(self: Tensor, shape: Sequence[int]) -> Tensor:
    """Other sizes for the same elements, as a view or a copy."""
    if _unseen(self):
        return reshaping.reshape(self, shape)
    return self if self.meta.sizes == shape else apply("reshape", self, shape)
