"""Element types: one immutable instance per dtype, compared by ``is``."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

CATEGORIES = ("bool", "int", "float", "complex")
PYTHON_TYPES: tuple[type, ...] = (bool, int, float, complex)


class DType:
    """An element type; instances exist only as the constants of this module.

    ``kind`` is the number of ``category`` in CATEGORIES (bool 0, int 1, float 2, complex 3),
    ``index`` the position in ALL_DTYPES, ``numpy`` the NumPy dtype of the same bytes (for complex32, which NumPy
    lacks, a record of two float16), ``python`` the Python type that ``item()`` returns.
    """

    __slots__ = (
        "category",
        "index",
        "is_complex",
        "is_floating_point",
        "is_signed",
        "itemsize",
        "kind",
        "name",
        "numpy",
        "python",
    )

    name: str
    itemsize: int
    category: str
    kind: int
    index: int
    is_floating_point: bool
    is_complex: bool
    is_signed: bool
    numpy: np.dtype[Any]
    python: type

    def __init__(self, index: int, name: str, category: str, numpy: np.dtype[Any]) -> None:
        self.index = index
        self.name = name
        self.category = category
        self.kind = CATEGORIES.index(category)
        self.itemsize = numpy.itemsize
        self.is_floating_point = category == "float"
        self.is_complex = category == "complex"
        self.is_signed = category in ("float", "complex") or (category == "int" and name[0] != "u")
        self.numpy = numpy
        self.python = PYTHON_TYPES[self.kind]

    def to_real(self) -> DType:
        """The real dtype of the same component width (complex64 -> float32); real dtypes are returned as they are."""
        return COMPLEX_TO_REAL.get(self, self)

    def to_complex(self) -> DType:
        """The complex dtype whose components hold this dtype (float16 -> complex32, float64 -> complex128)."""
        return self if self.is_complex else REAL_TO_COMPLEX.get(self, complex64)

    def __repr__(self) -> str:
        return f"gaugeblock.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return dtype_by_name, (self.name,)


_TABLE: tuple[tuple[str, str, Any], ...] = (
    ("bool", "bool", np.bool_),
    ("uint8", "int", np.uint8),
    ("int8", "int", np.int8),
    ("int16", "int", np.int16),
    ("int32", "int", np.int32),
    ("int64", "int", np.int64),
    ("uint16", "int", np.uint16),
    ("uint32", "int", np.uint32),
    ("uint64", "int", np.uint64),
    ("float16", "float", np.float16),
    ("bfloat16", "float", ml_dtypes.bfloat16),
    ("float32", "float", np.float32),
    ("float64", "float", np.float64),
    ("complex32", "complex", [("real", np.float16), ("imag", np.float16)]),
    ("complex64", "complex", np.complex64),
    ("complex128", "complex", np.complex128),
)

ALL_DTYPES: tuple[DType, ...] = tuple(
    DType(index, name, category, np.dtype(scalar)) for index, (name, category, scalar) in enumerate(_TABLE)
)
(
    bool_,
    uint8,
    int8,
    int16,
    int32,
    int64,
    uint16,
    uint32,
    uint64,
    float16,
    bfloat16,
    float32,
    float64,
    complex32,
    complex64,
    complex128,
) = ALL_DTYPES

COMPLEX_TO_REAL: dict[DType, DType] = {complex32: float16, complex64: float32, complex128: float64}
REAL_TO_COMPLEX: dict[DType, DType] = {real: joined for joined, real in COMPLEX_TO_REAL.items()}

ALIASES: dict[str, DType] = {
    "half": float16,
    "float": float32,
    "double": float64,
    "short": int16,
    "int": int32,
    "long": int64,
    "chalf": complex32,
    "cfloat": complex64,
    "cdouble": complex128,
}

BY_NAME: dict[str, DType] = {dtype.name: dtype for dtype in ALL_DTYPES}

_FROM_NUMPY: dict[np.dtype[Any], DType] = {dtype.numpy: dtype for dtype in ALL_DTYPES if dtype is not complex32}


def dtype_by_name(name: str) -> DType:
    """The dtype called `name` ("float32" or an alias such as "half"); KeyError when there is none."""
    return BY_NAME.get(name) or ALIASES[name]


def dtype_from_numpy(dtype: np.dtype[Any]) -> DType | None:
    """The dtype with the bytes of NumPy's `dtype` in native order, or None."""
    return _FROM_NUMPY.get(dtype)


class _Defaults:
    __slots__ = ("complex_dtype", "dtype")

    def __init__(self) -> None:
        self.dtype, self.complex_dtype = float32, complex64


DEFAULTS = _Defaults()


def get_default_dtype() -> DType:
    """The dtype of Python floats in factories and promotion; float32 unless changed."""
    return DEFAULTS.dtype


def set_default_dtype(d: DType) -> None:
    """Set the default floating dtype. Raises TypeError for a non-floating `d`."""
    if not isinstance(d, DType) or not d.is_floating_point:
        raise TypeError(f"set_default_dtype(): argument 'd' must be a floating point dtype, got {d!r}")
    DEFAULTS.dtype = d
    DEFAULTS.complex_dtype = d.to_complex()


def dtype_of_number(value: object) -> DType:
    """The dtype that a Python number stands for: bool, int64, the default float or the matching complex dtype."""
    if isinstance(value, float):
        return DEFAULTS.dtype
    if isinstance(value, complex):
        return DEFAULTS.complex_dtype
    return bool_ if isinstance(value, bool) else int64
