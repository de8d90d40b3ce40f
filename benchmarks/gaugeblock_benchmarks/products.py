"""Matrix products beside NumPy's BLAS on the same values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .subject import statement_loop
from .timing import Measurement, Timed, measure

LIMIT = 1.1
ROWS = tuple((dtype, size) for dtype in ("float32", "float64") for size in (64, 256, 1024))


@dataclass(frozen=True)
class Product:
    """A square product and how long it took beside NumPy's."""

    dtype: str
    size: int
    measurement: Measurement


def measure_products(module: Any, seconds: float = 0.5) -> list[Product]:
    """``a @ b`` of a torch-style module beside ``numpy.matmul``."""
    found = []
    for dtype, size in ROWS:
        random = np.random.default_rng(size)
        arrays = tuple(random.standard_normal((size, size)).astype(dtype) for _ in range(2))
        tensors = tuple(module.from_numpy(array) for array in arrays)
        ours = Timed(statement_loop("a @ b", "ab", module), [tensors])
        theirs = Timed(statement_loop("a @ b", "ab", np), [arrays])
        found.append(Product(dtype, size, measure(ours, theirs, seconds)))
    return found
