"""The names in PyTorch's files: dtypes, storages, functions that rebuild tensors, and what they mean here."""

from __future__ import annotations

import collections
from typing import Any

from ..core import device, layout, memory_format, size
from ..core.dtype import ALL_DTYPES, BY_NAME, DType
from ..core.errors import INT64_MAX
from ..core.promotion import UPSTREAM_NAMES
from ..core.quantized_dtype import QUANTIZED_DTYPES, per_channel_affine, per_tensor_affine
from ..memory.storage import Storage, allocate_storage, check_nbytes
from ..memory.untyped import UntypedStorage
from ..tensor.attributes import PARAMETER
from ..tensor.getters import set_requires_grad
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import CONJUGATE, NEGATIVE, extent
from . import copying, quantized_files, sparse_files
from .typed_storage import TypedStorage
from .unpickler import Function, Unpickler

_TYPED = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split()
STORAGE_NAMES: dict[DType, str] = {BY_NAME[name]: f"{UPSTREAM_NAMES[name]}Storage" for name in _TYPED}
STORAGE_NAMES |= {dtype: f"{dtype.upstream}Storage" for dtype in QUANTIZED_DTYPES}
"""dtype -> the storage class in ``torch`` that holds it. Other dtypes are written over UntypedStorage."""

UNTYPED = ("torch.storage", "UntypedStorage")
LAZY_BITS = {"conj": CONJUGATE, "neg": NEGATIVE}

Ints = tuple[int, ...]


class StorageType:
    """A storage class named in a file: its dtype, or None for UntypedStorage."""

    __slots__ = ("dtype",)

    def __init__(self, dtype: DType | None) -> None:
        self.dtype = dtype


def _storage_of(given: Any) -> Storage:
    if not isinstance(given, (TypedStorage, UntypedStorage)):
        raise TypeError(f"a tensor is made of a {type(given).__name__} in place of a storage")
    return given.untyped().storage_impl if isinstance(given, TypedStorage) else given.storage_impl


def _check_integers(what: str, values: Any) -> Ints:
    if type(values) not in (tuple, list, size.Size) or not all(type(value) is int for value in values):
        raise TypeError(f"the {what} of a tensor are {values!r} in place of integers")
    if not all(0 <= value <= INT64_MAX for value in values):
        raise ValueError(f"the {what} of a tensor are {tuple(values)}: they must be from 0 to {INT64_MAX}")
    return tuple(values)


def check_shape(sizes: Any, strides: Any, offset: Any) -> tuple[Ints, Ints, int]:
    """Return sizes, strides and offset of a tensor. Raises TypeError or ValueError for what cannot be those of one."""
    sizes, strides = _check_integers("sizes", sizes), _check_integers("strides", strides)
    (offset,) = _check_integers("offset", (offset,))
    if len(sizes) != len(strides):
        raise ValueError(f"a tensor has sizes {sizes} and strides {strides}")
    return sizes, strides, offset


def check_flag(value: Any) -> bool:
    """Return requires_grad. Raises TypeError unless it is a bool."""
    if type(value) is not bool:
        raise TypeError(f"requires_grad of a tensor is {value!r} in place of a bool")
    return value


def _lazy_bits(metadata: Any) -> int:
    if metadata is None:
        return 0
    if type(metadata) is not dict or not metadata.keys() <= LAZY_BITS.keys():
        raise ValueError(f"a tensor has the bits {metadata!r}, known are {', '.join(LAZY_BITS)}")
    return sum(LAZY_BITS[name] for name, value in metadata.items() if value)


