"""Adapters with one fault each, over a NumPy that works."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np
from gaugeblock_conformance.backend import Unsupported, dtype_name
from gaugeblock_conformance.backends.numpy import NumpyBackend


class Narrow(NumpyBackend):
    """Makes float32 of every array."""

    def from_numpy(self, array: Any, requires_grad: bool = False) -> Any:
        with np.errstate(over="ignore"):
            return super().from_numpy(np.asarray(array).astype(np.float32))


class NarrowDoubles(NumpyBackend):
    """Makes float32 of float64, and says float64."""

    def from_numpy(self, array: Any, requires_grad: bool = False) -> Any:
        array = np.asarray(array)
        if array.dtype == "float64":
            with np.errstate(over="ignore"):
                array = array.astype(np.float32).astype(np.float64)
        return super().from_numpy(array)


class Transposes(NumpyBackend):
    def to_numpy(self, tensor: Any) -> Any:
        return np.array(tensor.T)


class ReadsColumns(NumpyBackend):
    """Gives the right shape, and the elements column by column."""

    def to_numpy(self, tensor: Any) -> Any:
        return np.array(tensor).ravel("F").reshape(tensor.shape)


class OneDim(NumpyBackend):
    """Has no tensors of no dims."""

    def from_numpy(self, array: Any, requires_grad: bool = False) -> Any:
        return super().from_numpy(np.atleast_1d(array))


class NoEmpty(NumpyBackend):
    def to_numpy(self, tensor: Any) -> Any:
        if not tensor.size:
            raise ValueError("no bytes to copy")
        return super().to_numpy(tensor)


class NamesNatively(NumpyBackend):
    """Names dtypes as another library does."""

    def dtype(self, tensor: Any) -> str:
        return f"np.{super().dtype(tensor)}"


class HalfByTable(NumpyBackend):
    """Loses what half NaNs carry."""

    def from_numpy(self, array: Any, requires_grad: bool = False) -> Any:
        array = np.array(array)
        if dtype_name(array.dtype) in ("float16", "bfloat16"):
            array[np.isnan(array)] = np.nan
        return super().from_numpy(array)


class QuietsHalves(NumpyBackend):
    """Makes signalling NaNs of the half formats quiet, as conversions through float32 do."""

    def from_numpy(self, array: Any, requires_grad: bool = False) -> Any:
        array = np.array(array)
        quiet = {"float16": 0x0200, "bfloat16": 0x0040}.get(dtype_name(array.dtype))
        if quiet is not None:
            nan = np.isnan(array)
            bits = array.view(np.uint16)
            array = np.where(nan, bits | np.uint16(quiet), bits).astype(np.uint16).view(array.dtype)
        return super().from_numpy(array)


class Conjugates(NumpyBackend):
    def to_numpy(self, tensor: Any) -> Any:
        return np.conj(tensor) if tensor.dtype.kind == "c" else super().to_numpy(tensor)


class OffsetInBytes(NumpyBackend):
    """Takes the offset of as_strided as a number of bytes, four of them an element."""

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        if operator == "as_strided":
            *rest, offset = args
            args = (*rest, offset // 4)
        return super().call(operator, *args, **kwargs)


class TellsOffsetInBytes(NumpyBackend):
    def storage_offset(self, tensor: Any) -> int:
        return super().storage_offset(tensor) * int(tensor.itemsize)


class TellsStridesInBytes(NumpyBackend):
    def strides(self, tensor: Any) -> Any:
        return tensor.strides


class OneStorage(NumpyBackend):
    def storage_id(self, tensor: Any) -> Any:
        return 0


class EachItsStorage(NumpyBackend):
    """Takes the tensor's identity for that of its storage."""

    def storage_id(self, tensor: Any) -> Any:
        return id(tensor)


class NoAddress(NumpyBackend):
    def data_ptr(self, tensor: Any) -> int:
        raise AttributeError("no data_ptr")


class Swallows(NumpyBackend):
    """Refuses unknown names, and gives None where an operator raises."""

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        if operator not in self._table:
            raise Unsupported(operator)
        try:
            return super().call(operator, *args, **kwargs)
        except Exception:
            return None


class SwallowsAll(NumpyBackend):
    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().call(operator, *args, **kwargs)
        except Exception:
            return None


class TakesAnyName(NumpyBackend):
    """Has a stub for every name."""

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        return super().call(operator, *args, **kwargs) if operator in self._table else lambda: operator


class NoFormats(NumpyBackend):
    """``from_numpy`` asks its library for a name that it lacks."""

    def from_numpy(self, array: Any, requires_grad: bool = False) -> Any:
        raise AttributeError("module 'chip' has no attribute 'contiguous_format'")


class LacksNames(NumpyBackend):
    """Looks every name up."""

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        return super().call(operator, *args, **kwargs) if operator in self._table else getattr(np, operator)(*args)


class DiesOnViews(NumpyBackend):
    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        if operator == "as_strided":
            os.abort()
        return super().call(operator, *args, **kwargs)


class DiesOnProbes(NumpyBackend):
    probes = dict.fromkeys(("views", "inplace", "autograd"), os.abort) | {"out": lambda: None}


class HangsOnEmpty(NumpyBackend):
    def to_numpy(self, tensor: Any) -> Any:
        if not tensor.size:
            time.sleep(600)
        return super().to_numpy(tensor)
