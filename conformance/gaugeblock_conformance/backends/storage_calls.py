"""What the suite does to storages, in torch's names: bytes, resizing, rebinding, saving, copying."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable, Sequence
from typing import Any

from ..dialect import Dialect

Function = Callable[..., Any]
Writer = Callable[[Dialect, Sequence[Any], Any], str]


def _storage_bytes(x: Any) -> bytes:
    """All bytes of the storage under a tensor."""
    return bytes(x.untyped_storage().tolist())


def _resize_storage(x: Any, nbytes: int) -> None:
    x.untyped_storage().resize_(nbytes)


def _set_storage(x: Any, source: Any, offset: int, size: Sequence[int], stride: Sequence[int]) -> Any:
    """``source`` is a tensor; its storage is meant."""
    return x.set_(source.untyped_storage(), offset, size, stride)


# Operators on storages that need nothing of the module.
STORAGE_CALLS: dict[str, Function] = {
    "storage_bytes": _storage_bytes,
    "storage_data_ptr": lambda x: int(x.untyped_storage().data_ptr()),
    "resize_storage_": _resize_storage,
    "set_.source_Storage_storage_offset": _set_storage,
    "deepcopy": copy.deepcopy,
}


def save_and_load(module: Any) -> Function:
    """``obj`` written by ``module.save`` and read back by ``module.load``."""

    def call(obj: Any) -> Any:
        file = io.BytesIO()
        module.save(obj, file)
        file.seek(0)
        return module.load(file)

    return call


def _write_set(d: Dialect, args: Sequence[Any], kwargs: Any) -> str:
    rest = ", ".join(d.literal(a) for a in args[2:])
    return f"{d.literal(args[0])}.set_({d.literal(args[1])}.untyped_storage(), {rest})"


def _write_save(d: Dialect, args: Sequence[Any], kwargs: Any) -> str:
    module = d.setup.split()[-1]
    return (
        f"(file := __import__('io').BytesIO(), {module}.save({d.literal(args[0])}, file), file.seek(0), "
        f"{module}.load(file))[-1]"
    )


STORAGE_WRITERS: dict[str, Writer] = {
    "storage_bytes": lambda d, a, k: f"bytes({d.literal(a[0])}.untyped_storage().tolist())",
    "storage_data_ptr": lambda d, a, k: f"{d.literal(a[0])}.untyped_storage().data_ptr()",
    "resize_storage_": lambda d, a, k: f"{d.literal(a[0])}.untyped_storage().resize_({a[1]})",
    "set_.source_Storage_storage_offset": _write_set,
    "deepcopy": lambda d, a, k: f"__import__('copy').deepcopy({d.literal(a[0])})",
    "save_and_load": _write_save,
    "__getattr__": lambda d, a, k: f"{d.literal(a[0])}.{a[1]}",
}
