"""The dtypes that every backend of the family has, by class, and a strategy over them."""

from __future__ import annotations

from hypothesis import strategies as st

BOOL = ("bool",)
INTEGRAL = ("uint8", "int8", "int16", "int32", "int64")
HALF = ("float16", "bfloat16")
FLOATING = ("float32", "float64", *HALF)
COMPLEX = ("complex64", "complex128")
NUMERIC = (*FLOATING, *INTEGRAL)
ALL = ("float32", "int64", "bool", "float64", "int32", "uint8", "int8", "int16", *HALF, *COMPLEX)


def dtypes(*names: str) -> st.SearchStrategy[str]:
    """One of ``names``, or of all twelve core dtypes; shrinks towards the first."""
    return st.sampled_from(names or ALL)
