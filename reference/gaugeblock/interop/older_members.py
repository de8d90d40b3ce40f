"""Members that programs written for older releases of PyTorch ask a tensor for: type, new, apply_, map_, map2_."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..core.dtype import BY_NAME, DType
from ..core.errors import type_error
from ..core.promotion import UPSTREAM_NAMES
from ..core.size import Size
from ..operators.arguments import sizes_argument
from ..operators.invoke import apply
from ..operators.tensor_data import tensor as tensor_of
from ..tensor.tensor import Tensor

CLASSES = {f"{shown}Tensor": BY_NAME[name] for name, shown in UPSTREAM_NAMES.items()}
"""Name of the class that older releases had for a dtype -> the dtype."""
_SHOWN = {dtype: name for name, dtype in CLASSES.items()}
PREFIXES = ("gaugeblock.", "torch.", "")


def type_of(self: Tensor, dtype: DType | str | None = None, non_blocking: bool = False) -> Any:
    """Without `dtype` the name of the tensor's class, such as "gaugeblock.FloatTensor"; else the tensor in that dtype,
    which may be given by such a name, with "cuda." in it for the tensor on that device.

    Raises ValueError for a name that is none, TypeError for another argument.
    """
    device = self.meta.device
    if dtype is None:
        place = "" if device.type == "cpu" else f"{device.type}."
        known = _SHOWN.get(self.meta.dtype) or f"quantized.{self.meta.dtype.upstream}Tensor"  # type: ignore[attr-defined]
        return f"gaugeblock.{place}{known}"
    to: Any = self.to  # type: ignore[attr-defined]
    if isinstance(dtype, DType):
        return to(dtype, non_blocking=non_blocking)
    dtype = getattr(dtype, "__name__", dtype)
    if not isinstance(dtype, str):
        type_error("type", "dtype", dtype, "dtype or str")
    prefix = next(start for start in PREFIXES if dtype.startswith(start))
    place, _, name = dtype.removeprefix(prefix).rpartition(".")
    if name not in CLASSES or place not in ("", "cuda"):
        raise ValueError(f"type(): invalid type {dtype!r}, expected a name such as 'gaugeblock.FloatTensor'")
    where = device if place == device.type else place or "cpu"
    return to(where, CLASSES[name], non_blocking=non_blocking)


def new(self: Tensor, *args: Any, device: Any = None) -> Tensor:
    """A tensor of this dtype, on this device unless another is given: empty with the sizes given one by one or as a
    Size, or with the elements of a sequence; of a tensor of this dtype another handle. Raises TypeError."""
    return made_of("new", args, self.meta.dtype, self.meta.device if device is None else device)


def made_of(operator: str, args: tuple[Any, ...], dtype: DType, device: Any) -> Tensor:
    """Return a tensor of `dtype` from sizes, given one by one or as a Size, a sequence, or a tensor of that dtype.
    Raises TypeError."""
    first = args[0] if len(args) == 1 else None
    if isinstance(first, Tensor):
        if first.meta.dtype is not dtype:
            raise TypeError(f"{operator}(): expected {dtype} (got {first.meta.dtype})")
        return first.view_as(first)  # type: ignore[attr-defined, no-any-return]
    if isinstance(first, str):
        raise TypeError(f"{operator}(): invalid data type 'str'")
    if isinstance(first, Iterable) and not isinstance(first, Size):
        return tensor_of(first, dtype=dtype, device=device)
    return apply("empty.memory_format", sizes_argument(operator, args or (0,)), dtype=dtype, device=device)


def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Put what the function gives for each element in its place. For the CPU alone, and slow. Raises TypeError."""
    return _written("apply_", self, (), callable)


def map_(self: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Put what the function gives for each element and the tensor's, which is broadcast, in its place."""
    return _written("map_", self, (tensor,), callable)


def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
    """Put what the function gives for each element and those of two tensors, which are broadcast, in its place."""
    return _written("map2_", self, (x, y), callable)


def _written(operator: str, self: Tensor, others: tuple[Tensor, ...], function: Callable[..., Any]) -> Tensor:
    if not callable(function):
        type_error(operator, "callable", function, "a function of one element of each tensor")
    for name, one in zip(("self", "tensor", "y"), (self, *others), strict=False):
        if not isinstance(one, Tensor):
            type_error(operator, name, one, "Tensor")
        if one.meta.device.type != "cpu":
            raise TypeError(f"{operator}(): {name} is on {one.meta.device}; only tensors on the CPU are supported")
        if one.requires_grad:  # type: ignore[attr-defined]
            raise TypeError(
                f"{operator}(): {name} requires grad; use var.detach().{operator}() on what takes no part in autograd"
            )
    sizes = self.meta.sizes
    given = [one.expand(sizes).reshape(-1).tolist() for one in (self, *others)]  # type: ignore[attr-defined]
    made = [function(*elements) for elements in zip(*given, strict=True)]
    self.copy_(tensor_of(made, dtype=self.meta.dtype).reshape(sizes))  # type: ignore[attr-defined]
    return self


def typed(self: Tensor) -> Any:
    """Return the tensor's storage as a TypedStorage."""
    from .typed_storage import TypedStorage

    return TypedStorage.of(self.storage_impl, self.meta.dtype)


def dim_order(self: Tensor) -> tuple[int, ...]:
    """The dims from the one with the largest stride to the one with the smallest; equal ones as they come."""
    strides = self.meta.strides
    return tuple(sorted(range(self.meta.ndim), key=lambda dim: -strides[dim]))


def reversed_rows(self: Tensor) -> Tensor:
    """``reversed(x)``: flipped along dim 0; a tensor without dims itself."""
    return self.flip(0) if self.meta.ndim else self  # type: ignore[attr-defined]


def wrapped(self: Tensor, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
    """Return what NumPy's functions give for tensors: a tensor on the memory of their result."""
    from .numpy import from_numpy

    return from_numpy(array)


METHODS: dict[str, Any] = {
    "type": type_of, "new": new, "apply_": apply_, "map_": map_, "map2_": map2_, "dim_order": dim_order,
    "storage": typed, "_typed_storage": typed, "__reversed__": reversed_rows, "__array_wrap__": wrapped,
}  # fmt: skip
NEVER = "is_sparse is_sparse_csr is_mkldnn is_nested".split()
"""Layouts that a strided tensor does not have."""
PROPERTIES = {name: property(lambda self: False, doc="False: the tensor is strided.") for name in NEVER}

for _name, _member in {**METHODS, **PROPERTIES}.items():
    setattr(Tensor, _name, _member)
