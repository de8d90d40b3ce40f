"""Dispatch: from an operator and the keys of its arguments to a kernel."""

from __future__ import annotations

from . import modes as _modes  # noqa: F401
from . import subclass as _subclass  # noqa: F401
from .dispatcher import REGISTRY, call, redispatch
from .guards import (
    AutoDispatchBelowADInplaceOrView,
    AutoDispatchBelowAutograd,
    DisableTorchDispatch,
    DisableTorchFunction,
    DisableTorchFunctionSubclass,
    ExcludeDispatchKeyGuard,
    IncludeDispatchKeyGuard,
    tls_exclude_set,
    tls_include_set,
)
from .inference import inference_mode, is_inference, is_inference_mode_enabled
from .keys import DispatchKey, DispatchKeySet
from .operator import FALLTHROUGH, Operator
from .table import (
    DispatchTable,
    dispatch_keys,
    dispatch_table,
    has_computed_kernel_for_dispatch_key,
    has_kernel_for_any_dispatch_key,
    has_kernel_for_dispatch_key,
)

__all__ = [
    "FALLTHROUGH", "REGISTRY", "AutoDispatchBelowADInplaceOrView", "AutoDispatchBelowAutograd",
    "DisableTorchDispatch", "DisableTorchFunction", "DisableTorchFunctionSubclass", "DispatchKey", "DispatchKeySet",
    "DispatchTable", "ExcludeDispatchKeyGuard", "IncludeDispatchKeyGuard", "Operator", "call", "dispatch_keys",
    "dispatch_table", "has_computed_kernel_for_dispatch_key", "has_kernel_for_any_dispatch_key",
    "has_kernel_for_dispatch_key", "inference_mode", "is_inference", "is_inference_mode_enabled", "redispatch",
    "tls_exclude_set", "tls_include_set",
]  # fmt: skip
