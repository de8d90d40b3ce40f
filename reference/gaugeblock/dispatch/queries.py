"""Questions about keys and kernels."""

from __future__ import annotations

from typing import Any

from ..core.errors import type_error
from ..tensor.geometry import WATCHED_KEY
from ..tensor.tensor import Tensor
from .dispatcher import keys_of
from .key_set import DispatchKeySet
from .keys import ALIASES, check_key
from .registry import REGISTRY


def dispatch_keys(tensor: Any) -> DispatchKeySet:
    """The keys of a tensor; they do not depend on requires_grad. TypeError for anything else."""
    if not isinstance(tensor, Tensor):
        type_error("dispatch_keys", "tensor", tensor, "Tensor")
    return DispatchKeySet(mask=keys_of(tensor) & ~WATCHED_KEY)


def has_kernel_for_dispatch_key(name: str, key: str) -> bool:
    """Whether a kernel of operator `name` is registered under exactly this key. RuntimeError, ValueError."""
    return REGISTRY.find(name).has_kernel(check_key(str.__str__(key)))


def has_kernel_for_any_dispatch_key(name: str, keys: DispatchKeySet) -> bool:
    """Whether a kernel of operator `name` is registered under one of the keys. RuntimeError."""
    return REGISTRY.find(name).has_kernel(*keys)


def has_computed_kernel_for_dispatch_key(name: str, key: str) -> bool:
    """Whether the operator's table has a kernel for this key: registered, from an alias key, or a fallback."""
    if check_key(str.__str__(key)) in ALIASES:
        return has_kernel_for_dispatch_key(name, key)
    return REGISTRY.lookup(REGISTRY.find(name), str.__str__(key)).function is not None
