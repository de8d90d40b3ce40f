"""Elementary functions: error bounds against higher precision, at every level."""

from __future__ import annotations

from typing import Any

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
    row = FORMULAS[name]
    kernel = PointwiseKernel(name, row.function, (dtype,), dtype, (dtype,), LEVELS[level])
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
def test_float32_is_within_half_a_unit_and_a_bit(name: str, level: int) -> None:
    x = points(*DOMAINS[name], float32)
    exact = getattr(np, name)(x.astype(np.longdouble))
    assert ulps(run(OURS[name], float32, x, level), exact) <= 0.51


@pytest.mark.parametrize("name", DOMAINS)
def test_float64_is_within_two_units(name: str) -> None:
    x = points(*DOMAINS[name], float64)
    exact = getattr(np, name)(x.astype(np.longdouble))
    assert ulps(run(OURS[name], float64, x), exact) <= 2.0


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
