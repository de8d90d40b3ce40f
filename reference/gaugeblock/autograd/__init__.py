"""Autograd: recording what is computed from tensors that require gradients, and running it backwards."""

from __future__ import annotations

from ..tensor.tensor import Tensor as Variable
from .anomaly import detect_anomaly, set_detect_anomaly
from .backward import backward, grad
from .grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled

__all__ = [
    "Variable", "backward", "detect_anomaly", "enable_grad", "grad", "inference_mode", "no_grad", "set_detect_anomaly",
    "set_grad_enabled",
]  # fmt: skip
