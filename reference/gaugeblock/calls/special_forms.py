"""Bindings that are not generated from their schemas alone: conversions, `to`, `set_`, `contiguous`, and calls that
always take the general path.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.dtype import DType
from ..core.memory_format import contiguous_format
from ..dispatch.dispatcher import REGISTRY, call_on
from ..dispatch.keys import any_autograd
from ..dispatch.overrides import NOT_OVERRIDDEN, foreign, intercept
from ..dispatch.state import AUTOGRAD_IN_USE, OVERRIDING
from ..kernels.bound_call import Share
from ..memory.untyped import UntypedStorage
from ..operators.conversion import METHOD_DTYPES, to_dispatched
from ..operators.conversion import METHODS as CONVERSIONS
from ..operators.copy import fresh_copy
from ..tensor.hooks import SPECIAL, hooks
from ..tensor.metadata import set_
from ..tensor.reshaping import contiguous
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import remember
from .call_cache import ENABLED
from .caller import Caller


def general_source(name: str, function: str) -> str:
    """Return a binding without a fast path."""
    return f"def {function}(*args, **kwargs):\n    return slow_{name}(*args, **kwargs)\n"


def self_later_source(name: str, function: str, names: list[str]) -> str:
    """Return a method whose schema does not begin with self: ``x.where(condition, other)``."""
    rest = [argument for argument in names if argument != "self"]
    return f"def {function}(self, {', '.join(rest)}):\n    return slow_{name}({', '.join(names)})\n"


RECORDED = frozenset({"to", "type_as", "cpu", *METHOD_DTYPES})
"""Conversions whose implementations record what they do."""


def conversion(name: str, self: str, caller: Caller) -> tuple[str, dict[str, Any]]:
    """Return source and names of a conversion, which goes to an implementation that checks its own arguments. What that
    refuses may still override the call."""
    function = caller.name
    named = self == "input"  # a function takes its tensor by name too, by any of its names
    nameless = f"        if {self} is UNSET:\n            return slow_{name}(*args, **kwargs)\n" if named else ""
    tracked = f"{self}.meta.has_autograd or (AUTOGRAD_IN_USE and any_autograd(args, kwargs))"
    recorded = "" if function in RECORDED else f" or {tracked}"
    plain = f"not args and not kwargs and {self}.__class__ is Tensor and not SPECIAL"
    nothing = f"    if {plain}:\n        return {self}\n" if function == "to" else ""
    text = (
        f"def {function}({self}{'=UNSET' if named else ''}, *args, **kwargs):\n{nothing}"
        f"    if SPECIAL or {self}.__class__ is not Tensor or (OVERRIDING and foreign(args, kwargs)){recorded}:\n"
        f"{nameless}        return slow_{name}({self}, *args, **kwargs)\n"
        f"    try:\n"
        f"        return direct_{name}({self}, *args, **kwargs)\n"
        f"    except TypeError:\n"
        f"        found = intercept(public_{name}.public, ({self}, *args), kwargs)\n"
        f"        if found is NOT_OVERRIDDEN:\n"
        f"            raise\n"
        f"        return found\n"
    )
    names = {
        f"slow_{name}": GENERAL[function](caller) if function in GENERAL else caller, f"public_{name}": caller,
        f"direct_{name}": CONVERSIONS[function], "OVERRIDING": OVERRIDING, "foreign": foreign,
        "AUTOGRAD_IN_USE": AUTOGRAD_IN_USE, "any_autograd": any_autograd,
    }  # fmt: skip
    return text, names


def slow_to(caller: Caller) -> Callable[..., Any]:
    """Return the general path of ``x.to(...)``, whose forms outnumber the schemas."""

    def run(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and args[0].__class__ is DType and not kwargs and not SPECIAL:
            return call_on(TO_DTYPE, self, args[0], False, False, None)
        found = intercept(caller.public, (self, *args), kwargs)
        return to_dispatched(self, *args, **kwargs) if found is NOT_OVERRIDDEN else found

    return run


def _shared(self: Tensor, source: Tensor) -> Tensor | None:
    """Return the tensor, made to share storage and metadata of another; None where the general path has to do it."""
    key = ("set_", source.meta)
    call = self.meta.calls.get(key)
    if call:
        return call(self, source)  # type: ignore[no-any-return]
    mine, theirs = self.meta, source.meta
    plain = mine.dtype is theirs.dtype and mine.device is theirs.device
    plain = plain and not (mine.has_autograd or theirs.has_autograd)
    if call is None and ENABLED:
        remember(mine.calls, key, Share().native() if plain else False)
    return set_(self, source) if plain else None


def slow_set(caller: Caller) -> Callable[..., Any]:
    """Return the general path of ``x.set_(...)``: only the form with a tensor is an operator of the table."""

    def run(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and args[0].__class__ is Tensor is self.__class__ and not kwargs and not SPECIAL:
            shared = _shared(self, args[0])
            if shared is not None:
                return shared
        if args and hasattr(args[0], "untyped"):
            args = (args[0].untyped(), *args[1:])
        if len(args) == 1 and not kwargs and not isinstance(args[0], UntypedStorage):
            return caller(self, *args)
        found = intercept(caller.public, (self, *args), kwargs)
        if found is not NOT_OVERRIDDEN:
            return found
        if self.meta.has_autograd:
            return hooks.dispatched["rebound"](self, None, lambda: set_(self, *args, **kwargs))
        return set_(self, *args, **kwargs)

    return run


TO_DTYPE = REGISTRY.find("to.dtype")
GENERAL: dict[str, Callable[[Caller], Callable[..., Any]]] = {
    "to": slow_to, "set_": slow_set,
}  # fmt: skip
"""General paths of names with more forms than the table has schemas."""


def contiguous_binding(name: str, self: str, caller: Caller) -> tuple[str, dict[str, Any]]:
    """Return source and names of ``x.contiguous()``."""
    text = (
        f"def contiguous({self}, memory_format=CONTIGUOUS):\n"
        f"    if SPECIAL or {self}.__class__ is not Tensor or memory_format is not CONTIGUOUS:\n"
        f"        return slow_{name}({self}, memory_format=memory_format)\n"
        f"    if {self}.meta.contiguous:\n"
        f"        return {self}\n"
        f"    if {self}.meta.has_autograd:\n"
        f"        return slow_{name}({self})\n"
        f"    call = {self}.meta.calls.get('contiguous')\n"
        f"    result = call({self}) if call else None\n"
        f"    return packed({self}) if result is None else result\n"
    )
    return text, {f"slow_{name}": caller, "packed": _packed, "CONTIGUOUS": contiguous_format}


def _packed(self: Tensor) -> Tensor:
    """Return a row-major copy, and keep the call that makes it."""
    result = contiguous(self)
    if ENABLED:
        remember(self.meta.calls, "contiguous", fresh_copy(result, self) or False)
    return result


OWN_FORMS: dict[str, Callable[[str, str, Caller], tuple[str, dict[str, Any]]]] = {"contiguous": contiguous_binding}
"""Public names with a form of their own."""
