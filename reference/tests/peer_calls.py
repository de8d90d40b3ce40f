"""Calls of an operator with operands of moderate elements, the same ones every time, to make on two engines."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from gaugeblock_conformance.case import TensorCase
from gaugeblock_conformance.operators.calls import OperatorCall
from gaugeblock_conformance.operators.drawing import draw
from gaugeblock_conformance.values import COMPLEX, FLOATS
from gaugeblock_spec import operators

MOST = 2000
"""Elements of a tensor; what is larger is left to other tests."""
TIES = (0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0)
FREE = ("hard", "finite", "small")
"""Kinds of values that mean no more than any number."""
Array = Any


def elements(case: TensorCase, rng: np.random.Generator, row: operators.Operator, name: str, ties: bool) -> Array:
    """The elements of an operand: moderate numbers, or few different ones; as drawn where it matters."""
    array = case.array
    if case.literal is not None or case.kind not in FREE or case.dtype not in (*FLOATS, *COMPLEX):
        return array
    domain = row.domain.get(name)
    if domain is not None:
        low = -3.0 if domain.low is None else max(domain.low, -30)
        high = low + 6 if domain.high is None else min(domain.high, 30)
        values = rng.uniform(low, high, case.sizes)
    else:
        values = rng.choice(TIES, case.sizes) if ties else rng.normal(size=case.sizes)
    if case.dtype in COMPLEX:
        values = values + 1j * (rng.choice(TIES, case.sizes) if ties else rng.normal(size=case.sizes))
    return np.asarray(values).astype(array.dtype)


def calls(name: str, dtype: str | None, count: int) -> Iterator[OperatorCall]:
    """Calls of a row with operands of one dtype, or of any, the same ones every time."""
    rng = np.random.default_rng(zlib.crc32(f"{name}/{dtype}".encode()))
    for number in range(count):
        code = bytes(200) if number == 0 else rng.integers(0, 256, 200, dtype=np.uint8).tobytes()
        call = draw(name, code, dtype)
        if all(case.numel <= MOST for case in call.tensors):
            yield call
