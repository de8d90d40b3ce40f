"""Methods and properties that usually go straight to the work, in the form that goes through the dispatcher.

They serve while a mode, an override or a guard is active, tensors on devices from outside, and Tensor subclasses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..core.dtype import BY_NAME, DType
from ..core.memory_format import MemoryFormat, preserve_format
from ..dispatch.dispatcher import REGISTRY, call, call_on
from ..operators.conversion import LOCAL_SCALAR, METHOD_DTYPES, host
from ..operators.invoke import apply, apply_for_many
from ..tensor import views
from ..tensor.hooks import hooks
from ..tensor.reinterpret import adjoint, matrix_h
from ..tensor.tensor import Tensor
from .dispatched_indexing import foreign_getitem, foreign_setitem, getitem, setitem

Method = Callable[..., Any]


def through(name: str) -> Method:
    """The operator `name` as a method that takes the schema's positional arguments."""

    def method(self: Tensor, *args: Any) -> Any:
        return apply(name, self, *args)

    method.__name__ = method.__qualname__ = name.partition(".")[0]
    return method


def item(self: Tensor) -> Any:
    """The only element as a Python number. Raises RuntimeError unless there is exactly one."""
    if self.meta.numel != 1:
        raise RuntimeError(f"a Tensor with {self.meta.numel} elements cannot be converted to Scalar")
    return call_on(LOCAL_SCALAR, self)


def iterate(self: Tensor) -> Iterator[Any]:
    """Views of dim 0, in order. Raises TypeError for a 0-dim tensor."""
    if not self.meta.ndim:
        raise TypeError("iteration over a 0-d tensor")
    return iter(apply_for_many("unbind.int", self, 0))


def reversed_dims(self: Tensor) -> Any:
    """``x.T``: all dims in reverse order."""
    return apply("permute", self, tuple(range(self.meta.ndim))[::-1])


def matrix_transpose(self: Tensor) -> Any:
    """``x.mT``: the last two dims swapped. Raises RuntimeError for one dim."""
    return apply("transpose.int", self, -2, -1) if self.meta.ndim > 1 else views.matrix_transpose(self)


def conjugate_transpose(check: Method) -> Method:
    """The method that swaps the last two dims and conjugates; what has other dims is left to `check`."""

    def method(self: Tensor) -> Any:
        if self.meta.ndim < 2 or (check is matrix_h and self.meta.ndim > 2):
            return check(self)
        swapped = apply("transpose.int", self, -2, -1)
        return apply("conj", swapped) if self.meta.dtype.is_complex else swapped

    return method


def converting(dtype: DType) -> Method:
    """The method that converts to one dtype."""

    def convert(self: Tensor, memory_format: MemoryFormat = preserve_format) -> Any:
        chosen = None if memory_format is preserve_format else memory_format
        return call(TO_DTYPE, self, dtype, False, False, chosen)

    return convert


TO_DTYPE = REGISTRY.find("to.dtype")

METHODS: dict[str, Method] = {
    "__getitem__": getitem, "__setitem__": setitem, "__iter__": iterate, "item": item,
    **{name: converting(BY_NAME[dtype]) for name, dtype in METHOD_DTYPES.items()},
}  # fmt: skip
PROPERTIES: dict[str, Method] = {
    "T": reversed_dims, "mT": matrix_transpose, "H": conjugate_transpose(matrix_h),
    "mH": conjugate_transpose(adjoint), "real": through("real"), "imag": through("imag"),
}  # fmt: skip

hooks.dispatched.update(METHODS)
hooks.dispatched.update(PROPERTIES)
hooks.dispatched.update({"host": host, "foreign __getitem__": foreign_getitem, "foreign __setitem__": foreign_setitem})
