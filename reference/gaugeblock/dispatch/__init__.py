"""Dispatch: from an operator and the keys of its arguments to a kernel."""

from .dispatcher import call, redispatch
from .key_set import DispatchKeySet
from .registry import FALLTHROUGH, REGISTRY, Operator
from .state import key_guard

__all__ = ["FALLTHROUGH", "REGISTRY", "DispatchKeySet", "Operator", "call", "key_guard", "redispatch"]
