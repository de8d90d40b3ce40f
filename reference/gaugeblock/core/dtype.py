"""Element types: one immutable instance per dtype, compared by ``is``."""

from __future__ import annotations

from typing import Any

from . import lazy_numpy as np

CATEGORIES = ("bool", "int", "float", "complex")
PYTHON_TYPES: tuple[type, ...] = (bool, int, float, complex)


class DType:
    """An element type; instances exist only as the constants of this module.

    ``kind`` is the number of ``category`` in CATEGORIES (bool 0, int 1, float 2, complex 3),
    ``index`` the position in ALL_DTYPES, ``python`` the Python type that ``item()`` returns. One that does not
    `compute`, complex32 or an 8-bit float, holds data and is refused by most operators.
    """

    __slots__ = (
        "_numpy", "category", "computes", "index", "is_complex", "is_floating_point", "is_signed", "itemsize", "kind",
        "name", "python",
    )  # fmt: skip

    name: str
    itemsize: int
    category: str
    kind: int
    index: int
    is_floating_point: bool
    is_complex: bool
    is_signed: bool
    computes: bool
    python: type
    quantized = False
    """Whether the elements are integers that stand for other numbers, by a scale and a zero point."""

    def __init__(self, index: int, name: str, category: str, itemsize: int) -> None:
        self.index = index
        self.name = name
        self.category = category
        self.kind = CATEGORIES.index(category)
        self.itemsize = itemsize
        self.is_floating_point = category == "float"
        self.is_complex = category == "complex"
        self.is_signed = category in ("float", "complex") or (category == "int" and name[0] != "u")
        self.computes = name != "complex32" and not name.startswith("float8")
        self.python = PYTHON_TYPES[self.kind]
        self._numpy: np.dtype[Any] | None = None

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy dtype of the same bytes; for complex32, which NumPy lacks, a record of two float16."""
        found = self._numpy
        if found is None:
            found = self._numpy = _numpy_dtype(self.name)
        return found

    def to_real(self) -> DType:
        """The real dtype of the same component width (complex64 -> float32); real dtypes are returned as they are."""
        return COMPLEX_TO_REAL.get(self, self)

    def to_complex(self) -> DType:
        """The complex dtype whose components hold this dtype (float16 -> complex32, float64 -> complex128). Raises
        RuntimeError for the 8-bit floats, which have none."""
        if self in FLOAT8:
            raise RuntimeError(f"there is no complex dtype with components of {self.name}")
        return self if self.is_complex else REAL_TO_COMPLEX.get(self, complex64)

    def __repr__(self) -> str:
        return f"gaugeblock.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return dtype_by_name, (self.name,)


_TABLE = (
    ("bool", "bool", 1),
    ("uint8", "int", 1),
    ("int8", "int", 1),
    ("int16", "int", 2),
    ("int32", "int", 4),
    ("int64", "int", 8),
    ("uint16", "int", 2),
    ("uint32", "int", 4),
    ("uint64", "int", 8),
    ("float16", "float", 2),
    ("bfloat16", "float", 2),
    ("float32", "float", 4),
    ("float64", "float", 8),
    ("complex32", "complex", 4),
    ("complex64", "complex", 8),
    ("complex128", "complex", 16),
    ("float8_e4m3fn", "float", 1),
    ("float8_e5m2", "float", 1),
    ("float8_e4m3fnuz", "float", 1),
    ("float8_e5m2fnuz", "float", 1),
)


def _numpy_dtype(name: str) -> np.dtype[Any]:
    given: Any = [("real", np.float16), ("imag", np.float16)] if name == "complex32" else name
    if name == "bfloat16" or name.startswith("float8"):
        import ml_dtypes

        given = getattr(ml_dtypes, name)
    found: np.dtype[Any] = np.dtype(given)
    return found


ALL_DTYPES: tuple[DType, ...] = tuple(DType(index, *row) for index, row in enumerate(_TABLE))
(
    bool_, uint8, int8, int16, int32, int64, uint16, uint32, uint64, float16, bfloat16, float32, float64, complex32,
    complex64, complex128, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz, float8_e5m2fnuz,
) = ALL_DTYPES  # fmt: skip
FLOAT8 = frozenset({float8_e4m3fn, float8_e5m2, float8_e4m3fnuz, float8_e5m2fnuz})

COMPLEX_TO_REAL: dict[DType, DType] = {complex32: float16, complex64: float32, complex128: float64}
REAL_TO_COMPLEX: dict[DType, DType] = {real: joined for joined, real in COMPLEX_TO_REAL.items()}

ALIASES: dict[str, DType] = {
    "half": float16, "float": float32, "double": float64, "short": int16, "int": int32, "long": int64,
    "chalf": complex32, "cfloat": complex64, "cdouble": complex128,
}  # fmt: skip

BY_NAME: dict[str, DType] = {dtype.name: dtype for dtype in ALL_DTYPES}


def dtype_by_name(name: str) -> DType:
    """The dtype called `name` ("float32" or an alias such as "half"); KeyError when there is none."""
    return BY_NAME.get(name) or ALIASES[name]


def dtype_from_numpy(dtype: np.dtype[Any]) -> DType | None:
    """The dtype with the bytes of NumPy's `dtype` in native order, or None."""
    found = BY_NAME.get(dtype.name)
    return found if found is not None and found.numpy == dtype else None


class _Defaults:
    __slots__ = ("complex_dtype", "dtype")

    def __init__(self) -> None:
        self.dtype, self.complex_dtype = float32, complex64


DEFAULTS = _Defaults()


def get_default_dtype() -> DType:
    """The dtype of Python floats in factories and promotion; float32 unless changed."""
    return DEFAULTS.dtype


def set_default_dtype(d: DType) -> None:
    """Set the default floating dtype. Raises TypeError for a `d` that is not floating or has 8 bits."""
    if not isinstance(d, DType) or not d.is_floating_point or d in FLOAT8:
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
