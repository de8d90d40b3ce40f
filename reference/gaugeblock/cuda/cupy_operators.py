"""Reductions, products and sorting through CuPy, on arrays over our memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from ..core.dtype import bfloat16
from ..tensor.geometry import Geometry
from ..tensor.tensor import Tensor
from .current_stream import current_handle

Run = Callable[..., Any]


def array_over(cupy: Any, tensor: Tensor) -> Any:
    """A CuPy array over a tensor's memory, with its strides; it keeps nothing alive."""
    geometry = tensor.geometry
    storage = tensor.storage
    memory = cupy.cuda.UnownedMemory(storage.pointer, storage.nbytes, None, geometry.device.index)
    pointer = cupy.cuda.MemoryPointer(memory, tensor.pointer - storage.pointer)
    return cupy.ndarray(geometry.sizes, geometry.dtype.numpy, pointer, geometry.byte_strides)


def _axes(dim: Any, ndim: int) -> Any:
    """Dims as CuPy takes them: None for all of them."""
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return None
    return tuple(one % max(ndim, 1) for one in dim) if isinstance(dim, (tuple, list)) else dim % max(ndim, 1)


def _reduction(function: str, *, typed: bool) -> Run:
    def run(
        cupy: Any, out: Geometry, self: Any, dim: Any = None, keepdim: bool = False, **options: Any
    ) -> Any:  # fmt: skip
        more = {"dtype": out.dtype.numpy} if typed else {}
        return getattr(cupy, function)(self, axis=_axes(dim, self.ndim), keepdims=keepdim, **more)

    return run


def _scan(function: str) -> Run:
    def run(cupy: Any, out: Geometry, self: Any, dim: int, **options: Any) -> Any:
        return getattr(cupy, function)(self, axis=_axes(dim, self.ndim), dtype=out.dtype.numpy)

    return run


def _product(function: str) -> Run:
    def run(cupy: Any, out: Geometry, self: Any, other: Any) -> Any:
        return getattr(cupy, function)(self, other)

    return run


CUPY: dict[str, Run] = {
    "sum": _reduction("sum", typed=True),
    "sum.dim_IntList": _reduction("sum", typed=True),
    "prod": _reduction("prod", typed=True),
    "prod.dim_int": _reduction("prod", typed=True),
    "mean": _reduction("mean", typed=True),
    "mean.dim": _reduction("mean", typed=True),
    "amax": _reduction("amax", typed=False),
    "amin": _reduction("amin", typed=False),
    "max": _reduction("max", typed=False),
    "min": _reduction("min", typed=False),
    "all": _reduction("all", typed=False),
    "any": _reduction("any", typed=False),
    "cumsum": _scan("cumsum"),
    "cumprod": _scan("cumprod"),
    "mm": _product("matmul"),
    "bmm": _product("matmul"),
    "mv": _product("matmul"),
    "dot": _product("matmul"),
    "matmul": _product("matmul"),
}
"""Operator -> what CuPy computes of its arguments as arrays, given the geometry of the result."""


def _takes(tensors: list[Tensor]) -> bool:
    return all(not one.geometry.lazy and one.geometry.dtype is not bfloat16 for one in tensors)


def run_cupy(name: str, index: int, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Tensor) -> None:
    """Compute `name` into `result`, in the order of the current stream. Raises ImportError without CuPy."""
    cupy = import_module("cupy")
    handle = current_handle(index)
    with cupy.cuda.Device(index), cupy.cuda.ExternalStream(handle, index) if handle else cupy.cuda.Stream.null:
        given = [array_over(cupy, one) if isinstance(one, Tensor) else one for one in args]
        options = {key: value for key, value in kwargs.items() if key != "dtype"}
        array_over(cupy, result)[...] = CUPY[name](cupy, result.geometry, *given, **options)
