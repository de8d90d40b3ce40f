"""The reference with derivatives that are wrong in one way each."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from gaugeblock_conformance.backend import Unsupported
from gaugeblock_conformance.backend_autograd import DualLevel, entered
from gaugeblock_conformance.backends.reference import ReferenceBackend


class Flipped(ReferenceBackend):
    """The last gradient has the wrong sign."""

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        result = super().call(operator, *args, **kwargs)
        if operator == "gradients" and result[-1] is not None:
            return (*result[:-1], super().call("neg", result[-1]))
        return result


class Forgets(ReferenceBackend):
    """Gradients of gradients miss a factor; the first ones are right."""

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        result = super().call(operator, *args, **kwargs)
        if operator == "gradients" and kwargs.get("create_graph"):
            return tuple(g if g is None else super(Forgets, self).call("detach", g) for g in result)
        return result


class Halved(ReferenceBackend):
    """Tangents are halved."""

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        result = super().call(operator, *args, **kwargs)
        if operator == "unpack_dual" and result[1] is not None:
            return result[0], super().call("mul.Scalar", result[1], 0.5)
        return result


class Aborts(ReferenceBackend):
    """Its process ends in a backward."""

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        if operator == "gradients":
            os.abort()
        return super().call(operator, *args, **kwargs)


class WithoutSine(ReferenceBackend):
    """Does not offer an operator, and refuses all calls of another."""

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        if operator == "sin":
            raise Unsupported(operator)
        if operator == "cos":
            raise ValueError("no cosine today")
        return super().call(operator, *args, **kwargs)


class Detached(ReferenceBackend):
    """Sines do not require grad, nor do Vandermonde matrices of one column, which are constant."""

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        result = super().call(operator, *args, **kwargs)
        if operator == "sin" or (operator == "vander" and self.shape(result)[1] == 1):
            return super().call("detach", result)
        return result


class OfFunctions(ReferenceBackend):
    """Tensors do not ask for gradients: they are those of functions."""

    capabilities = frozenset(
        name for name in ReferenceBackend.capabilities if not name.startswith("autograd")
    ) | {"autograd.vjp", "autograd.jvp"}  # fmt: skip

    def for_gradients(self) -> OfFunctions:
        return self

    def vjp(self, function: Callable[..., Any], inputs: Sequence[Any], seeds: Sequence[Any]) -> Sequence[Any]:
        call = self.call
        leaves = [x if call("requires_grad", x) else call("requires_grad_", call("detach", x)) for x in inputs]
        results = list(function(*leaves))
        found = call("gradients", results, leaves, list(seeds), create_graph=True, allow_unused=True)
        return [call("zeros_like", x) if g is None else g for x, g in zip(leaves, found, strict=True)]

    def jvp(self, function: Callable[..., Any], inputs: Sequence[Any], tangents: Sequence[Any]) -> Sequence[Any]:
        with entered(self.call, DualLevel()):
            duals = [self.call("make_dual", x, t) for x, t in zip(inputs, tangents, strict=True)]
            return [self.call("unpack_dual", result)[1] for result in function(*duals)]


class OfFlippedFunctions(OfFunctions):
    """The gradient by the last input has the wrong sign; there is no forward mode."""

    capabilities = OfFunctions.capabilities - {"autograd.jvp"}

    def vjp(self, function: Callable[..., Any], inputs: Sequence[Any], seeds: Sequence[Any]) -> Sequence[Any]:
        *others, last = super().vjp(function, inputs, seeds)
        return [*others, self.call("neg", last)]
