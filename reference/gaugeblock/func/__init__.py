"""Derivatives of functions as functions, under torch.func's names: grad, vjp, jvp, functional_call."""

from __future__ import annotations

from .calls import functional_call
from .transforms import grad, grad_and_value, jvp, vjp

__all__ = ["functional_call", "grad", "grad_and_value", "jvp", "vjp"]


def __getattr__(name: str) -> object:
    from ..out_of_scope import refusal

    raise refusal(__name__, name)
