"""FloatTensor, LongTensor and the other legacy per-dtype classes of PyTorch."""

from __future__ import annotations

from typing import Any

from ..core.dtype import BY_NAME, DType, set_default_dtype
from ..core.promotion import UPSTREAM_NAMES
from ..core.warn import warn
from ..memory.untyped import UntypedStorage
from ..operators.arguments import sizes_argument
from ..operators.invoke import apply
from ..operators.tensor_data import tensor
from ..tensor.tensor import Tensor
from .older_members import CLASSES
from .typed_storage import TypedStorage

NAMES = tuple(
    name for name in CLASSES if name.startswith(("Byte", "Char", "Short", "Int", "Long", "Half", "BFloat", "Float",
                                                 "Double", "Bool")) and "_" not in name and "8" not in name
)  # fmt: skip
"""Names of the legacy tensor classes."""


class tensortype(type):
    """Metaclass of legacy tensor classes: their instances are the CPU tensors of the dtype."""

    dtype: DType
    is_cuda = False
    is_sparse = False

    def __instancecheck__(cls, instance: object) -> bool:
        if not isinstance(instance, Tensor):
            return False
        return instance.meta.dtype is cls.dtype and instance.meta.device.type == "cpu"

    def __repr__(cls) -> str:
        return f"<class 'gaugeblock.{cls.__name__}'>"

    def __call__(cls, *args: Any, device: Any = None) -> Any:
        return make(cls.__name__, cls.dtype, args, device)


def make(name: str, dtype: DType, args: tuple[Any, ...], device: Any) -> Any:
    """Return a tensor of `dtype` from sizes (one by one or as a Size), a sequence, a tensor or a storage.

    Raises TypeError for a tensor of another dtype, and for data that is not a sequence.
    """
    first = args[0] if len(args) == 1 else None
    if isinstance(first, Tensor):
        if first.meta.dtype is not dtype:
            raise TypeError(f"{name}(): expected a tensor of {dtype}, got {first.meta.dtype}")
        return first.detach()  # type: ignore[attr-defined]
    if isinstance(first, (TypedStorage, UntypedStorage)):
        return apply("empty.memory_format", (0,), dtype=dtype).set_(first)  # type: ignore[attr-defined]
    if first is not None and type(first).__name__ != "Size":
        if isinstance(first, (str, float, complex, bool)):
            raise TypeError(f"{name}(): data must be a sequence or sizes, got {type(first).__name__}")
        if hasattr(type(first), "__len__"):
            return tensor(first, dtype=dtype, device=device)
    return apply("empty.memory_format", sizes_argument(name, args or (0,)), dtype=dtype, device=device)


def legacy_class(name: str) -> Any:
    """Return the legacy tensor class called `name`, such as FloatTensor."""
    made = tensortype(name, (), {"__module__": "gaugeblock"})
    made.dtype = CLASSES[name]
    return made


STORAGES = {f"{UPSTREAM_NAMES[name]}Storage": dtype for name, dtype in BY_NAME.items() if name in UPSTREAM_NAMES}


class storagetype(type):
    """Metaclass of storage classes: their instances are the TypedStorages of the dtype."""

    dtype: DType

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, TypedStorage) and instance.dtype is cls.dtype

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return TypedStorage(*args, dtype=cls.dtype, **kwargs)


def storage_class(name: str) -> Any:
    """Return the storage class called `name`, such as FloatStorage."""
    made = storagetype(name, (), {"__module__": "gaugeblock"})
    made.dtype = STORAGES[name]
    return made


def set_default_tensor_type(t: Any) -> None:
    """Set the default dtype by a legacy class or its name. Deprecated in favour of set_default_dtype.

    Raises TypeError for a dtype that is not floating. Source: torch.set_default_tensor_type.
    """
    warn("set_default_tensor_type() is deprecated; use set_default_dtype() and set_default_device()")
    name = t.rpartition(".")[2] if isinstance(t, str) else getattr(t, "__name__", "")
    if name not in CLASSES or not CLASSES[name].is_floating_point:
        raise TypeError(f"set_default_tensor_type(): only floating-point types can be the default type, got {t}")
    set_default_dtype(CLASSES[name])
