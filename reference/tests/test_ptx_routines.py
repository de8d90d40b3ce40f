"""Functions of grid kernels and of the CPU's, which are one formula: large angles, lgamma, remainders, complex ones."""

from __future__ import annotations

import itertools
import math
from typing import Any

import mpmath
import numpy as np
import pytest
from gaugeblock.core.dtype import DType, complex64, complex128, float32, float64
from gaugeblock.operators.pointwise import formula_kernel
from gaugeblock_testing import host_grid

Array = np.ndarray[Any, Any]
SPECIAL = (0.0, 1.0, 0.5, 2.0, 3.0, 4.0, 30.0, 800.0, 1e10, 1e300, 1.7e308, np.inf, 1e-20, 1e-310, 5e-324)
SIGNED = (*SPECIAL, *(-x for x in SPECIAL), np.nan)
HARD = (6381956970095103 * 2.0**797, 5.319372648326541e255, 2.0**1023, 1.7976931348623157e308)
"""Numbers very close to multiples of pi/2, and the largest."""
BELOW_ZEROS = (-2.4570248, -2.7476827, -3.1435809, -3.9552944, -4.0393615, -4.991544, -5.008218, -5.9986073, -7.0001984)
"""The float32 numbers next to zeros of lgamma."""
COMPLEX = (
    "exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan", "asinh", "acosh",
    "atanh",
)  # fmt: skip


def both(name: str, dtype: DType, *arrays: Array) -> tuple[Array, Array]:
    """What the grid computes, and what the CPU's kernel does."""
    kernel = formula_kernel(name, (dtype,) * len(arrays), dtype, dtype)
    own, other = np.zeros_like(arrays[0]), np.zeros_like(arrays[0])
    addresses = [array.ctypes.data for array in arrays]
    host_grid.run(kernel, own.shape, [(dtype.itemsize,)] * (len(arrays) + 1), [own.ctypes.data, *addresses])
    kernel.contiguous(other.ctypes.data, *addresses, own.size)
    return own, other


def equal(a: Array, b: Array) -> Array:
    """Equal, signs of zeros included; NaN is NaN."""
    same: Array = ((a == b) & (np.signbit(a) == np.signbit(b))) | (np.isnan(a) & np.isnan(b))
    return same


def assert_same(own: Array, other: Array) -> None:
    """Fail unless complex results are equal."""
    assert (equal(own.real, other.real) & equal(own.imag, other.imag)).all()


def units(name: str, x: Array, values: Array) -> float:
    """The largest error in units in the last place of what is right."""
    worst = 0.0
    function = getattr(mpmath, name) if name != "lgamma" else lambda t: mpmath.log(abs(mpmath.gamma(t)))
    with mpmath.workprec(1400):
        for given, value in zip(x, values, strict=True):
            exact = function(mpmath.mpf(float(given)))
            unit = np.spacing(np.abs(x.dtype.type(float(exact))))
            worst = max(worst, abs(float((mpmath.mpf(float(value)) - exact) / mpmath.mpf(float(unit)))))
    return worst


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_large_angles(name: str) -> None:
    rng = np.random.default_rng(3)
    x = np.concatenate([np.exp(rng.uniform(20.8, 709, 60)) * rng.choice([-1.0, 1.0], 60), HARD])
    own, other = both(name, float64, x)
    assert units(name, x, own) < 0.8
    assert equal(own, other).all()
    single = np.exp(rng.uniform(11.8, 88, 60)).astype(np.float32)
    own, other = both(name, float32, single)
    assert units(name, single, own) < 0.501
    assert equal(own, other).all()
    endless = np.array([np.inf, -np.inf, np.nan])
    assert np.isnan(both(name, float64, endless)[0]).all()


def test_remainders_are_exact() -> None:
    rng = np.random.default_rng(4)
    a, b = (np.exp(rng.uniform(low, 709, 2000)) * rng.choice([-1.0, 1.0], 2000) for low in (-700, -744))
    special = np.array(list(itertools.product(SIGNED, SIGNED)))
    a, b = np.concatenate([a, special[:, 0]]), np.concatenate([b, special[:, 1]])
    with np.errstate(invalid="ignore"):
        right = np.fmod(a, b)
    for found in both("fmod", float64, a, b):
        assert equal(found, right).all()


def test_lgamma() -> None:
    rng = np.random.default_rng(5)
    parts = [rng.uniform(0, 3, 100), rng.uniform(2, 14, 100), 1 + rng.standard_normal(30) * 1e-6]
    x = np.concatenate([*parts, 2 + rng.standard_normal(30) * 1e-6, np.exp(rng.uniform(-700, 2, 30))])
    own, other = both("lgamma", float64, x)
    assert units("lgamma", x, own) < 0.6
    assert equal(own, other).all()
    own, other = both("lgamma", float64, np.array(SIGNED))
    assert equal(own, other).all()
    endless = [np.isinf(s) or s == 1.7e308 or (s <= 0 and s == int(s)) for s in SIGNED[:-1]]
    right = [math.inf if end else math.lgamma(s) for s, end in zip(SIGNED, endless, strict=False)]
    np.testing.assert_allclose(own[:-1], right, rtol=1e-15)
    below = -rng.uniform(0, 20, 200)
    own, other = both("lgamma", float64, below)
    assert equal(own, other).all()
    np.testing.assert_allclose(own, [math.lgamma(s) for s in below], rtol=1e-14, atol=1e-14)
    for single in (rng.uniform(0, 30, 200), -rng.uniform(0, 30, 200), BELOW_ZEROS):
        x = np.asarray(single).astype(np.float32)
        own, other = both("lgamma", float32, x)
        assert equal(own, other).all()
        assert units("lgamma", x, own) < 0.501


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_functions(name: str) -> None:
    rng = np.random.default_rng(6)
    sizes = np.exp(rng.uniform(-20, 5, (2, 300))) * rng.standard_normal((2, 300))
    special = np.array(list(itertools.product(SIGNED, SIGNED))).T
    re, im = np.concatenate([sizes, special], axis=1)
    z = np.empty(len(re), np.complex128)
    z.real, z.imag = re, im
    own, other = both(name, complex128, z)
    assert_same(own, other)
    function = getattr(np, f"arc{name[1:]}" if name[0] == "a" else name)
    with np.errstate(all="ignore"):
        right = function(z)
    for a, b in ((own.real, right.real), (own.imag, right.imag)):
        with np.errstate(invalid="ignore"):
            wrong = ~(equal(a, b) | (np.abs(a - b) <= 2e-15 * np.abs(b) + 1e-323))
        assert not wrong.any(), (z[wrong][:3], own[wrong][:3], right[wrong][:3])
    small = z[:300].astype(np.complex64)
    own, other = both(name, complex64, small)
    assert_same(own, other)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(own, function(small.astype(np.complex128)).astype(np.complex64), rtol=2e-7)


def test_complex_powers() -> None:
    rng = np.random.default_rng(7)
    base, exponent = (rng.standard_normal(200) + 1j * rng.standard_normal(200) for _ in range(2))
    own, other = both("pow", complex128, base, exponent)
    assert own.tobytes() == other.tobytes()
    np.testing.assert_allclose(own, base**exponent, rtol=4e-15)
