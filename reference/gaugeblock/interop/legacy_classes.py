"""FloatTensor, LongTensor and the other legacy per-dtype classes of PyTorch."""

from __future__ import annotations

from typing import Any

from ..core.dtype import BY_NAME, DType, set_default_dtype
from ..core.promotion import UPSTREAM_NAMES
from ..core.warn import warn
from ..memory.untyped import UntypedStorage
from ..tensor.tensor import Tensor
from .older_members import CLASSES, made_of
from .typed_storage import TypedStorage

STORAGES = {f"{UPSTREAM_NAMES[name]}Storage": dtype for name, dtype in BY_NAME.items() if name in UPSTREAM_NAMES}


class tensortype(type):
    """Metaclass of legacy tensor classes: their instances are the CPU tensors of the dtype."""

    dtype: DType
    is_cuda = False
    is_sparse = False

    def __instancecheck__(cls, instance: object) -> bool:
        meta = instance.meta if isinstance(instance, Tensor) else None
        return meta is not None and meta.dtype is cls.dtype and meta.device.type == "cpu"

    def __repr__(cls) -> str:
        return f"<class 'gaugeblock.{cls.__name__}'>"

    def __call__(cls, *args: Any, device: Any = None) -> Any:
        if len(args) == 1 and isinstance(args[0], (TypedStorage, UntypedStorage)):
            return made_of(cls.__name__, (), cls.dtype, None).set_(args[0])  # type: ignore[attr-defined]
        return made_of(cls.__name__, args, cls.dtype, device)


class storagetype(type):
    """Metaclass of storage classes: their instances are the TypedStorages of the dtype."""

    dtype: DType

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, TypedStorage) and instance.dtype is cls.dtype

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return TypedStorage(*args, dtype=cls.dtype, **kwargs)


def legacy_class(name: str) -> Any:
    """Return the legacy class called `name`, such as FloatTensor or FloatStorage. Raise AttributeError for no such."""
    kind, known = (tensortype, CLASSES) if name.endswith("Tensor") else (storagetype, STORAGES)
    if name not in known:
        raise AttributeError(f"module 'gaugeblock' has no attribute {name!r}")
    made = kind(name, (), {"__module__": "gaugeblock"})
    made.dtype = known[name]
    return made


def set_default_tensor_type(t: Any) -> None:
    """Set the default dtype by a legacy class or its name. Deprecated in favour of set_default_dtype. Raises TypeError
    for a dtype that is not floating. Source: torch.set_default_tensor_type."""
    warn("set_default_tensor_type() is deprecated; use set_default_dtype() and set_default_device()")
    name = t.rpartition(".")[2] if isinstance(t, str) else getattr(t, "__name__", "")
    if name not in CLASSES or not CLASSES[name].is_floating_point:
        raise TypeError(f"set_default_tensor_type(): only floating-point types can be the default type, got {t}")
    set_default_dtype(CLASSES[name])
