"""Calling an operator by its name, through the dispatcher: what composite operators are made of."""

from __future__ import annotations

from typing import Any

from ..dispatch.dispatcher import call
from ..dispatch.registry import REGISTRY
from ..tensor.tensor import Tensor


def invoke(name: str, *args: Any, **kwargs: Any) -> Any:
    """The result of operator `name`, such as "max.dim". KeyError for no such operator."""
    return call(REGISTRY.find(name), *args, **kwargs)


def apply(name: str, *args: Any, **kwargs: Any) -> Tensor:
    """The one tensor that operator `name` returns, such as "add.Tensor". KeyError for no such operator."""
    result: Tensor = call(REGISTRY.find(name), *args, **kwargs)
    return result


def apply_for_many(name: str, *args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
    """The tensors that operator `name` returns, such as "native_batch_norm". KeyError for no such operator."""
    results: tuple[Tensor, ...] = call(REGISTRY.find(name), *args, **kwargs)
    return results
