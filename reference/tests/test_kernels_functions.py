"""Elementary functions of lanes: special values, overflow edges, symmetry, and the same bits on every path."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from gaugeblock.core.dtype import DType, float32, float64
from gaugeblock.kernels.elementary import FUNCTIONS
from gaugeblock.kernels.functions import polynomial_by_pairs, powers_of_series
from gaugeblock.kernels.isa import supported_levels
from gaugeblock.kernels.pointwise import PointwiseKernel

Array = np.ndarray[Any, Any]
LEVELS = supported_levels()
INF, NAN, PI = math.inf, math.nan, math.pi
DTYPES = pytest.mark.parametrize("dtype", [float32, float64], ids=lambda d: d.name)
# Exact results at 0, -0, inf and -inf; NaN gives NaN.
SPECIALS: dict[str, tuple[float, float, float, float]] = {
    "exp": (1.0, 1.0, INF, 0.0), "exp2": (1.0, 1.0, INF, 0.0), "expm1": (0.0, -0.0, INF, -1.0),
    "sigmoid": (0.5, 0.5, 1.0, 0.0), "sinh": (0.0, -0.0, INF, -INF), "cosh": (1.0, 1.0, INF, INF),
    "tanh": (0.0, -0.0, 1.0, -1.0), "log": (-INF, -INF, INF, NAN), "log2": (-INF, -INF, INF, NAN),
    "log10": (-INF, -INF, INF, NAN), "log1p": (0.0, -0.0, INF, NAN), "asinh": (0.0, -0.0, INF, -INF),
    "acosh": (NAN, NAN, INF, NAN), "atanh": (0.0, -0.0, NAN, NAN), "sin": (0.0, -0.0, NAN, NAN),
    "cos": (1.0, 1.0, NAN, NAN), "tan": (0.0, -0.0, NAN, NAN), "asin": (0.0, -0.0, NAN, NAN),
    "acos": (PI / 2, PI / 2, NAN, NAN), "atan": (0.0, -0.0, PI / 2, -PI / 2), "erf": (0.0, -0.0, 1.0, -1.0),
    "erfc": (1.0, 1.0, 0.0, 2.0), "erfinv": (0.0, -0.0, NAN, NAN),
    "logit": (-INF, -INF, NAN, NAN),
}  # fmt: skip
# (function, dtype, argument, result within 1 ULP): overflow, subnormal and cancellation edges, from 50 digits.
EDGES: list[tuple[str, DType, float, float]] = [
    ("exp", float32, 88.72283, 3.4027985e38), ("exp", float32, 88.72284, INF), ("exp", float32, -103.27893, 1e-45),
    ("exp", float64, 709.782712893384, 1.7976931348622732e308), ("exp", float64, 709.7827128933841, INF),
    ("exp", float64, -745.1332191019411, 5e-324), ("exp2", float64, -1074.0, 5e-324),
    ("exp2", float32, 127.0, 2.0**127),
    ("expm1", float64, 1e-10, 1.00000000005e-10), ("expm1", float64, -50.0, -1.0),
    ("sinh", float64, 710.4758600739439, 1.7976931348621744e308), ("sinh", float64, 710.475860073944, INF),
    ("cosh", float32, 89.41598, 3.4027937e38), ("sigmoid", float32, -100.0, 3.783506e-44),
    ("log", float32, 1e-45, -103.27893), ("log", float64, 5e-324, -744.4400719213812),
    ("log2", float64, 8.0, 3.0), ("log2", float32, 2.0**-149, -149.0), ("log10", float64, 1000.0, 3.0),
    ("log1p", float32, 3.3895314e38, 88.718921661377), ("log1p", float64, 1.7e308, 709.7268368932282),
    ("logit", float32, 0.5, 0.0), ("logit", float64, 0.5000000000000001, 4.440892098500626e-16),
    ("logit", float64, 1e-310, -713.8013788281542), ("logit", float64, 1.0, INF),
    ("log1p", float64, 1e-300, 1e-300), ("log1p", float64, -1.0, -INF), ("acosh", float64, 1.0, 0.0),
    ("acosh", float64, 1e300, 691.4686750787737), ("atanh", float64, 1.0, INF), ("atanh", float32, 5e-45, 5e-45),
    ("asinh", float64, -1e300, -691.4686750787737), ("sin", float64, 3.141592653589793, 1.2246467991473532e-16),
    ("cos", float32, 1.5707964, -4.371139e-8), ("sin", float64, 1e22, -0.8522008497671888),
    ("tan", float64, 1.5707963267948966, 1.633123935319537e16), ("asin", float64, 1.0, PI / 2),
    ("acos", float64, -1.0, PI),
    ("atan", float64, 1.0, PI / 4), ("erf", float64, 1e-300, 1.1283791670955126e-300),
    ("erfc", float64, 27.0, 5.237048923789255e-319), ("erfc", float32, 10.0, 2.088488e-45),
    ("erfinv", float64, 1.0, INF), ("erfinv", float64, 0.999999999999, 5.042031898572696),
]  # fmt: skip
ODD = "expm1 sinh tanh asinh atanh sin tan asin atan erf erfinv".split()[1:]
EVEN = ["cosh", "cos"]
RISING = "exp exp2 expm1 sigmoid sinh tanh log log2 log10 log1p asinh acosh atanh asin atan erf erfinv logit".split()


def run(name: str, dtype: DType, *arrays: Array, level: int = -1) -> Array:
    kernel = PointwiseKernel(name, FUNCTIONS[name], (dtype,) * len(arrays), dtype, (dtype,), LEVELS[level])
    out = np.empty_like(arrays[0])
    kernel.contiguous(out.ctypes.data, *(array.ctypes.data for array in arrays), out.size)
    return out


def same(a: Array, b: Array) -> bool:
    """Equal bits, but any NaN for any other."""
    whole = np.where(np.isnan(a), np.nan, a).tobytes(), np.where(np.isnan(b), np.nan, b).tobytes()
    return whole[0] == whole[1]


@DTYPES
@pytest.mark.parametrize("level", range(len(LEVELS)), ids=[level.name for level in LEVELS])
@pytest.mark.parametrize("name", SPECIALS)
def test_special_values(name: str, level: int, dtype: DType) -> None:
    inputs = np.repeat(np.array([0.0, -0.0, INF, -INF, NAN], dtype.numpy), 17)
    expected = np.repeat(np.array([*SPECIALS[name], NAN]).astype(dtype.numpy), 17)
    assert same(run(name, dtype, inputs, level=level), expected)


@pytest.mark.parametrize(("name", "dtype", "argument", "expected"), EDGES, ids=lambda v: getattr(v, "name", None))
def test_edges(name: str, dtype: DType, argument: float, expected: float) -> None:
    got = run(name, dtype, np.full(33, argument, dtype.numpy))
    exact = dtype.numpy.type(expected)
    assert (got == got[0]).all()
    assert got[0] in (exact, np.nextafter(exact, dtype.numpy.type(INF)), np.nextafter(exact, dtype.numpy.type(-INF)))


def spread(dtype: DType) -> Array:
    rng = np.random.default_rng(11)
    size = 3001
    scaled = rng.choice([-1.0, 1.0], size) * 10.0 ** rng.uniform(-40, 38, size)
    return np.concatenate([scaled, rng.uniform(-1, 1, size), rng.uniform(-30, 30, size)]).astype(dtype.numpy)


@DTYPES
@pytest.mark.parametrize("name", FUNCTIONS)
def test_vectors_remainders_and_strides_give_the_same_bits(name: str, dtype: DType) -> None:
    x = spread(dtype)
    arrays = [x, np.roll(x, 5)] if name in ("pow", "atan2") else [x]
    whole = run(name, dtype, *arrays)
    kernel = PointwiseKernel(name, FUNCTIONS[name], (dtype,) * len(arrays), dtype, (dtype,), LEVELS[-1])
    single = np.empty_like(whole)
    step = x.itemsize
    for k in range(200):
        kernel.contiguous(single.ctypes.data + k * step, *(array.ctypes.data + k * step for array in arrays), 1)
    assert same(single[:200], whole[:200])
    apart = np.zeros(2 * x.size, dtype.numpy)
    strides = [2 * step, *([step] * len(arrays))]
    kernel.strided(apart.ctypes.data, *(array.ctypes.data for array in arrays), 1, x.size, *strides)
    assert same(apart[::2].copy(), whole)


@DTYPES
@pytest.mark.parametrize("name", [*ODD, *EVEN])
def test_symmetry(name: str, dtype: DType) -> None:
    x = spread(dtype)
    positive, negative = run(name, dtype, x), run(name, dtype, -x)
    assert same(negative, positive if name in EVEN else -positive)


@DTYPES
@pytest.mark.parametrize("name", RISING)
def test_rising_functions_do_not_fall_by_more_than_their_error(name: str, dtype: DType) -> None:
    x = np.sort(spread(dtype))
    values = run(name, dtype, x)
    values = values[np.isfinite(values)]
    falls = values[1:] < np.nextafter(values[:-1], dtype.numpy.type(-INF))
    assert not falls.any()


POWERS: list[tuple[float, float, float]] = [
    (2.0, 10.0, 1024.0), (-2.0, 3.0, -8.0), (-2.0, 2.0, 4.0), (-2.0, 0.5, NAN), (0.0, 0.0, 1.0), (NAN, 0.0, 1.0),
    (1.0, NAN, 1.0), (-1.0, INF, 1.0), (0.0, -1.0, INF), (-0.0, -1.0, -INF), (-0.0, -2.0, INF), (-0.0, 3.0, -0.0),
    (0.5, INF, 0.0), (0.5, -INF, INF), (2.0, INF, INF), (INF, -1.0, 0.0), (-INF, 3.0, -INF), (-INF, -3.0, -0.0),
    (-INF, 0.5, INF), (2.0, -149.0, 2.0**-149), (2.0, 0.5, 1.4142135623730951), (NAN, 1.0, NAN), (3.0, -2.0, 1 / 9),
]  # fmt: skip


@DTYPES
@pytest.mark.parametrize("level", range(len(LEVELS)), ids=[level.name for level in LEVELS])
def test_powers(level: int, dtype: DType) -> None:
    columns = np.repeat(np.array(POWERS).astype(dtype.numpy).T, 17, axis=1)
    base, exponent, expected = (column.copy() for column in columns)
    assert same(run("pow", dtype, base, exponent, level=level), expected)


def test_series_by_powers() -> None:
    assert powers_of_series((1.0, 2.0, 3.0, 4.0)) == (16.0, 6.0, -10.0, -2.0)
    drawn = np.random.default_rng(0).standard_normal(15)
    expected = np.polynomial.chebyshev.cheb2poly(drawn)[::-1]
    np.testing.assert_allclose(powers_of_series(tuple(drawn.tolist())), expected, rtol=1e-12)


@pytest.mark.parametrize("count", range(1, 9))
def test_polynomials_by_pairs(count: int) -> None:
    numbers = tuple(float(k + 1) for k in range(count))
    kernel = PointwiseKernel(
        "polynomial", lambda x: polynomial_by_pairs(x, x * x, numbers), (float64,), float64, (float64,), LEVELS[-1]
    )
    x = np.arange(-3.0, 4.0)
    out = np.empty_like(x)
    kernel.contiguous(out.ctypes.data, x.ctypes.data, x.size)
    np.testing.assert_array_equal(out, np.polyval(numbers, x))
