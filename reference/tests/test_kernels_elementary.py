"""Elementary functions: error bounds against higher precision, at every level."""

from __future__ import annotations

import math
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock.core.dtype import DType, bfloat16, float16, float32, float64
from gaugeblock.kernels.isa import supported_levels
from gaugeblock.kernels.pointwise import PointwiseKernel
from gaugeblock.operators.formulas import FORMULAS

Array = np.ndarray[Any, Any]
LEVELS = supported_levels()
DOMAINS: dict[str, tuple[float, float]] = {
    "exp": (-104.0, 89.0), "exp2": (-150.0, 128.0), "expm1": (-20.0, 88.0), "log": (1e-38, 1e38), "log2": (1e-38, 1e38),
    "log10": (1e-38, 1e38), "log1p": (-0.999, 1e30), "sin": (-1e4, 1e4), "cos": (-1e4, 1e4), "tan": (-50.0, 50.0),
    "arcsin": (-1.0, 1.0), "arccos": (-1.0, 1.0), "arctan": (-1e6, 1e6), "sinh": (-80.0, 80.0), "cosh": (-80.0, 80.0),
    "tanh": (-11.0, 11.0), "arcsinh": (-1e20, 1e20), "arccosh": (1.0, 1e20), "arctanh": (-0.999, 0.999),
    "sqrt": (0.0, 1e38),
}  # fmt: skip
OURS = {name: name.replace("arc", "a") for name in DOMAINS}


def run(name: str, dtype: DType, array: Array, level: int = -1) -> Array:
    kernel = PointwiseKernel(name, FORMULAS[name], (dtype,), dtype, (dtype,), LEVELS[level])
    out = np.empty_like(array)
    kernel.contiguous(out.ctypes.data, array.ctypes.data, array.size)
    return out


def points(low: float, high: float, dtype: DType) -> Array:
    rng = np.random.default_rng(7)
    spread = rng.uniform(low, high, 3000)
    near = rng.standard_normal(2000) * 10.0 ** rng.uniform(-8, 0, 2000)
    scaled = np.exp(rng.uniform(np.log(1e-37), np.log(max(high, 1.0)), 2000))
    values = np.concatenate([spread, near, 1.0 + near * 0.1, scaled])
    return values[(values >= low) & (values <= high)].astype(dtype.numpy)


def ulps(got: Array, exact: Array) -> float:
    with np.errstate(over="ignore"):
        rounded = exact.astype(got.dtype)
    unit = np.maximum(np.spacing(np.abs(rounded)), np.finfo(got.dtype).smallest_subnormal)
    with np.errstate(invalid="ignore"):
        error = np.abs((got.astype(exact.dtype) - exact) / unit.astype(exact.dtype))
    return float(np.max(np.where(got == rounded, 0.0, error)))


@pytest.mark.parametrize("level", range(len(LEVELS)), ids=[level.name for level in LEVELS])
@pytest.mark.parametrize("name", DOMAINS)
def test_float32_is_within_one_unit(name: str, level: int) -> None:
    x = points(*DOMAINS[name], float32)
    exact = getattr(np, name)(x.astype(np.longdouble))
    assert ulps(run(OURS[name], float32, x, level), exact) <= 1.0


@pytest.mark.parametrize("name", DOMAINS)
def test_float64_is_within_one_unit(name: str) -> None:
    x = points(*DOMAINS[name], float64)
    exact = getattr(np, name)(x.astype(np.longdouble))
    assert ulps(run(OURS[name], float64, x), exact) <= 1.0


@pytest.mark.parametrize("dtype", [float16, bfloat16], ids=lambda d: d.name)
@pytest.mark.parametrize("name", ["exp", "log", "tanh", "sin", "sqrt"])
def test_half_functions_are_the_float32_result_rounded_once(name: str, dtype: DType) -> None:
    x = np.linspace(0.01, 9.0, 500).astype(dtype.numpy)
    wide = run(name, float32, x.astype(np.float32))
    assert run(name, dtype, x).tobytes() == wide.astype(dtype.numpy).tobytes()


def test_vector_and_scalar_bodies_agree() -> None:
    x = points(-80.0, 80.0, float32)[:1000]
    for name in ("exp", "tanh", "sigmoid", "expm1", "log1p"):
        whole = run(name, float32, x)
        single = np.concatenate([run(name, float32, x[k : k + 1].copy()) for k in range(x.size)])
        np.testing.assert_array_equal(whole, single)


def test_overflow_and_underflow_of_exp() -> None:
    x = np.array([88.72, 88.73, -103.9, -104.0, 1e30, -1e30] * 8, np.float32)
    got = run("exp", float32, x)
    assert np.isfinite(got[0]) and got[1] == np.inf and got[2] > 0.0 and got[3] == 0.0
    assert got[4] == np.inf and got[5] == 0.0


@pytest.mark.parametrize("level", range(len(LEVELS)), ids=[level.name for level in LEVELS])
@pytest.mark.parametrize("name", ["exp", "log", "sin", "cos"])
def test_own_float64_functions_are_within_one_unit(name: str, level: int) -> None:
    low, high = {"exp": (-745.0, 709.0), "log": (5e-324, 1e308)}.get(name, (-2e6, 2e6))
    x = points(low, high, float64)
    multiples = np.arange(-3000, 3000) * (np.pi / 2)
    x = np.concatenate([x, multiples[(multiples >= low) & (multiples <= high)]])
    exact = getattr(np, name)(x.astype(np.longdouble))
    assert ulps(run(name, float64, x, level), exact) <= 1.0


