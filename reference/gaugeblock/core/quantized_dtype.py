"""Quantized element types, qint8, quint8 and qint32, and the schemes by which their integers stand for numbers."""

from __future__ import annotations

from typing import Any, NoReturn

from .dtype import ALL_DTYPES, DType, int8, int32, uint8


class QuantizedDType(DType):
    """An element type whose integers, of the dtype `integers`, stand for ``(integer - zero_point) * scale``.

    `lowest` and `highest` are the limits of the integers, and `upstream` is the name in PyTorch's messages. ``python``
    is float, since ``item()`` gives the number.
    """

    __slots__ = ("highest", "integers", "lowest", "upstream")

    quantized = True

    def __init__(self, index: int, integers: DType) -> None:
        super().__init__(index, f"q{integers.name}", "int", integers.itemsize)
        self.integers = integers
        self.upstream = self.name.replace("qint", "QInt").replace("quint", "QUInt")
        self.is_signed = integers.is_signed
        self.python = float
        self.lowest = -(1 << integers.itemsize * 8 - 1) if integers.is_signed else 0
        self.highest = self.lowest + (1 << integers.itemsize * 8) - 1

    @property
    def numpy(self) -> NoReturn:
        """Raise TypeError: NumPy has no quantized dtypes."""
        raise TypeError(f"NumPy has no dtype {self.name}: use int_repr() or dequantize()")

    def __reduce__(self) -> tuple[Any, ...]:
        return quantized_dtype_by_name, (self.name,)


QUANTIZED_DTYPES = tuple(QuantizedDType(len(ALL_DTYPES) + place, one) for place, one in enumerate((int8, uint8, int32)))
qint8, quint8, qint32 = QUANTIZED_DTYPES
_BY_NAME = {dtype.name: dtype for dtype in QUANTIZED_DTYPES}
INTEGERS: dict[DType, QuantizedDType] = {dtype.integers: dtype for dtype in QUANTIZED_DTYPES}
"""Dtype of the integers -> the quantized dtype."""


def quantized_dtype_by_name(name: str) -> QuantizedDType:
    """The quantized dtype called `name`; KeyError when there is none."""
    return _BY_NAME[name]


class QScheme:
    """A quantization scheme; instances are the constants of this module, compared by ``is``."""

    __slots__ = ("name",)

    name: str

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"gaugeblock.{self.name}"

    def __reduce__(self) -> str:
        return self.name


per_tensor_affine = QScheme("per_tensor_affine")
per_channel_affine = QScheme("per_channel_affine")
