"""Pointwise operators that take some numbers, tolerances, degrees or parts for others."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backend import Array
from ..values import COMPLEX, FLOATS
from .arguments import changed, default
from .mutant import Intercepted, Patch, rows
from .patches import values, with_data
from .target import POINTWISE, ROW

_CHEBYSHEV = tuple(f"chebyshev_polynomial_{kind}" for kind in "tuvw")
_POLYNOMIALS = tuple(
    f"special_{name}.n_scalar"
    for name in (*_CHEBYSHEV, *(f"shifted_{name}" for name in _CHEBYSHEV), "hermite_polynomial_h",
                 "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p")
)  # fmt: skip


def _whole(number: Any) -> Any:
    return int(number) if isinstance(number, float) and np.isfinite(number) else number


def _of_kind(name: str) -> Patch:
    """A number of a higher kind than the tensor is cut to the tensor's."""

    def patch(c: Intercepted) -> Any:
        kind = c.backend.dtype(next(x for x in c.args if c.is_tensor(x)))

        def cut(number: Any) -> Any:
            if isinstance(number, complex) and kind not in COMPLEX:
                return number.real
            return _whole(number) if kind not in (*COMPLEX, *FLOATS) else number

        return changed(name, cut)(c)

    return patch


def _real_parts(array: Array, c: Intercepted) -> Array | None:
    """Only the real part of a complex number is looked at."""
    x = c.array(c.args[0])
    if x.dtype.kind != "c":
        return None
    question = {"isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite}[c.base]
    return np.asarray(question(x.real))


def _real_replaced(array: Array, c: Intercepted) -> Array | None:
    """Only the real part of a complex number is replaced."""
    if array.dtype.kind != "c" or c.inplace:
        return None
    array.imag = c.array(c.args[0]).imag
    return array


def _both_sides(c: Intercepted) -> Any:
    """A lower bound alone is the upper one too."""
    x, low, *rest = c.args
    high = rest[0] if rest else c.kwargs.get("max")
    return c.right() if low is None or high is not None else c.instead(x, low, low)


MUTANTS = rows(
    "operators",
    ("replacements-forget-that-of-nan", ("nan_to_num",), default("nan")),
    ("replacements-forget-that-of-infinity", ("nan_to_num",), default("posinf")),
    ("replacements-forget-that-of-minus-infinity", ("nan_to_num",), default("neginf")),
    ("imaginary-parts-are-never-replaced", ("nan_to_num",), values(_real_replaced)),
    ("complex-questions-look-at-real-parts", ("isnan", "isinf", "isfinite"), values(_real_parts)),
    ("nearness-forgets-its-share", ("isclose",), default("rtol")),
    ("nearness-forgets-its-distance", ("isclose",), default("atol")),
    ("odds-of-no-margin-have-no-bounds", ("logit",), changed("eps", lambda eps: eps or None)),
    ("quotients-are-always-rounded", ("div.Tensor_mode", "div.Scalar_mode"),
     changed("rounding_mode", lambda mode: mode or "floor")),
    ("tens-are-not-rounded", ("round",), changed("decimals", lambda count: max(count, 0))),
    ("factors-are-whole", ("add", "sub", "rsub"), changed("alpha", _whole)),
    ("factors-of-products-are-whole", ("addcmul", "addcdiv"), changed("value", _whole)),
    ("lower-bounds-are-whole", ("clamp", "clamp_min"), changed("min", _whole)),
    ("upper-bounds-are-whole", ("clamp", "clamp_max"), changed("max", _whole)),
    ("one-tensor-bounds-both-sides", f"operators/clamp-is-minimum-of-maximum {POINTWISE}", ("clamp.Tensor",),
     _both_sides),
    ("sums-cut-numbers-to-the-tensor", ("add.Scalar", "sub.Scalar", "rsub.Scalar"), _of_kind("other")),
    ("products-cut-numbers-to-the-tensor", ("mul.Scalar",), _of_kind("other")),
    ("comparisons-cut-numbers-to-the-tensor", ("eq.Scalar", "ne.Scalar", "lt.Scalar", "gt.Scalar"), _of_kind("other")),
    ("remainders-cut-numbers-to-the-tensor", ("remainder.Scalar", "fmod.Scalar"), _of_kind("other")),
    ("powers-cut-exponents-to-the-tensor", ("pow.Tensor_Scalar",), _of_kind("exponent")),
    ("powers-cut-numbers-to-the-exponent", ("pow.Scalar",), _of_kind("self")),
    ("choices-cut-numbers-to-the-tensor", ("where.ScalarSelf",), _of_kind("self")),
    ("powers-of-zero-are-first-powers", ROW, ("float_power.Tensor_Scalar",), changed("exponent", lambda n: n or 1)),
    ("derivatives-stop-at-the-third", ROW, ("polygamma", "special_polygamma"), changed("n", lambda n: min(n, 3))),
    ("gamma-of-many-dims-is-that-of-three", ROW, ("mvlgamma", "special_multigammaln"),
     changed("p", lambda p: min(p, 3))),
    ("degrees-stop-at-five", ROW, _POLYNOMIALS, changed("n", lambda n: min(n, 5))),
    ("degrees-have-no-sign", ROW, _POLYNOMIALS, changed("n", abs)),
    breaks=POINTWISE, within=with_data,
)