@pytest.mark.parametrize("dtype", [float32, float64], ids=lambda d: d.name)
def test_fmod_is_exact_for_any_quotient(dtype: DType) -> None:
    rng = np.random.default_rng(9)
    a, b = (rng.standard_normal(5000) * 2.0 ** rng.integers(-100, 100, 5000) for _ in range(2))
    b[:2000] = a[:2000] / rng.integers(1, 10**6, 2000)
    a, b = a.astype(dtype.numpy), b.astype(dtype.numpy)
    a[-4:], b[-4:] = [np.inf, 1.0, -0.0, 5.0], [1.0, np.inf, 3.0, 0.0]
    kernel = PointwiseKernel("fmod", FORMULAS["fmod"], (dtype, dtype), dtype, (dtype,), LEVELS[-1])
    out = np.empty_like(a)
    kernel.contiguous(out.ctypes.data, a.ctypes.data, b.ctypes.data, a.size)
    with np.errstate(invalid="ignore"):
        expected = np.fmod(a, b)
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(np.signbit(out)[~np.isnan(out)], np.signbit(expected)[~np.isnan(out)])


@pytest.mark.parametrize("y", [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("x", [0.0, -0.0, 2.0, -np.inf, np.inf])
def test_atan2_follows_c_at_the_edges(y: float, x: float) -> None:
    kernel = PointwiseKernel("atan2", FORMULAS["atan2"], (float32, float32), float32, (float32,), LEVELS[-1])
    ys, xs, out = np.full(20, y, np.float32), np.full(20, x, np.float32), np.empty(20, np.float32)
    kernel.contiguous(out.ctypes.data, ys.ctypes.data, xs.ctypes.data, 20)
    expected = np.arctan2(np.float64(y), np.float64(x)).astype(np.float32)
    np.testing.assert_array_equal(out, np.full(20, expected))
    np.testing.assert_array_equal(np.signbit(out), np.full(20, np.signbit(expected)))


def test_pow_of_float32_is_within_half_a_unit_and_a_bit() -> None:
    rng = np.random.default_rng(10)
    x = np.exp(rng.uniform(-20, 20, 4000)).astype(np.float32)
    y = rng.uniform(-4, 4, 4000).astype(np.float32)
    x[::7] *= -1
    y[::7] = np.round(y[::7])
    kernel = PointwiseKernel("pow", FORMULAS["pow"], (float32, float32), float32, (float32,), LEVELS[-1])
    out = np.empty_like(x)
    kernel.contiguous(out.ctypes.data, x.ctypes.data, y.ctypes.data, x.size)
    assert ulps(out, np.power(x.astype(np.longdouble), y.astype(np.longdouble))) <= 0.51


@pytest.mark.parametrize("name", ["erf", "erfc"])
def test_error_functions(name: str) -> None:
    x = np.concatenate([np.linspace(-10.2, 10.2, 3001), np.linspace(-1e-3, 1e-3, 501)]).astype(np.float32)
    exact = np.array([getattr(math, name)(float(v)) for v in x])
    assert ulps(run(name, float32, x), exact) <= 1.0


@pytest.mark.parametrize("level", range(len(LEVELS)), ids=[level.name for level in LEVELS])
@pytest.mark.parametrize("dtype", [float32, float64], ids=str)
def test_ldexp_is_within_one_unit_of_the_rounded_power_times_the_number(dtype: DType, level: int) -> None:
    rng = np.random.default_rng(11)
    a = np.concatenate([[-0.3, -0.0, np.inf, 0.5, 0.0], rng.standard_normal(200_000)]).astype(dtype.numpy)
    x = np.concatenate([[-0.3, 5.0, -3.0, 1024.0, np.inf], rng.standard_normal(200_000) * 20]).astype(dtype.numpy)
    kernel = PointwiseKernel("ldexp", FORMULAS["ldexp"], (dtype, dtype), dtype, (dtype,), LEVELS[level])
    out = np.empty_like(a)
    kernel.contiguous(out.ctypes.data, a.ctypes.data, x.ctypes.data, a.size)
    np.testing.assert_array_equal(out[1:5], np.array([-0.0, np.inf, np.inf, np.nan], out.dtype))
    assert np.signbit(out[1])
    with np.errstate(over="ignore", invalid="ignore"):
        power = np.exp2(x.astype(np.longdouble)).astype(out.dtype)
        expected = (a.astype(np.float64) * power.astype(np.float64)).astype(out.dtype)
    assert np.max(np.abs(out[5:] - expected[5:]) / np.spacing(np.abs(expected[5:]))) <= 1.0


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
@pytest.mark.parametrize("dtype", [gb.float32, gb.float64])
def test_a_large_angle_gives_the_same_alone_in_the_rest_of_a_vector_and_among_small_ones(
    name: str, dtype: gb.dtype
) -> None:
    function = getattr(gb, name)
    angles = gb.tensor([1e18, -3e25, 0.5, float(2**40 + 2**20), -1e6, 7e11, 1e30], dtype=dtype).repeat(5)
    whole = function(angles)
    for size in (1, 2, 3, 9, 17, 33):
        assert function(angles[:size]).tolist() == whole[:size].tolist()
    assert function(angles[::2]).tolist() == whole[::2].tolist()
    for angle, value in zip(angles.tolist(), whole.tolist(), strict=True):
        assert value == pytest.approx(getattr(math, name)(angle), rel=1e-6)
