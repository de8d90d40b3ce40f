"""Autograd: recording what is computed from tensors that require gradients, and running it backwards."""

from __future__ import annotations

from ..dispatch.inference import inference_mode
from ..dispatch.overrides import overridable
from ..tensor.tensor import Tensor as Variable
from . import forward_ad, functional, graph
from . import variable_type as _variable_type  # noqa: F401  it gives the dispatcher its autograd kernels
from .anomaly import detect_anomaly, set_detect_anomaly
from .backward import backward as _backward
from .backward import grad as _grad
from .function import Function
from .grad_mode import enable_grad, is_grad_enabled, no_grad, set_grad_enabled

__all__ = [
    "Function", "Variable", "backward", "detect_anomaly", "enable_grad", "forward_ad", "functional", "grad", "graph",
    "inference_mode", "is_grad_enabled", "no_grad", "set_detect_anomaly", "set_grad_enabled",
]  # fmt: skip

backward = overridable(_backward)
grad = overridable(_grad)


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in ("gradcheck", "gradgradcheck", "GradcheckError"):
        module = import_module(".gradcheck", __name__)
        found = {one: getattr(module, one) for one in ("gradgradcheck", "GradcheckError", "gradcheck")}
        globals().update(found)
        return found[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
