"""Hypothesis strategies of the suite: dtypes, shapes and the strided space of tensors."""

from .dtypes import ALL, COMPLEX, FLOATING, INTEGRAL, NUMERIC, dtypes
from .shapes import broadcastable, sizes, thresholds
from .tensors import LAYOUTS, WRITABLE, operands, tensors

__all__ = [
    "ALL",
    "COMPLEX",
    "FLOATING",
    "INTEGRAL",
    "LAYOUTS",
    "NUMERIC",
    "WRITABLE",
    "broadcastable",
    "dtypes",
    "operands",
    "sizes",
    "tensors",
    "thresholds",
]
