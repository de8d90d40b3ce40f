"""The names in files of the format "gaugeblock-tensors/1", which save wrote before it wrote PyTorch's."""

from __future__ import annotations

import collections
from typing import Any

from ..core import device, dtype, layout, memory_format, size
from ..core.dtype import DType
from ..memory.storage import Storage
from ..tensor.tensor import Tensor
from . import copying
from .torch_names import check_flag, check_shape, counted
from .unpickler import Function, Unpickler

FORMAT = "gaugeblock-tensors/1"


def _rebuild_tensor(
    _: Unpickler, storage: Any, offset: Any, sizes: Any, strides: Any, kind: Any, lazy: Any, requires_grad: Any
) -> Tensor:
    if type(storage) is not Storage or type(kind) is not DType or lazy not in range(4):
        raise TypeError("a tensor is not made of a storage, a dtype and lazy bits")
    sizes, strides, offset = check_shape(sizes, strides, offset)
    return copying.rebuild_tensor(storage, offset, sizes, strides, kind, lazy, check_flag(requires_grad))


def _rebuild_attributed(unpickler: Unpickler, parts: Any, attributes: Any) -> Tensor:
    unpickler.count(len(attributes))
    made = _rebuild_tensor(unpickler, *parts)
    copying.restore_attributes(made, attributes)
    return made


_FUNCTIONS: dict[str, Any] = {
    f"{copying.__name__}.rebuild_attributed": _rebuild_attributed,
    f"{copying.__name__}.rebuild_tensor": _rebuild_tensor,
    f"{dtype.__name__}.dtype_by_name": lambda _, name: dtype.dtype_by_name(name),
    f"{device.__name__}.Device": lambda _, *arguments: device.Device(*arguments),
    f"{layout.__name__}.layout_by_name": lambda _, name: layout.layout_by_name(name),
    f"{memory_format.__name__}.memory_format_by_name": lambda _, name: memory_format.memory_format_by_name(name),
    f"{size.__name__}.Size": counted(size.Size),
    "collections.OrderedDict": counted(collections.OrderedDict),
    "builtins.set": counted(set),
    "builtins.frozenset": counted(frozenset),
    "builtins.complex": lambda _, real, imaginary: complex(real, imaginary),
}

NAMES = {(name.rpartition(".")[0], name.rpartition(".")[2]): Function(name, call) for name, call in _FUNCTIONS.items()}
"""All that a file of this format may name."""


def storage_named(pid: Any) -> tuple[int, int, str]:
    """Return number, bytes and device of a storage. Raises ValueError or TypeError for what is no reference to one."""
    _, number, nbytes, place = pid
    if type(number) is not int or type(nbytes) is not int or nbytes < 0 or type(place) is not str:
        raise TypeError(f"a storage is called {pid!r}")
    return number, nbytes, place
