"""Python's reflected operators, ``number + x``: a number on the left, kept in the call cache like any other call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dispatch.dispatcher import REGISTRY, call
from ..dispatch.overrides import NOT_OVERRIDDEN, PLAIN, intercept
from ..dispatch.state import OVERRIDING
from ..tensor.tensor import Tensor
from .binding import compile_function
from .call_cache import Filler, Parameter, Request
from .caller import Bound
from .overloads import NO, number

WATCHED: dict[str, Callable[[Any, Any], Any]] = {
    "add.Tensor": lambda self, number: self.add(number),
    "mul.Tensor": lambda self, number: self.mul(number),
    "sub.Tensor": lambda self, number: call(REGISTRY.find("rsub.Scalar"), self, number, 1),
    "div.Tensor": lambda self, number: self.reciprocal() * number,
}
"""``number + x`` and its like of a tensor that requires a gradient, as calls with the tensor first."""


def reversed_operator(dunder: str, row: str, document: str) -> Any:
    """Return the reflected operator of a row, such as ``__rsub__`` of "sub.Tensor"."""
    text = (
        f"def {dunder}(self, other):\n"
        f"    if self.__class__ is Tensor and not SPECIAL:\n"
        f"        call = self.meta.calls.get(({dunder!r}, other.__class__))\n"
        f"        if call:\n"
        f"            result = call(other, self)\n"
        f"            if result is not None:\n"
        f"                return result\n"
        f"    return general(self, other)\n"
    )
    return compile_function(f"Tensor.{dunder}", dunder, text, document, general=_general(dunder, row))


class _Reversed:
    """A `Resolver` with a single operator, whose first argument is the number."""

    def __init__(self, row: str) -> None:
        self._operator = REGISTRY.find(row)

    def __call__(self, number: Any, tensor: Tensor) -> Any:
        return call(self._operator, number, tensor)

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Bound:
        """Return the operator with the arguments as they are."""
        return Bound(self._operator, args, {})

    def explaining(self, run: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], *rest: Any) -> Any:
        """Return the result of ``run(args, kwargs, *rest)``."""
        return run(args, kwargs, *rest)


def _general(dunder: str, row: str) -> Callable[[Any, Any], Any]:
    reverse = _Reversed(row)
    number_or_tensor = frozenset({"number", "tensor"})
    filler = Filler(reverse, [Parameter(name, number_or_tensor, "UNSET") for name in ("number", "tensor")])

    def general(self: Any, other: Any) -> Any:
        if OVERRIDING or other.__class__ not in PLAIN:
            taken = intercept(getattr(Tensor, dunder), (self, other), {})
            if taken is not NOT_OVERRIDDEN:
                return taken
        found = other if isinstance(other, Tensor) else number(other)
        if found is NO:
            return NotImplemented
        if not isinstance(self, Tensor):
            raise TypeError(f"{dunder}() requires a Tensor as its first argument, not {type(self).__name__}")
        if self.meta.watched and row in WATCHED:
            return WATCHED[row](self, found)
        if self.__class__ is not Tensor or found is not other or isinstance(other, Tensor):
            return reverse(found, self)
        return filler.run(Request(self.meta, (dunder, found.__class__), (found, self)), (found, self), {})

    return general
