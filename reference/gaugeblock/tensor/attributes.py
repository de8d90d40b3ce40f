"""The attributes that Tensor has without dispatch: getters, dunders, properties."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import getters, scalars
from .basic_indexing import getitem, setitem
from .changing import change_metadata, metadata_of
from .hooks import SPECIAL, UNRECORDED, hooks, taken
from .printing import formatted, to_text
from .reinterpret import adjoint, imag, is_conj, is_neg, matrix_h, real
from .tensor import Tensor, view_at_same_place
from .versions import INFERENCE, VersionCounter, data_of, kept_counter
from .views import matrix_transpose, numpy_t

PARAMETER = "_is_param"
"""The attribute that marks a tensor as a parameter."""


def reversed_dims(self: Tensor) -> Tensor:
    """``x.T``: all dims in reverse order."""
    if SPECIAL or UNRECORDED or self.meta.has_autograd:
        return _other(self, "T", numpy_t)
    meta = self.meta
    if meta.ndim == 2 and meta.transposed is not None:
        return view_at_same_place(self, meta.transposed)
    return numpy_t(self)


def _other(self: Tensor, name: str, function: Callable[[Tensor], Tensor]) -> Tensor:
    """A view property where the tensor has the Autograd key, a mode is active or views are marked."""
    if SPECIAL or self.meta.has_autograd:
        return hooks.dispatched[name](self)  # type: ignore[no-any-return]
    return taken(self, function(self))  # type: ignore[no-any-return]


def _dispatchable(name: str, function: Callable[[Tensor], Tensor]) -> property:
    def getter(self: Tensor) -> Tensor:
        return _other(self, name, function) if SPECIAL or UNRECORDED or self.meta.has_autograd else function(self)

    getter.__name__ = getter.__qualname__ = name
    getter.__doc__ = function.__doc__
    return property(getter)


def _real(self: Tensor) -> Tensor:
    if SPECIAL or self.meta.dtype.is_complex:
        return _other(self, "real", real)
    return self


_real.__name__ = _real.__qualname__ = "real"
_real.__doc__ = real.__doc__


def _component(name: str, function: Callable[[Tensor], Tensor]) -> property:
    """Return the property of a tensor's real or imaginary part; assigning to it copies into the part."""
    part = _dispatchable(name, function)
    if function is real:
        part = part.getter(_real)

    def setter(self: Tensor, value: Any) -> None:
        if not isinstance(value, (Tensor, int, float, complex)):
            raise TypeError(f"{name}: can't assign a {type(value).__name__} to it, expected a Tensor or a number")
        setitem(getattr(self, name), ..., value)

    return part.setter(setter)


def delete_data(self: Tensor) -> None:
    """Raise RuntimeError: ``del x.data`` is not allowed."""
    raise RuntimeError("data: a tensor's data cannot be deleted; delete the tensor instead")


MEMORY = ("cpu", "cuda")
"""Types of devices whose tensors may take each other's data."""


def can_replace(self: Tensor, value: Tensor) -> bool:
    """Return whether the data of a tensor may become that of another one: both are quantized or neither is, in one
    layout, on devices of one type or with memory."""
    mine, its = self.meta, value.meta
    places = mine.device.type, its.device.type
    together = places[0] == places[1] or (places[0] in MEMORY and places[1] in MEMORY)
    return together and mine.dtype.quantized == its.dtype.quantized and self.layout is value.layout


def set_data(self: Tensor, value: Tensor) -> None:
    """Set ``x.data``: adopt the metadata and storage of `value`; the version does not change.

    Raises TypeError for what is no tensor, RuntimeError for one that `can_replace` refuses, and for one without a
    gradient where gradients are asked for.
    """
    if not isinstance(value, Tensor):
        raise TypeError(f"data: Variable data has to be a tensor, but got {type(value).__name__}")
    dtype = value.meta.dtype
    if not can_replace(self, value):
        raise RuntimeError(
            f"data: a tensor of {dtype} and {value.layout} on {value.meta.device} cannot be the data of one of "
            f"{self.meta.dtype} and {self.layout} on {self.meta.device}"
        )
    if self.requires_grad_flag and not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError(
            f"data: what is set to a tensor that requires gradients must be of a floating point or complex dtype, not "
            f"of {dtype}"
        )
    if value.counter is INFERENCE:
        self.counter = INFERENCE
    else:
        self.counter = VersionCounter() if self.counter is INFERENCE else kept_counter(self)
    change_metadata(self, *metadata_of(value))
    if self.autograd is not None:
        hooks.dispatched["refresh_plain"](self)


def _representation(self: Tensor) -> str:
    return ("Parameter containing:\n" if PARAMETER in self.__dict__ else "") + to_text(self)


METHODS: dict[str, Any] = {
    **getters.METHODS, **scalars.METHODS, "is_conj": is_conj, "is_neg": is_neg, "__getitem__": getitem,
    "__setitem__": setitem, "__repr__": _representation, "__format__": formatted,
}  # fmt: skip

PROPERTIES: dict[str, property] = {
    **{name: property(function) for name, function in getters.PROPERTIES.items()},
    "T": property(reversed_dims),
    "mT": _dispatchable("mT", matrix_transpose),
    "H": _dispatchable("H", matrix_h),
    "mH": _dispatchable("mH", adjoint),
    "real": _component("real", real),
    "imag": _component("imag", imag),
    "data": property(data_of, set_data, delete_data),
}

for _name, _method in METHODS.items():
    setattr(Tensor, _name, _method)
    if hasattr(_method, "__code__") and _name.startswith("__"):
        _method.__name__, _method.__qualname__ = _name, f"Tensor.{_name}"
for _name, _property in PROPERTIES.items():
    setattr(Tensor, _name, _property)
