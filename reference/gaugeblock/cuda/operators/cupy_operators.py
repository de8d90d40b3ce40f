"""Reductions, products, scans and sorting through CuPy, on arrays over our memory.

The results go into tensors of ours, so that their memory is the caching allocator's, and so is what CuPy needs in
between: CuPy's own pool, which could not have what ours keeps for later, stays empty.

CuPy's kernels take subnormal float32 numbers for zero, average halves in halves, and take the bytes of bools for
numbers. So all but products go through float64, complex128 and uint8, into which our own kernels convert exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from ...core.device import Device
from ...core.dtype import DType, bfloat16, bool_, complex32, complex64, complex128, float16, float32, float64, uint8
from ...memory.storage import allocate_storage
from ...operators.copy import copy_values
from ...operators.rows import rows
from ...tensor.tensor import Tensor, new_like
from ...tensor.tensor_meta import TensorMeta, contiguous_meta
from ..devices import current_handle

Run = Callable[..., Any]


def array_over(cupy: Any, tensor: Tensor) -> Any:
    """A CuPy array over a tensor's memory, with its strides; it keeps nothing alive."""
    meta = tensor.meta
    storage = tensor.storage_impl
    memory = cupy.cuda.UnownedMemory(storage.pointer, storage.nbytes, None, meta.device.index)
    pointer = cupy.cuda.MemoryPointer(memory, tensor.pointer - storage.pointer)
    return cupy.ndarray(meta.sizes, meta.dtype.numpy, pointer, meta.byte_strides)


def memory_for(cupy: Any, device: Device) -> Callable[[int], Any]:
    """An allocator as CuPy wants them: blocks of the device's caching allocator, freed with CuPy's last pointer."""

    def allocate(size: int) -> Any:
        storage = allocate_storage(size, device)
        return cupy.cuda.MemoryPointer(cupy.cuda.UnownedMemory(storage.pointer, size, storage, device.index), 0)

    return allocate


def _axes(dim: Any, ndim: int) -> Any:
    """Dims as CuPy takes them: None for all of them."""
    if dim is None or (isinstance(dim, (tuple, list)) and not dim) or not ndim:
        return None
    return tuple(one % ndim for one in dim) if isinstance(dim, (tuple, list)) else dim % ndim


def _reduction(function: str, *, typed: bool) -> Run:
    def run(cupy: Any, out: TensorMeta, self: Any, dim: Any = None, keepdim: bool = False) -> Any:
        more = {"dtype": out.dtype.numpy} if typed else {}
        return getattr(cupy, function)(self, axis=_axes(dim, self.ndim), keepdims=keepdim, **more)

    return run


def _scan(function: str) -> Run:
    def run(cupy: Any, out: TensorMeta, self: Any, dim: int) -> Any:
        return getattr(cupy, function)(self, axis=_axes(dim, self.ndim), dtype=out.dtype.numpy)

    return run


def _order(cupy: Any, self: Any, dim: int, descending: bool) -> Any:
    """Return where the elements come from in order, equal ones as they stand; NaN is the largest."""
    axis = dim % self.ndim
    if not descending:
        return cupy.argsort(self, axis=axis)
    return self.shape[axis] - 1 - cupy.flip(cupy.argsort(cupy.flip(self, axis), axis=axis), axis)


def _sort(cupy: Any, out: TensorMeta, self: Any, dim: int = -1, descending: bool = False) -> Any:
    order = _order(cupy, self, dim, descending)
    return cupy.take_along_axis(self, order, dim % self.ndim), order


PRODUCTS = ("mm", "bmm", "mv", "dot", "matmul")
CUPY: dict[str, Run] = {
    **{name: _reduction(name.partition(".")[0], typed=True)
       for name in ("sum", "sum.dim_IntList", "prod", "prod.dim_int", "mean", "mean.dim")},
    **{name: _reduction(name.partition(".")[0], typed=False)
       for name in ("amax", "amin", "max", "min", "all", "any", "all.dim", "any.dim")},
    "cumsum": _scan("cumsum"), "cumprod": _scan("cumprod"),
    **dict.fromkeys(PRODUCTS, lambda cupy, out, self, other: cupy.matmul(self, other)),
    "sort": _sort, "argsort": lambda cupy, out, self, dim=-1, descending=False: _order(cupy, self, dim, descending),
}  # fmt: skip
"""Operator -> what CuPy computes of its arguments as arrays, given the meta of the (first) result."""
NOT_FOR_NUMBERS = frozenset({"cumsum", "cumprod", "sort", "argsort"})
"""Operators whose 0-dim tensors are left to the CPU."""
WIDER: dict[DType, DType] = {
    bool_: uint8, float16: float64, bfloat16: float64, float32: float64, complex32: complex128,
    complex64: complex128,
}  # fmt: skip
"""Dtype -> the one that CuPy computes in instead."""
WIDER_IN_PRODUCTS: dict[DType, DType] = {bfloat16: float32}


OUT_FORMS = {rows()[name].out_name: name for name in CUPY if name != "sort" and name in rows()}
"""Operator with out= -> the one without."""


def takes(name: str, tensors: list[Tensor], kwargs: Mapping[str, Any]) -> bool:
    """Return True if CuPy can run `name` on these tensors: they are not empty, and only dtype= and out= are given."""
    out = kwargs.get("out") if name in OUT_FORMS else None
    if (out is None and name not in CUPY) or not set(kwargs) <= {"dtype", "out"}:
        return False
    numbers = OUT_FORMS.get(name, name) not in NOT_FOR_NUMBERS
    for one in tensors:
        meta = one.meta
        if one is not out and not (meta.numel and (meta.ndim or numbers)):
            return False
    return True


def run_cupy(name: str, index: int, args: tuple[Any, ...], results: list[Tensor]) -> None:
    """Compute `name` into `results`, in the order of the current stream. Raises ImportError without CuPy,
    OutOfMemoryError, and what CuPy raises, such as for a library that it misses."""
    cupy = import_module("cupy")
    base = OUT_FORMS.get(name, name)
    wider = WIDER_IN_PRODUCTS if base in PRODUCTS else WIDER
    operands = [_filled(one, wider) if isinstance(one, Tensor) else one for one in args]
    targets = [_widened(one, wider) for one in results]
    handle = current_handle(index)
    stream = cupy.cuda.ExternalStream(handle, index) if handle else cupy.cuda.Stream.null
    memory = memory_for(cupy, results[0].meta.device)
    with cupy.cuda.Device(index), stream, cupy.cuda.using_allocator(memory):
        given = [array_over(cupy, one) if isinstance(one, Tensor) else one for one in operands]
        found = CUPY[base](cupy, targets[0].meta, *given)
        for target, value in zip(targets, found if isinstance(found, tuple) else (found,), strict=True):
            array_over(cupy, target)[...] = value
    for result, target in zip(results, targets, strict=True):
        if target is not result:
            copy_values(result, target)


def _widened(tensor: Tensor, wider: Mapping[DType, DType]) -> Tensor:
    """`tensor`, or a fresh one of its sizes for CuPy, which knows neither lazy elements nor all of our dtypes."""
    meta = tensor.meta
    dtype = wider.get(meta.dtype, meta.dtype)
    if dtype is meta.dtype and not meta.lazy:
        return tensor
    return new_like(contiguous_meta(meta.sizes, dtype, meta.device))


def _filled(tensor: Tensor, wider: Mapping[DType, DType]) -> Tensor:
    """`tensor`, or a fresh one for CuPy with its elements."""
    made = _widened(tensor, wider)
    if made is not tensor:
        copy_values(made, tensor)
    return made
