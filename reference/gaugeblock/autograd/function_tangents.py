"""The tangents that the jvp of a custom function computes, and their checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..tensor.tensor import Tensor
from .autograd_meta import plain_of
from .forward_mode import PAUSED, Pause, has_numbers, has_tangent, set_tangent, tangent_of
from .public import gb


def set_function_tangents(
    function: Any, ctx: Any, args: Sequence[Any], outputs: Sequence[Any], results: Sequence[Any]
) -> None:
    """Give the results of a custom function the tangents that its jvp computes.

    `outputs` are what forward returned. Raises RuntimeError when jvp returns another number of tangents, a tangent that
    is not a tensor or has other sizes, a tangent for an output without gradient, for an output that is a view a tangent
    that is not, or for an input written to anything but that input's tangent.
    """
    if PAUSED.value or not has_tangent(args):
        return
    with Pause():
        given = [_tangent(ctx, one) for one in args]
        found = function.jvp(ctx, *given)
        tangents = tuple(found) if isinstance(found, (list, tuple)) else (found,)
        if len(tangents) != len(outputs):
            raise RuntimeError(
                f"{ctx.name()}: jvp returned an invalid number of forward gradients (expected {len(outputs)} but got "
                f"{len(tangents)})"
            )
        for nr, (output, tangent) in enumerate(zip(outputs, tangents, strict=True)):
            if tangent is not None:
                _check(ctx, nr, output, tangent)
                _check_shared(ctx, nr, output, tangent, args, given)
    for result, tangent in zip(results, tangents, strict=True):
        set_tangent(result, tangent)


def _tangent(ctx: Any, value: Any) -> Any:
    """Return an argument's tangent; without one, zeros if it is floating or complex and gradients are materialized."""
    if not isinstance(value, Tensor) or not has_numbers(value):
        return None
    found = tangent_of(value)
    return gb.zeros_like(plain_of(value)) if found is None and ctx.materialize_grads else found


def _check(ctx: Any, nr: int, output: Any, tangent: Any) -> None:
    if not isinstance(tangent, Tensor):
        raise RuntimeError(
            f"{ctx.name()}: jvp returned {type(tangent).__name__} for output {nr}, expected Tensor or None"
        )
    constant = any(one is output for one in ctx.non_differentiable)
    if not isinstance(output, Tensor) or not has_numbers(output) or constant:
        raise RuntimeError(
            f"{ctx.name()}: jvp returned a gradient at position {nr}, but the corresponding forward output is not a "
            "differentiable Tensor; return None at that position instead"
        )
    if tangent.geometry.sizes != output.geometry.sizes:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(output.shape)} while the given forward gradient is of size "
            f"{list(tangent.shape)}."
        )


def _check_shared(ctx: Any, nr: int, output: Any, tangent: Tensor, args: Sequence[Any], given: Sequence[Any]) -> None:
    place = next((place for place, one in enumerate(args) if one is output), None)
    if place is not None and any(one is output for one in ctx.dirty):
        if tangent is not given[place]:
            raise RuntimeError(
                f"{ctx.name()}: an inplace custom Function is not modifying the forward mode gradients inplace: output "
                f"{nr} is input {place}, so jvp must write to the gradient of that input and return it"
            )
    elif (place is not None or output.base is not None) and tangent.base is None:
        raise RuntimeError(
            f"{ctx.name()}: output {nr} of forward is a view or an input, but the tangent that jvp returned for "
            "it is not a view"
        )
