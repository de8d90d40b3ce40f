"""Which module of `networks` holds the operators of neural networks; each is loaded when it is first called.

A function there bears the operator's name, with "_" for the dot before the overload.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import import_module
from typing import Any

from .registration import kernel

KERNELS = {
    "activation": "glu rrelu_with_noise",
    "batch_normalization": "native_batch_norm",
    "group_normalization": "native_group_norm",
    "convolution": "convolution",
    "layer_normalization": "native_layer_norm",
    "patches": "im2col col2im",
    "root_mean_square": "_fused_rms_norm",
}
"""Operators with a kernel for CPU and Meta."""
COMPOSITES = {
    "activation": "prelu rrelu",
    "batch_normalization": "batch_norm instance_norm",
    "group_normalization": "group_norm",
    "convolution_forms": """conv1d conv1d.padding conv2d conv2d.padding conv3d conv3d.padding conv_transpose1d
    conv_transpose2d.input conv_transpose3d.input""",
    "layer_normalization": "layer_norm",
    "linear": "linear bilinear",
    "root_mean_square": "rms_norm",
}
"""Operators made of others."""


def deferred(module: str, function: str) -> Callable[..., Any]:
    """A function that loads `module` when it is first called."""

    @functools.cache
    def load() -> Callable[..., Any]:
        found: Callable[..., Any] = getattr(import_module(f".networks.{module}", __package__), function)
        return found

    def run(*args: Any, **kwargs: Any) -> Any:
        return load()(*args, **kwargs)

    run.__name__ = run.__qualname__ = function
    return run


def _register(table: dict[str, str], *keys: str) -> None:
    for module, names in table.items():
        for name in names.split():
            kernel(name, *keys)(deferred(module, name.replace(".", "_")))


_register(KERNELS)
_register(COMPOSITES, "CompositeImplicitAutograd")
