"""What oracles of drawn calls accept: never zeros, a constant or the input in the place of something else."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from gaugeblock_conformance.backend import Array, numpy_dtype
from gaugeblock_conformance.backends.numpy import NumpyBackend
from gaugeblock_conformance.operators import coverage, drawing, wishes
from gaugeblock_conformance.operators.calls import OperatorCall
from gaugeblock_conformance.operators.judging import expected, judge, result_dtype
from gaugeblock_conformance.operators.nearness import dtype_of_kind
from gaugeblock_conformance.oracles.conversion import cast
from gaugeblock_conformance.oracles.near import Near, Such, Unjudged
from gaugeblock_conformance.session import ConformanceError, Session
from gaugeblock_spec import operators

_CALLS = 12
_SHARE = 0.05
_LEAST = 1e-6
# Rows whose results follow no oracle but those of their sizes and dtype.
_FREE = ("random",)
_WIDE = ("float32", "float64", "complex64", "complex128")


def _rows() -> list[str]:
    rows = operators.load()
    return [name for name in coverage.swept() if rows[name].family not in _FREE]


def _calls(name: str) -> Iterator[tuple[OperatorCall, list[Any]]]:
    """Calls whose oracle gives arrays or claims, in dtypes precise enough to tell a few percent."""
    random = np.random.default_rng(zlib.crc32(name.encode()))
    for k in range(_CALLS):
        call = drawing.draw(name, random.bytes(wishes.CODE_LENGTH) if k else bytes(wishes.CODE_LENGTH))
        try:
            want = expected(call)
        except Unjudged:
            continue
        parts = want if isinstance(want, list | tuple) else [want]
        known = all(isinstance(part, np.ndarray | np.generic | Near | Such) for part in parts)
        if parts and known and call.dtype in _WIDE:
            yield call, list(parts)


def _true(call: OperatorCall, parts: list[Any]) -> list[Array]:
    """The exact results in their dtypes; of claims, arrays of zeros."""
    found = []
    for place, part in enumerate(parts):
        if isinstance(part, Such):
            dtypes = [numpy_dtype(dtype_of_kind(call, kind)) for kind in part.kinds]
            found += [np.zeros(sizes, dtype) for sizes, dtype in zip(part.sizes, dtypes, strict=True)]
        elif isinstance(part, Near) and part.kind:
            found.append(cast(np.asarray(part.value), dtype_of_kind(call, part.kind)))
        else:
            array = np.asarray(part.value if isinstance(part, Near) else part)
            found.append(cast(array, result_dtype(call, array, place)))
    return found


def _refused(call: OperatorCall, arrays: list[Array], several: bool) -> bool:
    s = Session(NumpyBackend("cpu"))
    handles = [s.tensor(np.ascontiguousarray(array).reshape(array.shape)) for array in arrays]
    try:
        judge(s, call, handles if several else handles[0])
    except ConformanceError:
        return True
    return False


def _differs(true: Array, other: Array) -> bool:
    """Whether an element is off by a few percent of the largest, and those are not tiny."""
    with np.errstate(all="ignore"):
        size = np.abs(true[np.isfinite(true)]).max(initial=0)
        return bool((np.abs(other - true) > _SHARE * size).any() and size > _LEAST)


def _others(call: OperatorCall, true: list[Array], free: Array | bool) -> Iterator[tuple[str, list[Array]]]:
    """Results that are none, where they differ from the true ones in elements that are not free."""
    first = true[0]
    if first.dtype.kind not in "fc" or not np.isfinite(first).all():
        return
    made = {"zeros": np.zeros_like(first)}
    if first.size:
        made["a constant"] = np.full_like(first, first.reshape(-1)[0])
    for case in call.tensors:
        if case.sizes == first.shape and case.array.dtype == first.dtype:
            made["an input"] = case.array
    for what, wrong in made.items():
        array = np.where(free, first, wrong)
        if _differs(first, array):
            yield what, [array, *true[1:]]


@pytest.mark.parametrize("name", _rows())
def test_wrong_results_are_refused(name: str) -> None:
    for call, parts in _calls(name):
        true = _true(call, parts)
        several = len(true) > 1 or isinstance(expected(call), list)
        if isinstance(parts[0], Such):
            filled = any(case.array.size and np.abs(case.array).max() > 0 for case in call.tensors)
            assert not filled or _refused(call, true, several), f"zeros pass: {call}"
            continue
        if not any(array.dtype.kind == "O" for array in true):
            assert not _refused(call, true, several), call
        for what, arrays in _others(call, true, parts[0].free if isinstance(parts[0], Near) else False):
            assert _refused(call, arrays, several), f"{what} passes: {call}"
