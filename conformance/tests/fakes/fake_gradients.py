"""The reference with derivatives that are wrong in one way each."""

from __future__ import annotations

import os
from typing import Any

from gaugeblock_conformance.backend import Unsupported
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
