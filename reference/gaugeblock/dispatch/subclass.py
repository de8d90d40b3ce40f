"""Subclasses of Tensor: data under another class, and wrappers that have keys and metadata but no data of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, TypeVar

from ..core.device import Device, cpu, named_device
from ..core.dtype import DEFAULTS, DType
from ..core.errors import check_int, check_ints, check_sizes, type_error
from ..core.layout import Layout, strided
from ..memory.storage import check_nbytes, dataless_storage
from ..tensor.changing import subclass_pointer
from ..tensor.getters import set_requires_grad
from ..tensor.tensor import INITIAL, Tensor, tensor_object
from ..tensor.tensor_meta import default_strides, extent, meta_of, without_autograd
from .dispatcher import REGISTRY, call
from .guards import DisableTorchFunctionSubclass
from .keys import map_tensors
from .modes import MODE_KEYS
from .overrides import NOT_WRAPPED, asking, is_asked
from .state import OVERRIDING

T = TypeVar("T", bound=Tensor)
LISTENERS: list[Callable[[type[Tensor]], None]] = []
"""Called with every new subclass."""


def _init_subclass(cls: type[Tensor], /, **options: Any) -> None:
    super(Tensor, cls).__init_subclass__(**options)
    if getattr(cls, "__torch_dispatch__", None) is not None:
        cls.class_keys = MODE_KEYS
    if getattr(cls, "pointer") is Tensor.__dict__["pointer"]:  # noqa: B009
        setattr(cls, "pointer", property(subclass_pointer))  # noqa: B010
    OVERRIDING.append(None)
    for listener in LISTENERS:
        listener(cls)


def as_subclass(self: Tensor, cls: type[T]) -> T:
    """Return a view of the tensor, with its history, as the subclass `cls`. Raise TypeError for any other class."""
    return _under_class(self if self.class_keys else call(REGISTRY.find("view_as"), self, self), cls)


def _check_class(function: str, cls: object) -> None:
    if not isinstance(cls, type) or not issubclass(cls, Tensor):
        raise TypeError(f"{function}(): argument 'cls' must be a subclass of Tensor, got {cls!r}")


def _under_class(self: Tensor, cls: type[T]) -> T:
    """Return a `cls` with the data, metadata, version and autograd state of `self`. Raise TypeError for others."""
    _check_class("as_subclass", cls)
    made = tensor_object(cls, self.meta, self.storage_impl, self.offset)
    for slot in INITIAL:
        setattr(made, slot, getattr(self, slot))
    made._pointer = self.pointer
    return made


def make_subclass(cls: type[T], data: Tensor, require_grad: bool = False) -> T:
    """A leaf of class `cls` over the data of `data`. TypeError for a class that is no subclass of Tensor."""
    if not isinstance(data, Tensor):
        type_error("_make_subclass", "data", data, "Tensor")
    made = _under_class(data, cls)
    made.base = made.autograd = None
    made._meta = without_autograd(data.meta)
    made.requires_grad_flag = False
    set_requires_grad(made, require_grad)
    return made


def make_wrapper_subclass(
    cls: type[T], size: Sequence[int], strides: Sequence[int] | None = None, storage_offset: int | None = None,
    memory_format: Any = None, dtype: DType | None = None, layout: Layout = strided, device: Device | str | None = None,
    pin_memory: bool = False, requires_grad: bool = False,
) -> T:  # fmt: skip
    """A tensor of class `cls` that has this metadata and no data: its ``__torch_dispatch__`` answers every operator.

    Raises TypeError for a class that is no subclass of Tensor, RuntimeError for one without ``__torch_dispatch__``,
    for negative sizes and strides of another length.
    """
    _check_class("_make_wrapper_subclass", cls)
    if not cls.class_keys:
        raise RuntimeError(f"_make_wrapper_subclass(): {cls.__name__} must define __torch_dispatch__ as a class method")
    sizes = check_ints("_make_wrapper_subclass", "size", size)
    check_sizes("_make_wrapper_subclass", sizes)
    steps = default_strides(sizes) if strides is None else check_ints("_make_wrapper_subclass", "strides", strides)
    if len(steps) != len(sizes):
        raise RuntimeError(f"_make_wrapper_subclass(): {len(steps)} strides do not fit {len(sizes)} sizes")
    offset = 0 if storage_offset is None else check_int("_make_wrapper_subclass", "storage_offset", storage_offset)
    kind, place = dtype or DEFAULTS.dtype, cpu if device is None else named_device(device)
    elements = extent(sizes, steps) + offset if prod(sizes) else 0
    nbytes = check_nbytes("_make_wrapper_subclass", elements * kind.itemsize)
    made = tensor_object(cls, meta_of(sizes, steps, kind, place), dataless_storage(nbytes, place), offset)
    made._pointer = 0
    set_requires_grad(made, requires_grad)
    return made


def torch_function(
    cls: type[Tensor], func: Callable[..., Any], types: tuple[type, ...], args: tuple[Any, ...] = (),
    kwargs: Mapping[str, Any] | None = None,
) -> Any:  # fmt: skip
    """Run the call without asking arguments again and give its tensors the class `cls`. NotImplemented when an
    argument's class is not a base of `cls`."""
    if not all(issubclass(cls, kind) for kind in types):
        return NotImplemented
    first = next((one for one in args if isinstance(one, cls)), None)
    if first is not None and is_asked(torch_function, func, first):
        name = getattr(func, "__name__", str(func))
        raise TypeError(
            f"{name}(): got a gaugeblock {cls.__name__}, of which this function of another library knows nothing; hand "
            f"its elements over by DLPack (from_dlpack) or as a NumPy array (numpy())"
        )
    with DisableTorchFunctionSubclass(), asking(torch_function, func, first):
        result = func(*args, **(kwargs or {}))
    if func in NOT_WRAPPED:
        return result
    return map_tensors(lambda one: one if isinstance(one, cls) else _under_class(one, cls), result)


METHODS: dict[str, Any] = {
    "__init_subclass__": classmethod(_init_subclass),
    "_make_subclass": staticmethod(make_subclass),
    "_make_wrapper_subclass": staticmethod(make_wrapper_subclass),
    "as_subclass": as_subclass,
    "__torch_function__": classmethod(torch_function),
}
for _name, _method in METHODS.items():
    setattr(Tensor, _name, _method)
