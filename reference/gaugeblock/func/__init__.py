"""Functions of functions, under torch.func's names: derivatives, vmap, and calls of modules with other parameters."""

from __future__ import annotations

from .calls import functional_call
from .transforms import grad, grad_and_value, jvp, vjp
from .vmap import vmap

__all__ = ["functional_call", "grad", "grad_and_value", "jvp", "vjp", "vmap"]


def __getattr__(name: str) -> object:
    from ..out_of_scope import refusal

    raise refusal(__name__, name)
