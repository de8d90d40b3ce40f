"""The suite's differentiation rules as functions of a module of torch's style."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

from ..backend_autograd import Rule

Tensors = Sequence[Any]


def function_of(module: Any, rule: Rule, log: list[Any]) -> type:
    """A subclass of the module's ``autograd.Function`` that follows ``rule`` and writes into ``log``."""
    base: Any = module.autograd.Function
    forward, save, right = _FORWARDS[rule.forward]

    def note(text: str) -> None:
        if rule.label is not None:
            log.append(f"{rule.label} {text}")

    def prepare(context: Any, inputs: Tensors, output: Any) -> None:
        context.set_materialize_grads(rule.materialize)
        context.inputs = len(inputs)
        save(context, inputs, output)
        context.factor = rule.factor

    def backward(context: Any, *gradients: Any) -> Any:
        note("backward " + "".join("-" if g is None else "+" for g in gradients))
        return _backward(module, rule, context, gradients, right)

    def tangent(context: Any, *tangents: Any) -> Any:
        note("jvp " + "".join("-" if t is None else "+" for t in tangents))
        return tangents[0] * context.factor

    parts: dict[str, Any] = {"backward": staticmethod(backward)}
    if rule.backward == "plain":
        parts["backward"] = staticmethod(module.autograd.function.once_differentiable(backward))
    if rule.tangent:
        parts["jvp"] = staticmethod(tangent)
    if rule.setup:

        def alone(*inputs: Any) -> Any:
            note("forward")
            return forward(module, rule, inputs)

        parts |= {"forward": staticmethod(alone), "setup_context": staticmethod(prepare)}
    else:

        def together(context: Any, *inputs: Any) -> Any:
            note("forward")
            output = forward(module, rule, inputs)
            prepare(context, inputs, output)
            return output

        parts["forward"] = staticmethod(together)
    return type(f"Suite{rule.forward.capitalize()}", (base,), parts)


def _backward(
    module: Any, rule: Rule, context: Any, gradients: Tensors, right: Callable[[Any, Tensors], Any]
) -> Any:
    if rule.backward == "give":
        options = {"dtype": gradients[0].dtype, "device": gradients[0].device}
        given = [None if g is None else module.tensor(g, **options) for g in rule.given]
        return tuple(given) if len(given) != 1 else given[0]
    if rule.backward == "raise":
        raise getattr(builtins, rule.given)(f"{rule.given} of the suite")
    if rule.backward == "nan":
        return tuple(module.full_like(gradients[0], float("nan")) for _ in range(context.inputs))
    if rule.backward == "nested":
        _nested(module, int(rule.given))
    return right(context, gradients)


def _nested(module: Any, depth: int) -> None:
    """``depth`` backwards, one within the other."""

    class Inner(module.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(context: Any, x: Any, left: int) -> Any:
            context.left = left
            return x * 1

        @staticmethod
        def backward(context: Any, gradient: Any) -> Any:
            if context.left > 1:
                run(context.left - 1)
            return gradient, None

    def run(left: int) -> None:
        with module.enable_grad():
            x = module.ones((1,)).requires_grad_()
            Inner.apply(x, left).sum().backward()
        if x.grad.tolist() != [1.0]:
            raise ArithmeticError(f"the gradient of an inner backward is {x.grad.tolist()}, not [1.0]")

    if depth > 0:
        run(depth)


def _product(tensors: Tensors) -> Any:
    result = tensors[0] * 1
    for tensor in tensors[1:]:
        result = result * tensor
    return result


def _product_gradients(context: Any, gradients: Tensors) -> tuple[Any, ...]:
    saved = context.saved_tensors
    others = [[t for k, t in enumerate(saved) if k != own] for own in range(len(saved))]
    return tuple(
        _product([gradients[0], *rest]) if needed else None
        for needed, rest in zip(context.needs_input_grad, others, strict=True)
    )


def _first(context: Any, gradient: Any) -> Any:
    """One gradient, for the first input; None for the others."""
    return gradient if context.inputs == 1 else (gradient, *[None] * (context.inputs - 1))


def _two(context: Any, gradients: Tensors) -> Any:
    parts = [g * (context.factor + k) for k, g in enumerate(gradients) if g is not None]
    return _first(context, sum(parts[1:], parts[0]) if parts else None)


def _nothing(context: Any, inputs: Tensors, output: Any) -> None:
    return None


def _in_place(module: Any, rule: Rule, inputs: Tensors) -> Any:
    return inputs[0].mul_(rule.factor)


def _scaled(context: Any, gradients: Tensors) -> Any:
    return _first(context, gradients[0] * context.factor)


_FORWARDS: dict[str, tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]] = {
    "scale": (lambda m, r, x: x[0] * r.factor, _nothing, _scaled),
    "square": (
        lambda m, r, x: x[0] * x[0],
        lambda c, x, y: c.save_for_backward(x[0]),
        lambda c, g: _first(c, g[0] * c.saved_tensors[0] * 2),
    ),
    "exp": (
        lambda m, r, x: x[0].exp(),
        lambda c, x, y: c.save_for_backward(y),
        lambda c, g: _first(c, g[0] * c.saved_tensors[0]),
    ),
    "product": (lambda m, r, x: _product(x), lambda c, x, y: c.save_for_backward(*x), _product_gradients),
    "identity": (lambda m, r, x: x[0], _nothing, lambda c, g: _first(c, g[0])),
    "inplace": (_in_place, lambda c, x, y: c.mark_dirty(x[0]), _scaled),
    "unmarked": (_in_place, _nothing, _scaled),
    "places": (
        lambda m, r, x: (x[0] * r.factor, m.zeros(x[0].shape, dtype=m.int64, device=x[0].device)),
        lambda c, x, y: c.mark_non_differentiable(y[1]),
        _scaled,
    ),
    "view": (lambda m, r, x: x[0].unsqueeze(0), _nothing, lambda c, g: _first(c, g[0].squeeze(0))),
    "views": (
        lambda m, r, x: (x[0].unsqueeze(0), x[0].unsqueeze(0)),
        _nothing,
        lambda c, g: _first(c, (g[0] + g[1]).squeeze(0)),
    ),
    "two": (lambda m, r, x: (x[0] * r.factor, x[0] * (r.factor + 1)), _nothing, _two),
}
"""Forward, what is saved of (context, inputs, output), and the right gradients of (context, gradients)."""
