"""gaugeblock: a tensor engine whose names and semantics are PyTorch's, written to be read.

Operator functions are made from the spec when they are first asked for; `show_binding` shows what they became.
"""

from __future__ import annotations

import re as _re
from functools import partial as _partial
from importlib import import_module as _import_module
from math import e, inf, nan, pi
from typing import Any

from . import iteration, memory
from .bindings import autograd_members as _autograd_members  # noqa: F401
from .bindings import blocked_members as _blocked_members  # noqa: F401
from .bindings import quantized_members as _quantized_members  # noqa: F401
from .bindings import sparse_members as _sparse_members
from .bindings import subclass_methods as _subclass_methods  # noqa: F401
from .bindings.namespaces import show_binding
from .bindings.tensor_methods import install as _install
from .calls.factories import FUNCTIONS as _FACTORIES
from .calls.functions import ops as _ops
from .calls.functions import special_names as _public_names
from .calls.overloads import functions as _functions
from .core.determinism import (
    are_deterministic_algorithms_enabled,
    is_deterministic_algorithms_warn_only_enabled,
    use_deterministic_algorithms,
)
from .core.device import PLACING as _PLACING
from .core.device import Device as device
from .core.dtype import ALIASES as _DTYPE_ALIASES
from .core.dtype import BY_NAME as _DTYPES
from .core.dtype import DType as dtype
from .core.dtype import get_default_dtype, set_default_dtype
from .core.layout import LAYOUTS as _LAYOUTS
from .core.layout import Layout as layout
from .core.layout import strided
from .core.limits import finfo, iinfo
from .core.memory_format import MemoryFormat as memory_format
from .core.memory_format import channels_last, channels_last_3d, contiguous_format, preserve_format
from .core.promotion import can_cast, promote_types
from .core.size import Size
from .core.warn import is_warn_always_enabled, set_warn_always
from .dispatch import dispatch_keys, dispatch_table, inference_mode, is_inference, is_inference_mode_enabled
from .dispatch.dispatcher import REGISTRY as _REGISTRY
from .dispatch.overrides import overridable as _overridable
from .interop import copying as _copying  # noqa: F401
from .interop import older_members as _older_members  # noqa: F401
from .interop.as_tensor import as_tensor, asarray
from .interop.blob import from_blob
from .interop.numpy import from_numpy, frombuffer
from .kernels.parallel import get_num_threads, set_num_threads
from .memory.untyped import UntypedStorage
from .operators import registered as _registered  # noqa: F401
from .operators.composites import broadcast_shapes, is_tensor, nonzero, norm, result_type, unique
from .operators.generator import (
    Generator,
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)
from .operators.tensor_data import tensor
from .tensor.printing import set_printoptions
from .tensor.tensor import Tensor

__version__ = "0.1.0"
newaxis = None
legacy_contiguous_format = contiguous_format
__all__ = [
    "Generator",
    "Size",
    "Tensor",
    "UntypedStorage",
    "arange",
    "are_deterministic_algorithms_enabled",
    "as_tensor",
    "asarray",
    "broadcast_shapes",
    "can_cast",
    "channels_last",
    "channels_last_3d",
    "contiguous_format",
    "default_generator",
    "dequantize",
    "device",
    "dispatch_keys",
    "dispatch_table",
    "dtype",
    "e",
    "empty",
    "empty_like",
    "empty_strided",
    "explain",
    "eye",
    "fake_quantize_per_channel_affine",
    "fake_quantize_per_tensor_affine",
    "finfo",
    "from_blob",
    "from_dlpack",
    "from_numpy",
    "frombuffer",
    "full",
    "full_like",
    "get_default_dtype",
    "get_num_threads",
    "get_rng_state",
    "iinfo",
    "inf",
    "inference_mode",
    "initial_seed",
    "is_deterministic_algorithms_warn_only_enabled",
    "is_inference",
    "is_inference_mode_enabled",
    "is_tensor",
    "is_warn_always_enabled",
    "iteration",
    "layout",
    "legacy_contiguous_format",
    "linspace",
    "load",
    "logspace",
    "manual_seed",
    "memory",
    "memory_format",
    "nan",
    "newaxis",
    "nonzero",
    "norm",
    "ones",
    "ones_like",
    "per_channel_affine",
    "per_tensor_affine",
    "pi",
    "preserve_format",
    "promote_types",
    "qint8",
    "qint32",
    "quantize_per_channel",
    "quantize_per_tensor",
    "quint8",
    "result_type",
    "save",
    "scalar_tensor",
    "seed",
    "set_default_dtype",
    "set_num_threads",
    "set_printoptions",
    "set_rng_state",
    "set_warn_always",
    "show_binding",
    "strided",
    "tensor",
    "unique",
    "use_deterministic_algorithms",
    "zeros",
    "zeros_like",
]  # fmt: skip

