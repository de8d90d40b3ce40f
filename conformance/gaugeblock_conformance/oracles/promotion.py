"""Type promotion, as a table of its own: the lattice of dtypes, and the three ranks of operands."""

from __future__ import annotations

from collections.abc import Sequence

CORE = (
    "bool", "uint8", "int8", "int16", "int32", "int64",
    "float16", "bfloat16", "float32", "float64", "complex64", "complex128",
)  # fmt: skip

# Row and column in the order of CORE; the table is symmetric, so that only its upper half is written.
_SHORT = {
    "b1": "bool", "u1": "uint8", "i1": "int8", "i2": "int16", "i4": "int32", "i8": "int64",
    "f2": "float16", "bf": "bfloat16", "f4": "float32", "f8": "float64", "c8": "complex64", "c16": "complex128",
}  # fmt: skip
_UPPER = """
b1 u1 i1 i2 i4 i8 f2 bf f4 f8 c8 c16
   u1 i2 i2 i4 i8 f2 bf f4 f8 c8 c16
      i1 i2 i4 i8 f2 bf f4 f8 c8 c16
         i2 i4 i8 f2 bf f4 f8 c8 c16
            i4 i8 f2 bf f4 f8 c8 c16
               i8 f2 bf f4 f8 c8 c16
                  f2 f4 f4 f8 c8 c16
                     bf f4 f8 c8 c16
                        f4 f8 c8 c16
                           f8 c16 c16
                              c8 c16
                                 c16
"""

LATTICE: dict[tuple[str, str], str] = {}
for _row, _line in zip(CORE, _UPPER.split("\n")[1:-1], strict=True):
    for _column, _cell in zip(CORE[CORE.index(_row) :], _line.split(), strict=True):
        LATTICE[_row, _column] = LATTICE[_column, _row] = _SHORT[_cell]

BOOL, INTEGER, FLOAT, COMPLEX = range(4)
KIND: dict[str, int] = {
    name: BOOL if name == "bool" else COMPLEX if "complex" in name else INTEGER if "int" in name else FLOAT
    for name in CORE
}
# The complex dtype of a float's width; float16's would be one that no core dtype is.
WIDTH_TWIN = {"bfloat16": "complex64", "float32": "complex64", "float64": "complex128"}


def common(*dtypes: str) -> str:
    """The common dtype of tensors with dims. Raises KeyError for a dtype outside the core twelve."""
    result = dtypes[0]
    for dtype in dtypes[1:]:
        result = LATTICE[result, dtype]
    return result


def number_dtype(value: complex | float | bool, default: str = "float32") -> str:
    """What a Python number alone would be."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int64"
    return WIDTH_TWIN[default] if isinstance(value, complex) else default


def result_type(
    tensors: Sequence[str] = (), dimless: Sequence[str] = (), numbers: Sequence[complex] = (), default: str = "float32"
) -> str:
    """The dtype of an operation on tensors with dims, tensors without, and Python numbers.

    Raises:
        KeyError: float16 of a higher rank with a complex of a lower one, whose result no core dtype has.
    """
    ranks = [tuple(tensors), tuple(dimless), tuple(number_dtype(n, default) for n in numbers)]
    votes = [common(*rank) for rank in ranks if rank]
    result = votes[0]
    for vote in votes[1:]:
        result = _outvoted(result, vote)
    return result


def _outvoted(higher: str, lower: str) -> str:
    if KIND[lower] <= KIND[higher]:
        return higher
    if KIND[higher] == FLOAT:
        return WIDTH_TWIN[higher]
    return lower


def can_cast(source: str, target: str) -> bool:
    return KIND[source] <= KIND[target]
