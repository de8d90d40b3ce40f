"""Running an operator below autograd: on plain tensors, its results given back as what the caller knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from itertools import count
from typing import Any

from ..dispatch.dispatcher import REGISTRY, call, redispatch
from ..dispatch.keys import map_tensors
from ..dispatch.operator import Operator
from ..dispatch.state import STATE
from ..operators.invoke import kept_call
from ..tensor.changing import change_meta
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import without_autograd
from .autograd_meta import refresh_plain, unpack
from .view_history import NO_GRAD, creation_by, view_of


def below(operator: Operator, args: tuple[Any, ...], kwargs: Mapping[str, Any], mask: int | None = None) -> Any:
    """Run a call without recording it. A view of a tensor with the Autograd key gets the key too."""
    if operator.name in METADATA_INPLACE:
        return _changed(operator, args, kwargs)
    originals: dict[int, Tensor] = {}

    def plain(tensor: Tensor) -> Tensor:
        if not tensor.meta.has_autograd:
            return tensor
        made = unpack(tensor)
        originals[id(made)] = tensor
        return made

    values, options = map_tensors(plain, args), map_tensors(plain, kwargs)
    if mask is not None:
        result = redispatch(operator, mask, *values, **options)
    elif operator.sealed:
        result = kept_call(operator.name)(*values, **options)
    else:  # others may be declared anew, under the same name
        result = call(operator, *values, **options)
    numbers = count()
    return map_tensors(lambda one: _one(operator, one, originals, next(numbers)), result)


def _one(operator: Operator, result: Tensor, originals: dict[int, Tensor], nr: int) -> Any:
    known = originals.get(id(result))
    if known is not None:
        return known
    if result.base is None or operator.name in UNRELATED:
        return result
    for original in originals.values():
        meta = original.autograd
        if meta is not None and result.storage_impl is original.storage_impl and result.base is meta.plain:
            maker = _maker(operator.name)
            return view_of(original, result, None, nr, creation_by(maker) if STATE.grad else NO_GRAD, maker)
    return result


@cache
def _maker(name: str) -> str:
    """Return the word for an operator in the names of its nodes."""
    from .formulas import camel

    return camel(name.partition(".")[0])


def unrecorded_view(operator: Operator, original: Tensor, result: Any) -> Any:
    """Return the view that a kernel has made of a plain tensor as a view of the tensor itself, not recorded."""
    return _one(operator, result, {id(original): original}, 0)


UNRELATED = frozenset({"detach", "alias_copy", "view.dtype"})
"""Operators whose results share elements, but no history."""
METADATA_INPLACE = frozenset(
    """t_ transpose_ swapaxes_ swapdims_ squeeze_ squeeze_.dim squeeze_.dims unsqueeze_ as_strided_ resize_ resize_as_
    set_ set_.source_Tensor detach_""".split()
)
"""Operators that change the tensor itself, not its elements."""


def own_kernel(operator: Operator, tensor: Tensor | None) -> Callable[..., Any] | None:
    """Return the operator's kernel for tensors with or without data, if it has one."""
    with_data = tensor is None or tensor.meta.device.type == "cpu"
    return REGISTRY.lookup(operator, "CPU" if with_data else "Meta").function


def _changed(operator: Operator, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    self = args[0]
    kernel = own_kernel(operator, self)
    assert kernel is not None
    change_meta(self, without_autograd)
    try:
        return kernel(*args, **kwargs)
    finally:
        if self.autograd is not None:
            refresh_plain(self)
