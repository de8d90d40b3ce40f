"""Methods and operators of Tensor, such as ``x.add`` and ``x + y``: each is made when it is first looked up."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ..calls.binding import PENDING, make_dunder, make_method, make_reversed, pending
from ..calls.factories import METHODS as FACTORIES
from ..calls.functions import public_function
from ..calls.overloads import methods
from ..core.gc_pause import with_gc_paused
from ..operators.conversion import METHODS as CONVERSIONS
from ..operators.tensor_data import legacy_tensor, new_tensor
from ..tensor.tensor import Tensor

METHODS = ("lu", "stft", "unique_consecutive")
"""Functions that are methods of a tensor in the same form."""


def _method(name: str) -> Callable[..., Any]:
    def run(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        return public_function(name)(self, *args, **kwargs)

    run.__name__, run.__qualname__ = name, f"Tensor.{name}"
    return run


for _name in METHODS:
    setattr(Tensor, _name, _method(_name))


BINARY = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floor_divide", "mod": "remainder",
    "pow": "pow", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
}  # fmt: skip
"""Name in ``__add__``, ``__radd__`` and ``__iadd__`` -> function."""
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
UNARY = {"neg": "neg", "abs": "abs", "invert": "bitwise_not", "pos": "positive"}
GENERATED: set[str] = set(FACTORIES)
"""Methods made from schemas: they look for overrides and modes themselves."""


@with_gc_paused
def install() -> None:
    """Put a Pending on Tensor for every operator method and dunder that it does not define itself."""
    groups = methods()
    for name, method in {**FACTORIES, "new_tensor": new_tensor}.items():
        setattr(Tensor, name, method)
    for name, group in groups.items():
        if name not in Tensor.__dict__:
            pending(name, partial(make_method, group))
    for name, function in BINARY.items():
        pending(f"__{name}__", partial(make_dunder, f"__{name}__", groups[function]))
        pending(f"__r{name}__", partial(make_reversed, f"__r{name}__", groups[function]))
        if function + "_" in groups:
            pending(f"__i{name}__", partial(make_dunder, f"__i{name}__", groups[function + "_"]))
    for name in COMPARISONS:
        pending(f"__{name}__", partial(make_dunder, f"__{name}__", groups[name]))
    for name, function in UNARY.items():
        pending(f"__{name}__", partial(make_method, groups[function]))
    GENERATED.update(PENDING)
    for name, converting in CONVERSIONS.items():
        if name not in Tensor.__dict__:
            setattr(Tensor, name, converting)
    Tensor.__new__ = lambda cls, *sizes: legacy_tensor(*sizes)  # type: ignore[assignment]
    Tensor.__hash__ = object.__hash__  # type: ignore[method-assign]
