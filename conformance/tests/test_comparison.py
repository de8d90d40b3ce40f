"""Distances in units in the last place, and where two arrays differ first."""

from __future__ import annotations

import numpy as np
import pytest
from gaugeblock_conformance.backend import numpy_dtype
from gaugeblock_conformance.comparison import first_mismatch, ulp_distance
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hn

FLOATS = ("float16", "bfloat16", "float32", "float64")
INF, NAN = np.inf, np.nan


def _array(values: list[float], dtype: str) -> np.ndarray:  # type: ignore[type-arg]
    return np.array(values, dtype=np.float64).astype(numpy_dtype(dtype))


@pytest.mark.parametrize("dtype", FLOATS)
def test_neighbours_are_one_apart(dtype: str) -> None:
    kind = np.int16 if numpy_dtype(dtype).itemsize == 2 else np.int32 if dtype == "float32" else np.int64
    x = _array([0.0, 1.0, 1.5, 100.0, 2.0**-14], dtype)
    above = (x.view(kind) + 1).view(x.dtype)
    assert ulp_distance(above, x).tolist() == [1.0] * 5
    assert ulp_distance(-above, -x).tolist() == [1.0] * 5
    assert ulp_distance(x, x).tolist() == [0.0] * 5


@pytest.mark.parametrize("dtype", FLOATS)
def test_special_values(dtype: str) -> None:
    got = _array([NAN, NAN, 1.0, 0.0, -0.0, INF, INF], dtype)
    want = _array([NAN, 1.0, NAN, -0.0, 0.0, INF, -INF], dtype)
    distance = ulp_distance(got, want)
    assert distance[:5].tolist() == [0.0, INF, INF, 0.0, 0.0]
    assert distance[5] == 0
    assert distance[6] > 1000


def test_across_zero() -> None:
    tiny = float(np.finfo(np.float32).smallest_subnormal)
    assert ulp_distance(_array([tiny], "float32"), _array([-tiny], "float32")).tolist() == [2.0]


def test_double_distances_do_not_lose_bits() -> None:
    a = np.array([1.0])
    assert ulp_distance(np.nextafter(a, 2), np.nextafter(a, 0)).tolist() == [2.0]
    far = ulp_distance(np.array([1.7e308]), np.array([-1.7e308]))
    assert far[0] > 1e19 * 0.9


@given(hn.arrays(np.float32, st.integers(1, 20), elements=st.floats(width=32)))
def test_an_array_matches_itself(x: np.ndarray) -> None:  # type: ignore[type-arg]
    assert first_mismatch(x, x.copy()) is None
    assert first_mismatch(x, x.copy(), ulp=1) is None


@given(
    hn.arrays(np.float32, st.integers(1, 20), elements=st.floats(-(2.0**100), 2.0**100, width=32)),
    st.integers(0, 19),
    st.integers(1, 5),
)
def test_bound_is_sharp(x: np.ndarray, place: int, steps: int) -> None:  # type: ignore[type-arg]
    y = x.copy()
    for _ in range(steps):
        y[place % len(x)] = np.nextafter(y[place % len(x)], np.float32(INF))
    assert first_mismatch(y, x, ulp=steps) is None
    assert first_mismatch(y, x, ulp=steps - 1) == (place % len(x),)


def test_zeros_by_sign() -> None:
    plus, minus = _array([1.0, 0.0], "float32"), _array([1.0, -0.0], "float32")
    assert first_mismatch(minus, plus) == (1,)
    assert first_mismatch(minus, plus, signed_zero=False) is None
    assert first_mismatch(minus, plus, ulp=1, signed_zero=False) is None


def test_nan_never_matches_a_number() -> None:
    for ulp in (0, 1, 1000):
        assert first_mismatch(_array([NAN], "float64"), _array([1.0], "float64"), ulp) == (0,)
        assert first_mismatch(_array([1.0], "float64"), _array([NAN], "float64"), ulp) == (0,)
        assert first_mismatch(_array([INF], "float64"), _array([-INF], "float64"), ulp) == (0,)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int64", "uint64"])
def test_integers_exactly(dtype: str) -> None:
    x = np.array([0, 1, 1], dtype=dtype)
    y = np.array([0, 1, 0], dtype=dtype)
    assert first_mismatch(x, x.copy()) is None
    assert first_mismatch(x, y, ulp=5) == (2,)


def test_shapes_of_indices() -> None:
    x = np.zeros((2, 3), np.float32)
    y = x.copy()
    y[1, 2] = 1
    assert first_mismatch(x, y) == (1, 2)
    assert first_mismatch(np.array(1.0), np.array(2.0)) == ()
    assert first_mismatch(np.zeros((0, 3)), np.zeros((0, 3))) is None


def test_complex_parts_in_units_of_the_larger() -> None:
    want = np.array([1e6 + 1e-3j], dtype=np.complex64)
    near = np.array([1e6 + 2e-2j], dtype=np.complex64)
    assert first_mismatch(near, want, ulp=1) is None
    assert first_mismatch(near, want) == (0,)
    assert first_mismatch(np.array([1e6 + 1j], dtype=np.complex64), want, ulp=1) == (0,)
    assert first_mismatch(np.array([complex(NAN, 0)]), np.array([0j]), ulp=4) == (0,)


@given(st.floats(-100, 100), st.sampled_from(FLOATS))
def test_rounding_to_the_dtype_is_within_half_a_unit(value: float, dtype: str) -> None:
    """The distance of neighbours on the scale is what NumPy's spacing says."""
    x = _array([value], dtype)
    if dtype == "bfloat16" or not np.isfinite(x).all() or value == 0:
        return
    step = np.spacing(np.abs(x))
    assert ulp_distance(x + step, x)[0] in (0.0, 1.0, 2.0)
