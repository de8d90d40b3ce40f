"""What the formulas say about special values, as literals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from gaugeblock.core.dtype import BY_NAME, bool_, complex128, dtype_by_name, float32, float64, int32
from gaugeblock.kernels.conversion import Immediate
from gaugeblock.kernels.pointwise import pointwise_kernel
from gaugeblock.operators.formulas import FORMULAS, arithmetic, comparison, networks, quantization, special

from .formula_facts import operand_count, result_dtype

INF, NAN = float("inf"), float("nan")


def evaluate(name: str, dtype_name: str, *arguments: Any) -> Any:
    """The formula of single values, computed 67 times over so that vector and scalar bodies both run."""
    dtype = dtype_by_name(dtype_name)
    result = result_dtype(name, dtype)
    kernel = pointwise_kernel(name, FORMULAS[name], (dtype,) * operand_count(name), dtype, (result,))
    arrays = [np.full(67, argument, dtype.numpy) for argument in arguments]
    out = np.empty(67, result.numpy)
    kernel.contiguous(out.ctypes.data, *[array.ctypes.data for array in arrays], 67)
    assert len({value.tobytes() for value in out}) == 1 or np.isnan(out.astype(complex)).all()
    return out[0].item()


def same(got: Any, expected: Any) -> bool:
    if isinstance(expected, float):
        if math.isnan(expected):
            return math.isnan(got)
        return bool(got == expected) and math.copysign(1.0, got) == math.copysign(1.0, expected)
    return bool(got == expected)


FLOAT_ROWS = [
    ("floor_divide", (7.0, -INF), -1.0),
    ("floor_divide", (-7.0, 2.0), -4.0),
    ("floor_divide", (INF, 2.0), NAN),
    ("floor_divide", (1.0, 0.0), INF),
    ("remainder", (-7.0, INF), INF),
    ("remainder", (7.0, -3.0), -2.0),
    ("remainder", (1.0, 0.0), NAN),
    ("fmod", (-7.0, 3.0), -1.0),
    ("maximum", (1.0, NAN), NAN),
    ("maximum", (NAN, 1.0), NAN),
    ("minimum", (NAN, 1.0), NAN),
    ("fmax", (NAN, 1.0), 1.0),
    ("fmin", (1.0, NAN), 1.0),
    ("fmax", (NAN, NAN), NAN),
    ("sign", (NAN,), 0.0),
    ("sign", (-3.0,), -1.0),
    ("pow", (NAN, 0.0), 1.0),
    ("pow", (1.0, NAN), 1.0),
    ("pow", (-2.0, 3.0), -8.0),
    ("round", (2.5,), 2.0),
    ("round", (-0.5,), -0.0),
    ("ceil", (-0.5,), -0.0),
    ("trunc", (-0.7,), -0.0),
    ("frac", (-1.25,), -0.25),
    ("neg", (0.0,), -0.0),
    ("abs", (-0.0,), 0.0),
    ("sqrt", (-0.0,), -0.0),
    ("sqrt", (-1.0,), NAN),
    ("reciprocal", (-0.0,), -INF),
    ("log", (0.0,), -INF),
    ("log", (-1.0,), NAN),
    ("log1p", (-0.0,), -0.0),
    ("expm1", (-0.0,), -0.0),
    ("exp", (-INF,), 0.0),
    ("exp", (INF,), INF),
    ("exp", (NAN,), NAN),
    ("tanh", (INF,), 1.0),
    ("sigmoid", (-INF,), 0.0),
    ("clamp", (5.0, 4.0, 2.0), 2.0),
    ("clamp", (1.0, NAN, 2.0), NAN),
    ("hypot", (INF, NAN), INF),
    ("copysign", (3.0, -0.0), -3.0),
    ("relu", (NAN,), NAN),
    ("xlogy", (0.0, 0.0), 0.0),
    ("logaddexp", (-INF, -INF), -INF),
    ("sinc", (0.0,), 1.0),
    ("erfinv", (1.0,), INF),
    ("heaviside", (0.0, 0.25), 0.25),
]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize(("name", "arguments", "expected"), FLOAT_ROWS, ids=str)
def test_float_table(name: str, arguments: tuple[float, ...], expected: float, dtype: str) -> None:
    got = evaluate(name, dtype, *arguments)
    assert same(got, expected), got


INT_ROWS = [
    ("abs", "int8", (-128,), -128),
    ("neg", "int8", (-128,), -128),
    ("floor_divide", "int8", (-128, -1), -128),
    ("remainder", "int64", (-(2**63), -1), 0),
    ("floor_divide", "int32", (-7, 2), -4),
    ("div.trunc", "int32", (-7, 2), -3),
    ("remainder", "int32", (-7, 2), 1),
    ("fmod", "int32", (-7, 2), -1),
    ("pow", "int32", (3, 21), 3**21 - 2 * 2**32),
    ("pow", "int64", (2, -1), 0),
    ("pow", "int64", (-1, -3), -1),
    ("pow", "int64", (1, -3), 1),
    ("pow", "int64", (0, 0), 1),
    ("bitwise_left_shift", "int8", (1, 8), 0),
    ("bitwise_left_shift", "int8", (1, -1), 0),
    ("bitwise_left_shift", "int8", (1, 7), -128),
    ("bitwise_right_shift", "int8", (-128, 100), -1),
    ("bitwise_right_shift", "int8", (-128, -1), -1),
    ("bitwise_right_shift", "uint8", (128, 9), 0),
    ("bitwise_not", "uint8", (1,), 254),
    ("gcd", "int32", (-12, 18), 6),
    ("lcm", "int32", (-4, 6), 12),
    ("lcm", "int32", (0, 0), 0),
    ("maximum", "int64", (-3, 2), 2),
]


@pytest.mark.parametrize(("name", "dtype", "arguments", "expected"), INT_ROWS, ids=str)
def test_int_table(name: str, dtype: str, arguments: tuple[int, ...], expected: int) -> None:
    assert evaluate(name, dtype, *arguments) == expected


@pytest.mark.parametrize("a", [False, True])
@pytest.mark.parametrize("b", [False, True])
def test_bool_arithmetic_is_logic(a: bool, b: bool) -> None:
    assert evaluate("add", "bool", a, b) is (a or b)
    assert evaluate("mul", "bool", a, b) is (a and b)
    assert evaluate("maximum", "bool", a, b) is (a or b)
    assert evaluate("bitwise_not", "bool", a) is (not a)
    assert evaluate("lt", "bool", a, b) is (a < b)


COMPLEX_ROWS = [
    ("mul", (1 + 2j, 3 - 1j), 5 + 5j),
    ("div", (1 + 2j, 1j), 2 - 1j),
    ("abs", (3 - 4j,), 5.0),
    ("exp", (0j,), 1 + 0j),
    ("sqrt", (-4 + 0j,), 2j),
    ("log", (1j,), math.pi / 2 * 1j),
    ("pow", (2j, 2 + 0j), -4 + 0j),
    ("conj_physical", (1 + 2j,), 1 - 2j),
    ("sgn", (3 + 4j,), 0.6 + 0.8j),
    ("angle", (-1 + 0j,), math.pi),
    ("eq", (1 + 1j, 1 + 1j), True),
    ("isnan", (complex(0.0, NAN),), True),
]


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize(("name", "arguments", "expected"), COMPLEX_ROWS, ids=str)
def test_complex_table(name: str, arguments: tuple[complex, ...], expected: complex, dtype: str) -> None:
    got = evaluate(name, dtype, *arguments)
    assert abs(got - expected) <= (1e-6 if dtype == "complex64" else 1e-15) * max(1.0, abs(expected))


def test_division_by_complex_zero_is_infinite() -> None:
    got = evaluate("div", "complex128", 1 + 1j, 0j)
    assert math.isinf(got.real) and math.isinf(got.imag)


def test_add_alpha_is_fused_for_floats() -> None:
    a, b = np.float32(1.0), np.float32(1.0 + 2.0**-23)
    kernel = pointwise_kernel(
        "add.alpha", FORMULAS["add.alpha"], (float32, float32, Immediate(float32)), float32, (float32,)
    )
    out = np.empty(1, np.float32)
    x, y = np.array([-a]), np.array([b])
    kernel.contiguous(out.ctypes.data, x.ctypes.data, y.ctypes.data, float(b), 1)
    assert out[0] == np.float32(np.float64(b) * np.float64(b) - 1.0)


MASKED = ("fake_quantize", "fake_quantize.single")
SEVERAL = {"batch_statistics": 4, "batch_scale": 2, "running_statistics": 2, "cross": 3}
"""Formula -> how many results it has, if it has several."""


def test_every_formula_records_for_some_dtype() -> None:
    for name, function in FORMULAS.items():
        usable = []
        for dtype in BY_NAME.values():
            try:
                result = result_dtype(name, dtype)
                pairs = {"frexp": (result, int32), **dict.fromkeys(MASKED, (result, bool_))}
                results = pairs.get(name, (result,) * SEVERAL.get(name, 1))
                pointwise_kernel(name, function, (dtype,) * operand_count(name), dtype, results).body()
            except (TypeError, KeyError, AttributeError):
                continue
            usable.append(dtype)
        assert usable, name


def test_complex_exp_of_real_line_equals_real_exp() -> None:
    values = np.linspace(-3, 3, 40)
    kernel = pointwise_kernel("exp", FORMULAS["exp"], (float64,), complex128, (complex128,))
    out = np.empty(40, np.complex128)
    kernel.contiguous(out.ctypes.data, values.ctypes.data, 40)
    np.testing.assert_allclose(out, np.exp(values), rtol=4e-16)


def test_no_formula_stands_in_two_tables() -> None:
    tables = [module.FORMULAS for module in (arithmetic, comparison, networks, quantization, special)]
    assert sum(map(len, tables)) == len(set().union(*tables)) == len(FORMULAS) > 140
