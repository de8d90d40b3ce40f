"""Putting the bindings on Tensor: each is made when it is first used, until then a short stand-in is there."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from ..core.fork_safety import fork_safe
from ..core.resting import without_collecting
from ..operators.conversion import METHODS as CONVERSIONS
from ..operators.device_methods import METHODS as DEVICE_METHODS
from ..operators.tensor_data import legacy_tensor, new_tensor
from ..tensor.tensor import Tensor
from . import dispatched as _dispatched  # noqa: F401
from .build import make_dunder, make_method, make_reversed
from .dunders import BINARY, COMPARISONS, UNARY
from .factories import METHODS as FACTORIES
from .groups import methods

PENDING: dict[str, Callable[[], Any]] = {}
"""Methods that are not made yet, with what makes them."""
GENERATED: set[str] = set(FACTORIES)
"""Methods made from schemas: they look for overrides and modes themselves."""


@without_collecting
def install() -> None:
    """Add a stand-in for every operator method and dunder that Tensor does not define itself."""
    groups = methods()
    for name, method in {**FACTORIES, "new_tensor": new_tensor}.items():
        setattr(Tensor, name, method)
    for name, group in groups.items():
        if name not in Tensor.__dict__:
            _pending(name, partial(make_method, group))
    for name, function in BINARY.items():
        _pending(f"__{name}__", partial(make_dunder, f"__{name}__", groups[function]))
        _pending(f"__r{name}__", partial(make_reversed, f"__r{name}__", groups[function]))
        if function + "_" in groups:
            _pending(f"__i{name}__", partial(make_dunder, f"__i{name}__", groups[function + "_"]))
    for name in COMPARISONS:
        _pending(f"__{name}__", partial(make_dunder, f"__{name}__", groups[name]))
    for name, function in UNARY.items():
        _pending(f"__{name}__", partial(make_method, groups[function]))
    for name, conversion in {**CONVERSIONS, **DEVICE_METHODS}.items():
        if name not in Tensor.__dict__:
            setattr(Tensor, name, conversion)
    Tensor.__new__ = _construct  # type: ignore[assignment]
    Tensor.__hash__ = object.__hash__  # type: ignore[method-assign]


def _construct(cls: type[Tensor], *sizes: Any) -> Tensor:
    return legacy_tensor(*sizes)


class Pending:
    """Stands on Tensor for a method that is not made yet: looking at it makes it, and puts it in this place."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, tensor: Tensor | None, owner: type) -> Any:
        made = method(self.name)
        return made if tensor is None else made.__get__(tensor, owner)


def _pending(name: str, make: Callable[[], Any]) -> None:
    PENDING[name] = make
    GENERATED.add(name)
    setattr(Tensor, name, Pending(name))


def method(name: str) -> Any:
    """The finished method, made now if it is still pending; KeyError when Tensor has none of that name."""
    with _MAKING:
        make = PENDING.get(name)
        if make is not None:
            setattr(Tensor, name, make())
            del PENDING[name]
    return Tensor.__dict__[name]


_MAKING = fork_safe(threading.RLock())
"""Held while a method is created."""
