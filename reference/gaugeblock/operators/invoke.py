"""Calling an operator by its name, through the dispatcher: what composite operators are made of."""

from __future__ import annotations

from typing import Any

from ..dispatch.dispatcher import call
from ..dispatch.registry import REGISTRY


def invoke(name: str, *args: Any, **kwargs: Any) -> Any:
    """The result of operator `name`, such as "add.Tensor". KeyError for no such operator."""
    return call(REGISTRY.find(name), *args, **kwargs)
