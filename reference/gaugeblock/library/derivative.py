"""Derivatives of operators from outside: kept with the operator, for whoever records and runs gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

from ..core.errors import type_error
from ..dispatch.dispatcher import REGISTRY
from .op_overload import OpOverload


class Derivative(NamedTuple):
    """``backward(ctx, *grads)`` returns a gradient per input; ``setup_context(ctx, inputs, output)`` saves for it."""

    backward: Callable[..., Any]
    setup_context: Callable[..., Any] | None


class MissingDerivative:
    """Stands for the derivative of an operator that has none: it is never a silent zero."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.setup_context = None

    def backward(self, *args: Any) -> NoReturn:
        """Raises RuntimeError: nobody registered how to differentiate the operator."""
        raise RuntimeError(
            f"Trying to backward through {self.name} but no autograd formula was registered; use "
            f"gaugeblock.library.register_autograd({self.name!r}, backward)"
        )


def derivative_of(op: str | OpOverload) -> Derivative | MissingDerivative | None:
    """Return what was registered for an operator: MissingDerivative if nothing was, None for the engine's own.
    RuntimeError when it is not declared."""
    name = op.name() if isinstance(op, OpOverload) else op
    if not isinstance(name, str):
        type_error("derivative_of", "op", op, "str or OpOverload")
    found: Derivative | MissingDerivative | None = REGISTRY.find(name).derivative
    return found
