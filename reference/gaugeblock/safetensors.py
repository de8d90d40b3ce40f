"""Files of the format safetensors, by its library: named tensors, each in a block of its own, and no code.

The functions have the names and arguments of safetensors.torch. The library comes with ``pip install
gaugeblock[safetensors]``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from importlib import import_module
from itertools import pairwise
from typing import Any

from .calls.functions import ops
from .core.device import Device, as_device
from .core.dtype import DType, dtype_by_name
from .core.errors import type_error
from .interop.numpy import from_numpy, frombuffer
from .operators.conversion import converted
from .tensor.tensor import Tensor
from .tensor.tensor_meta import extent

try:
    _library: Any = import_module("safetensors")
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "gaugeblock.safetensors needs the library safetensors: pip install gaugeblock[safetensors]", name="safetensors"
    ) from error

__all__ = ["load", "load_file", "save", "save_file"]

_DTYPES = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "U16": "uint16", "I16": "int16", "U32": "uint32", "I32": "int32",
    "U64": "uint64", "I64": "int64", "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64",
    "C64": "complex64", "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2FNUZ": "float8_e5m2fnuz",
}  # fmt: skip
"""dtypes of files -> those of tensors."""

_NAMES = {name: code for code, name in _DTYPES.items()}


def save_file(
    tensors: Mapping[str, Tensor], filename: str | os.PathLike[str], metadata: dict[str, str] | None = None
) -> None:
    """Write named tensors and `metadata`, which is text, to a file. See `save` for what is raised."""
    specs = _specs("save_file", tensors)
    _library.serialize_file({name: spec for name, (spec, _) in specs.items()}, filename, metadata)


def save(tensors: Mapping[str, Tensor], metadata: dict[str, str] | None = None) -> bytes:
    """Return the file of named tensors.

    Raises:
        TypeError: a dtype that the format lacks, a tensor without data, or what is no tensor.
        ValueError: a tensor that is not contiguous.
        RuntimeError: tensors that overlap in memory, which they would not do in the file.
    """
    specs = _specs("save", tensors)
    return bytes(_library.serialize({name: spec for name, (spec, _) in specs.items()}, metadata))


def load_file(filename: str | os.PathLike[str], device: Device | str = "cpu") -> dict[str, Tensor]:
    """Return the tensors of a file, on a device. Raises SafetensorError for a damaged file."""
    import ml_dtypes  # noqa: F401 - gives NumPy the name bfloat16

    there = as_device(device)
    with _library.safe_open(os.fspath(filename), framework="np") as file:
        names = list(file.keys())
        eights = any(file.get_slice(name).get_dtype().startswith("F8") for name in names)
        found = {} if eights else {name: from_numpy(file.get_tensor(name)) for name in names}
    if eights:  # which the library does not give as arrays
        with open(filename, "rb") as whole:
            found = load(whole.read())
    return {name: converted(one, None, there) for name, one in found.items()}


def load(data: bytes) -> dict[str, Tensor]:
    """Return the tensors of the bytes of a file. Raises SafetensorError for damaged ones."""
    return {name: _tensor(**entry) for name, entry in _library.deserialize(data)}


def _tensor(dtype: str, shape: list[int], data: bytearray) -> Tensor:
    if dtype not in _DTYPES:
        raise TypeError(f"load(): the file has a tensor of dtype {dtype}, known are {', '.join(_DTYPES)}")
    kind = _dtype(_DTYPES[dtype])
    flat: Any = frombuffer(data, dtype=kind) if data else ops.empty(0, dtype=kind)
    return flat.view(shape)  # type: ignore[no-any-return]


def _dtype(name: str) -> DType:
    try:
        return dtype_by_name(name)
    except KeyError:
        raise TypeError(f"load(): the file has a tensor of dtype {name}, which there is not") from None


def _specs(function: str, tensors: Mapping[str, Tensor]) -> dict[str, tuple[Any, Tensor]]:
    """Return what the library writes of each tensor, and the tensor that its memory belongs to."""
    if not isinstance(tensors, Mapping):
        type_error(function, "tensors", tensors, "a mapping of names to tensors")
    for name, one in tensors.items():
        _check(function, name, one)
    _check_overlap(function, tensors)
    return {name: _spec(one) for name, one in tensors.items()}


def _check(function: str, name: object, one: object) -> None:
    if not isinstance(name, str):
        raise TypeError(f"{function}(): the names of tensors must be text, got {name!r}")
    if not isinstance(one, Tensor):
        raise TypeError(f"{function}(): {name!r} must be a Tensor, not {type(one).__name__}")
    if one.meta.dtype.name not in _NAMES:
        raise TypeError(f"{function}(): {name!r} has dtype {one.meta.dtype.name}, which the format lacks")
    if one.meta.device.type == "meta":
        raise TypeError(f"{function}(): {name!r} is on the device meta and has no data")
    if not one.meta.contiguous:
        raise ValueError(f"{function}(): {name!r} is not contiguous; save its contiguous()")


def _check_overlap(function: str, tensors: Mapping[str, Tensor]) -> None:
    """Raise RuntimeError when two tensors overlap."""
    for (first, end), (second, begin) in _neighbours(tensors):
        if begin < end:
            raise RuntimeError(
                f"{function}(): {first!r} and {second!r} share memory, which tensors in the file do not; save one of "
                f"them, or a clone()"
            )


def _neighbours(tensors: Mapping[str, Tensor]) -> Iterator[tuple[tuple[str, int], tuple[str, int]]]:
    """Yield names, end and begin in bytes of tensors that follow one another in a storage."""
    areas: dict[int, list[tuple[int, int, str]]] = {}
    for name, one in tensors.items():
        if one.meta.numel:
            size = one.meta.dtype.itemsize
            begin = one.offset * size
            end = begin + extent(one.meta.sizes, one.meta.strides) * size
            areas.setdefault(id(one.storage_impl), []).append((begin, end, name))
    for found in areas.values():
        found.sort()
        for (_, end, first), (begin, _, second) in pairwise(found):
            yield (first, end), (second, begin)


def _spec(one: Any) -> tuple[Any, Tensor]:
    held = one.detach().cpu().resolve_conj().resolve_neg().contiguous()
    name, sizes = held.meta.dtype.name, list(held.meta.sizes)
    spec = _library.TensorSpec(dtype=name, shape=sizes, data_ptr=held.data_ptr(), data_len=held.meta.nbytes)
    return spec, held