def rebuild(
    storage: Any, offset: Any, sizes: Any, strides: Any, requires_grad: Any, dtype: Any, metadata: Any
) -> Tensor:
    """Return a tensor over `storage`. Raises TypeError, ValueError or RuntimeError unless all members are possible."""
    if not isinstance(dtype, DType) or dtype.quantized:
        raise TypeError(f"the dtype of a tensor is {dtype!r}")
    sizes, strides, offset = check_shape(sizes, strides, offset)
    lazy, flag = _lazy_bits(metadata), check_flag(requires_grad)
    if (lazy and not (dtype.is_complex or dtype.is_floating_point)) or (lazy & CONJUGATE and not dtype.is_complex):
        raise ValueError(f"a tensor of {dtype.name} has the bits {metadata!r}")
    return copying.rebuild_tensor(_storage_of(storage), offset, sizes, strides, dtype, lazy, flag)


def _rebuild_tensor(_: Unpickler, storage: Any, offset: Any, sizes: Any, strides: Any) -> Tensor:
    return rebuild(storage, offset, sizes, strides, False, getattr(storage, "dtype", None), None)


def _rebuild_tensor_v2(
    _: Unpickler, storage: Any, offset: Any, sizes: Any, strides: Any, requires_grad: Any, hooks: Any,
    metadata: Any = None,
) -> Tensor:  # fmt: skip
    return rebuild(storage, offset, sizes, strides, requires_grad, getattr(storage, "dtype", None), metadata)


def _rebuild_tensor_v3(
    _: Unpickler, storage: Any, offset: Any, sizes: Any, strides: Any, requires_grad: Any, hooks: Any, dtype: Any,
    metadata: Any = None,
) -> Tensor:  # fmt: skip
    return rebuild(storage, offset, sizes, strides, requires_grad, dtype, metadata)


def _rebuild_meta_tensor(_: Unpickler, dtype: Any, sizes: Any, strides: Any, requires_grad: Any) -> Tensor:
    sizes, strides, _offset = check_shape(sizes, strides, 0)
    itemsize = dtype.itemsize if isinstance(dtype, DType) else 1
    nbytes = check_nbytes("load", extent(sizes, strides) * itemsize)
    storage = UntypedStorage.of(allocate_storage(nbytes, device.meta_device))
    return rebuild(storage, 0, sizes, strides, requires_grad, dtype, None)


def _rebuild_sparse_tensor(_: Unpickler, layout: Any, data: Any) -> Tensor:
    return sparse_files.rebuild_sparse(layout, data)


def _rebuild_qtensor(
    unpickler: Unpickler, storage: Any, offset: Any, sizes: Any, strides: Any, parameters: Any, requires_grad: Any,
    hooks: Any,
) -> Tensor:  # fmt: skip
    if requires_grad is not False:
        raise TypeError(f"requires_grad of a quantized tensor is {requires_grad!r}")
    sizes, strides, offset = check_shape(sizes, strides, offset)
    dtype, held = getattr(storage, "dtype", None), _storage_of(storage)
    copies = unpickler.copies.setdefault(id(held), [])
    return quantized_files.rebuild_quantized(held, offset, sizes, strides, dtype, parameters, copies)


def _rebuild_parameter(_: Unpickler, data: Any, requires_grad: Any, hooks: Any) -> Tensor:
    if not isinstance(data, Tensor):
        raise TypeError(f"a parameter is made of a {type(data).__name__}")
    set_requires_grad(data, check_flag(requires_grad))
    data.__dict__[PARAMETER] = True
    return data


def _rebuild_parameter_with_state(
    unpickler: Unpickler, data: Any, requires_grad: Any, hooks: Any, state: Any
) -> Tensor:
    return _attributed(unpickler, _rebuild_parameter(unpickler, data, requires_grad, hooks), state)


def _rebuild_from_type(unpickler: Unpickler, function: Any, kind: Any, arguments: Any, state: Any) -> Tensor:
    if type(function) is not Function or function not in _REBUILDERS or type(arguments) is not tuple:
        raise TypeError(f"a tensor is made by {function!r}")
    return _attributed(unpickler, function.call(unpickler, *arguments), state)


