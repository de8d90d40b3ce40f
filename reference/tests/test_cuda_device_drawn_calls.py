"""A call of every operator on the simulated CUDA device and on the CPU, on operands that it takes."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock.operators.rows import rows
from gaugeblock_conformance.backends.reference import ReferenceBackend
from gaugeblock_conformance.building import maker_of_views
from gaugeblock_conformance.operators.enlarging import enlarged

DTYPES = ("float32", "complex64", "int64", "bool")
UNDETERMINED = ("empty", "rand", "dropout", "rrelu", "fractional")
"""Parts of the names of operators whose results are drawn, or whatever lies in memory."""
DRAWN = frozenset(
    """bernoulli bernoulli_ multinomial normal uniform_ normal_ random_ exponential_ cauchy_ log_normal_ geometric_
    poisson binomial""".split()
)


@pytest.fixture(scope="module", autouse=True)
def device() -> Iterator[None]:
    gb.cuda.use_driver("simulated", total_memory=1 << 28)
    yield
    gc.collect()
    gb.cuda.use_driver(None)


def plain(backend: Any, value: Any) -> Any:
    """Return a result as arrays, with the device of its tensors."""
    if isinstance(value, gb.Tensor):
        assert str(value.device) == backend.device
        return value.detach().resolve_conj().resolve_neg().cpu().numpy()
    return [plain(backend, one) for one in value] if isinstance(value, list | tuple) else value


def outcome(backend: Any, call: Any) -> tuple[Any, list[Any]]:
    """Return the result, or the class of the error, and the tensors that were given, after the call."""
    given: list[Any] = []

    def build(case: Any) -> Any:
        base = backend.from_numpy(case.contents if not case.plain else case.contents.reshape(case.sizes))
        made = base if case.plain else maker_of_views(backend)(base, case.sizes, case.strides, case.offset)
        given.append(made)
        return made

    positional, keywords = call.bind(build)
    try:
        result = plain(backend, backend.call(call.operator, *positional, **keywords))
    except (IndexError, RuntimeError, TypeError, ValueError) as error:
        result = type(error)
    return result, [plain(backend, one) for one in given]


@pytest.mark.parametrize("layout", ["contiguous", "permuted"])
@pytest.mark.parametrize("name", sorted(rows()))
def test_drawn_calls_agree_with_the_cpu(name: str, layout: str) -> None:
    base = rows()[name].base
    if base in DRAWN or any(part in base for part in UNDETERMINED):
        pytest.skip("its result is not determined")
    calls = [call for call in (enlarged(name, 16, dtype, layout) for dtype in DTYPES) if call is not None]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for call in calls:
            here, there = (outcome(ReferenceBackend(place), call) for place in ("cpu", "cuda:0"))
            for wanted, found in zip((here[0], *here[1]), (there[0], *there[1]), strict=True):
                compare(found, wanted)


def compare(found: Any, wanted: Any) -> None:
    if isinstance(wanted, list):
        assert isinstance(found, list) and len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            compare(one, other)
    elif isinstance(wanted, np.ndarray):
        assert found.dtype == wanted.dtype and found.shape == wanted.shape
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)
    else:
        assert found == wanted or (found != found and wanted != wanted)