_MODULES = frozenset(
    """amp array_api autograd cuda fft func kernel_tools library linalg multiprocessing nn ops optim overrides
    safetensors signal sparse special testing utils""".split()
)
"""Modules that are imported when they are first asked for."""

_LATER = {
    "explain": "call_trace", "from_dlpack": "interop.dlpack_import", "get_default_device": "default_device",
    "load": "interop.serialization", "save": "interop.serialization", "set_default_device": "default_device",
}  # fmt: skip
"""Function -> its module, imported when it is first asked for."""

_LATER |= dict.fromkeys(("empty_permuted", "hash_tensor", "histogramdd", "range"), "interop.rarer_functions")
_LATER |= dict.fromkeys(_sparse_members.FUNCTIONS, "bindings.sparse_members")
_LATER |= {
    "TypedStorage": "interop.typed_storage", "is_storage": "interop.typed_storage",
    "set_default_tensor_type": "interop.legacy_classes",
}  # fmt: skip
_LATER |= dict.fromkeys(
    ("per_channel_affine", "per_tensor_affine", "qint8", "qint32", "quint8"), "core.quantized_dtype"
)
_LATER |= dict.fromkeys(
    ("dequantize", "int_repr", "q_per_channel_axis", "q_per_channel_scales", "q_per_channel_zero_points", "q_scale",
     "q_zero_point", "quantize_per_channel", "quantize_per_tensor", "_make_per_channel_quantized_tensor",
     "_make_per_tensor_quantized_tensor"), "quantized.functions",
)  # fmt: skip
_LATER |= dict.fromkeys(
    ("fake_quantize_per_channel_affine", "fake_quantize_per_tensor_affine"), "quantized.fake_quantize"
)
_LATER |= dict.fromkeys(
    """autocast autocast_decrement_nesting autocast_increment_nesting clear_autocast_cache get_autocast_dtype
    is_autocast_cache_enabled is_autocast_enabled set_autocast_cache_enabled set_autocast_dtype
    set_autocast_enabled""".split(),
    "amp",
)
_LATER |= dict.fromkeys(("enable_grad", "is_grad_enabled", "no_grad", "set_grad_enabled"), "autograd.grad_mode")
_LATER["vmap"] = "func"
_LEGACY = _re.compile("(Bool|Byte|Char|Short|Int|Long|Half|BFloat16|Float|Double)Tensor|[A-Z][A-Za-z0-9]+Storage")
"""Legacy per-dtype class names, such as FloatTensor and FloatStorage."""

_OVERRIDABLE = (
    "as_tensor", "asarray", "from_numpy", "frombuffer", "nonzero", "norm", "result_type", "unique",
)  # fmt: skip
"""Functions that ``__torch_function__`` may take over and that do not look for it themselves."""

globals().update(_FACTORIES)
globals().update({name: _overridable(globals()[name]) for name in _OVERRIDABLE})
globals().update(_DTYPES)
globals().update(_LAYOUTS)
globals().update(_DTYPE_ALIASES)
_install()
_PLACING.load = _partial(_import_module, package=__name__)
_REGISTRY.publish = lambda operator: _import_module(".library.op_overload", __name__).OpOverload(operator)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return _import_module(f".{name}", __name__)
    if name in _LATER:
        made = globals()[name] = getattr(_import_module(f".{_LATER[name]}", __name__), name)
        return made
    if _LEGACY.fullmatch(name):
        made = globals()[name] = _import_module(".interop.legacy_classes", __name__).legacy_class(name)
        return made
    if name not in _functions() and name not in _public_names():
        raise _import_module(".out_of_scope", __name__).refusal("gaugeblock", name)
    made = globals()[name] = getattr(_ops, name)
    return made


def __dir__() -> list[str]:
    return sorted({*globals(), *_functions(), *_public_names(), *_MODULES, *_LATER})
