"""The attributes that Tensor has without dispatch: getters, dunders, properties, and view methods taking sizes
apart."""

from __future__ import annotations

from typing import Any

from ..core.dtype import DType
from ..memory.storage import new_object
from . import getters, metadata, scalars
from .basic_indexing import getitem, setitem
from .geometry import remember
from .metadata import resize_
from .printing import formatted, to_text
from .refresh import refresh_pointer
from .reinterpret import adjoint, imag, is_conj, is_neg, matrix_h, real, view_dtype
from .reshaping import view
from .tensor import Tensor
from .versions import data_of
from .views import expand, matrix_transpose, numpy_t, t, transpose


def sizes_from(operator: str, argument: str, sizes: tuple[Any, ...]) -> Any:
    """The sizes of ``f(2, 3)`` or ``f((2, 3))``. Raises TypeError for none."""
    if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)):
        return sizes[0]
    if not sizes:
        raise TypeError(f'{operator}() missing 1 required positional arguments: "{argument}"')
    return sizes


def expand_method(self: Tensor, *size: Any, implicit: bool = False) -> Tensor:
    """expand with the sizes one by one or as one sequence."""
    try:
        other = self.geometry.views.get(size)
    except TypeError:
        other = None
    if other is None:
        sizes = sizes_from("expand", "size", size)
        result = expand(self, sizes)
        if sizes is size:
            remember(self.geometry.views, size, result.geometry)
        return result
    result = new_object(Tensor)
    result.geometry = other
    result.storage = self.storage
    result.offset = self.offset
    result.pointer = self.pointer
    base = self.base
    result.base = self if base is None else base
    result.counter = self.counter
    result.autograd = None
    result.requires_grad_flag = False
    return result


def view_method(self: Tensor, *size: Any, dtype: DType | None = None) -> Tensor:
    """view with the sizes one by one or as one sequence, or with a dtype."""
    if dtype is not None or (len(size) == 1 and isinstance(size[0], DType)):
        return view_dtype(self, size[0] if dtype is None else dtype)
    return view(self, sizes_from("view", "size", size))


def resize_method(self: Tensor, *size: Any, memory_format: Any = None) -> Tensor:
    """resize_ with the sizes one by one or as one sequence."""
    return resize_(self, sizes_from("resize_", "size", size), memory_format)


def set_data(self: Tensor, value: Tensor) -> None:
    """``x.data = value``: take over the value's metadata and storage, without counting a change."""
    if value.geometry.dtype is not self.geometry.dtype:
        raise RuntimeError(f"data: a tensor of {value.geometry.dtype} cannot serve a tensor of {self.geometry.dtype}")
    self.storage = value.storage
    self.geometry = value.geometry
    self.offset = value.offset
    refresh_pointer(self)


def set_requires_grad_flag(self: Tensor, value: bool) -> None:
    """``x.requires_grad = value``."""
    getters.set_requires_grad(self, value)


def _representation(self: Tensor) -> str:
    return to_text(self)


METHODS: dict[str, Any] = {
    **getters.METHODS,
    **scalars.METHODS,
    "detach": metadata.detach,
    "resize_": resize_method,
    "expand": expand_method,
    "view": view_method,
    "t": t,
    "transpose": transpose,
    "is_conj": is_conj,
    "is_neg": is_neg,
    "__getitem__": getitem,
    "__setitem__": setitem,
    "__repr__": _representation,
    "__format__": formatted,
}

PROPERTIES: dict[str, property] = {
    **{name: property(function) for name, function in getters.PROPERTIES.items()},
    "T": property(numpy_t),
    "mT": property(matrix_transpose),
    "H": property(matrix_h),
    "mH": property(adjoint),
    "real": property(real),
    "imag": property(imag),
    "data": property(data_of, set_data),
    "requires_grad": property(getters.requires_grad, set_requires_grad_flag),
}

for _name, _method in METHODS.items():
    setattr(Tensor, _name, _method)
for _name, _property in PROPERTIES.items():
    setattr(Tensor, _name, _property)