def _attributed(unpickler: Unpickler, made: Tensor, state: Any) -> Tensor:
    attributes = state[0] if type(state) is tuple and len(state) == 2 and not state[1] else state
    if type(attributes) is not dict:
        raise TypeError(f"the attributes of a tensor are a {type(attributes).__name__}")
    unpickler.count(len(attributes))
    others = {name: value for name, value in attributes.items() if name != "requires_grad"}
    if len(others) < len(attributes):
        set_requires_grad(made, check_flag(attributes["requires_grad"]))
    copying.restore_attributes(made, others)
    return made


def _encoded(unpickler: Unpickler, text: Any, encoding: Any) -> bytes:
    if type(text) is not str or encoding != "latin1":
        raise TypeError("bytes are made of a text in another encoding than latin1")
    unpickler.count(len(text))
    return text.encode(encoding)


def _layout_named(_: Unpickler, name: Any) -> Any:
    return layout.layout_by_name(str(name).removeprefix("torch."))


def counted(kind: Any) -> Any:
    """Return a function of an unpickler that makes a container of at most one other."""

    def call(unpickler: Unpickler, members: Any = ()) -> Any:
        unpickler.count(len(members))
        return kind(members)

    return call


FUNCTIONS: dict[tuple[str, str], Any] = {
    ("torch._utils", "_rebuild_tensor"): _rebuild_tensor,
    ("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor_v2,
    ("torch._utils", "_rebuild_tensor_v3"): _rebuild_tensor_v3,
    ("torch._utils", "_rebuild_meta_tensor_no_storage"): _rebuild_meta_tensor,
    ("torch._utils", "_rebuild_sparse_tensor"): _rebuild_sparse_tensor,
    ("torch._utils", "_rebuild_qtensor"): _rebuild_qtensor,
    ("torch._utils", "_rebuild_parameter"): _rebuild_parameter,
    ("torch._utils", "_rebuild_parameter_with_state"): _rebuild_parameter_with_state,
    ("torch._tensor", "_rebuild_from_type_v2"): _rebuild_from_type,
    ("torch.serialization", "_get_layout"): _layout_named,
    ("torch", "Size"): counted(size.Size),
    ("torch", "device"): lambda _, *arguments: device.Device(*arguments),
    ("collections", "OrderedDict"): counted(collections.OrderedDict),
    ("collections", "Counter"): counted(collections.Counter),
    ("_codecs", "encode"): _encoded,
}
"""The functions that a file may call."""

FUNCTIONS |= {
    (module, name): call
    for module in ("builtins", "__builtin__")
    for name, call in (
        ("set", counted(set)), ("frozenset", counted(frozenset)), ("bytearray", counted(bytearray)),
        ("complex", lambda _, real, imaginary: complex(real, imaginary)), ("bytes", lambda _: b""),
    )
}  # fmt: skip
FORMAT_BY_NAME = ("gaugeblock.core.memory_format", "memory_format_by_name")
FUNCTIONS[FORMAT_BY_NAME] = lambda _, name: memory_format.memory_format_by_name(name)

NAMES: dict[tuple[str, str], Any] = {place: Function(".".join(place), call) for place, call in FUNCTIONS.items()}
_REBUILDERS = frozenset(
    NAMES["torch._utils", f"_rebuild_{name}"]
    for name in ("tensor", "tensor_v2", "tensor_v3", "meta_tensor_no_storage", "sparse_tensor", "qtensor")
)
NAMES |= {("torch", dtype.name): dtype for dtype in (*ALL_DTYPES, *QUANTIZED_DTYPES)}
NAMES |= {("torch", scheme.name): scheme for scheme in (per_tensor_affine, per_channel_affine)}
NAMES |= {("torch", name): StorageType(dtype) for dtype, name in STORAGE_NAMES.items()}
NAMES |= {UNTYPED: StorageType(None), ("torch", "Tensor"): Tensor}
"""All that a file may name."""
