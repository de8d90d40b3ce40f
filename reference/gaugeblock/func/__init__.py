"""Functions of functions, under torch.func's names: derivatives, vmap, and calls of modules with other parameters."""

from __future__ import annotations

from .calls import functional_call, stack_module_state
from .functionalization import functionalize
from .jacobians import hessian, jacfwd, jacrev
from .transforms import grad, grad_and_value, jvp, vjp
from .vmap import vmap

__all__ = [
    "functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp",
    "stack_module_state", "vjp", "vmap",
]  # fmt: skip


def __getattr__(name: str) -> object:
    from ..out_of_scope import refusal

    raise refusal(__name__, name)
