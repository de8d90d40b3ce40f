"""Formulas of elementary and special functions, number theory, tolerance tests, and numbers taken apart and joined.

The elementary ones are within 1 ULP in float32 and float64, and complex in double precision, as the special ones are.
The modules of Bessel functions, polynomials and their kin are imported when a formula is first recorded.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from ...core.dtype import DType, bfloat16, float16
from ...kernels import elementary, exponential, logarithm, special, trigonometry
from ...kernels.conversion import from_storage, to_storage
from ...kernels.division import trunc_divide_int
from ...kernels.expression import F64, UINT, Complex, Expr, Value, choose, constant, select, while_loop
from ...kernels.functions import cast, copysign, fabs, isnan, maximum, polynomial, sqrt
from ..deferred import Deferred
from . import comparison
from .comparison import truth


def relu(self: Expr) -> Expr:
    """max(self, 0), NaN kept."""
    return maximum(self, constant(0, self.type))


def angle(self: Value) -> Expr:
    """Argument of a complex number; 0 or pi for reals, NaN kept."""
    if isinstance(self, Complex):
        return trigonometry.atan2(self.im, self.re)
    return select(self != self, self, select(self < 0.0, constant(3.141592653589793, self.type), 0.0))


def logit_eps(self: Expr, eps: Expr) -> Expr:
    """logit of self kept within [eps, 1 - eps]."""
    low = select(self < eps, eps, self)
    top = constant(1.0, self.type) - eps
    return logarithm.logit(select(low > top, top, low))


def logaddexp(self: Value, other: Value) -> Value:
    """log(exp(self) + exp(other))."""
    if isinstance(self, Complex) and isinstance(other, Complex):
        swap = other.re > self.re
        top, low = choose(swap, other, self), choose(swap, self, other)
        return top + elementary.function(elementary.function(low - top, "exp"), "log1p")
    assert isinstance(self, Expr) and isinstance(other, Expr)
    return special.in_double(special.logaddexp, self, other)


def sinc(self: Value) -> Value:
    """sin(pi self) / (pi self)."""
    if isinstance(self, Complex):
        scaled = self * math.pi
        return choose(~truth(self), self.lift(1.0), elementary.function(scaled, "sin") / scaled)
    return special.in_double(special.sinc, self)


def heaviside(self: Expr, values: Expr) -> Expr:
    """0 below 0 and for NaN, 1 above, `values` at 0."""
    return select(self == constant(0, self.type), values, cast(self > constant(0, self.type), self.type))


def ldexp(self: Value, other: Value) -> Value:
    """self * 2**other."""
    if isinstance(self, Expr) and isinstance(other, Expr):
        return exponential.times_exp2(self, other)
    return self * elementary.function(other, "exp2")


def _absolute_int(x: Expr) -> Expr:
    return select(x < 0, -x, x) if x.type.kind == "int" else x


def gcd(self: Expr, other: Expr) -> Expr:
    """Greatest common divisor, not negative (but for int_min)."""
    sizes = [cast(_absolute_int(x), UINT[x.type.bits]) for x in (self, other)]
    divisor, _ = while_loop(lambda a, b: b != 0, lambda a, b: (b, Expr("urem", a.type, (a, b))), *sizes)
    return cast(divisor, self.type)


def lcm(self: Expr, other: Expr) -> Expr:
    """Least common multiple, not negative."""
    divisor = gcd(self, other)
    zero = divisor == 0
    quotient = trunc_divide_int(self, select(zero, constant(1, divisor.type), divisor))
    return _absolute_int(select(zero, constant(0, self.type), quotient * other))


def next_after(self: Expr, other: Expr, compute: DType) -> Expr:
    """The number of dtype `compute` next to self in the direction of other."""
    if compute not in (float16, bfloat16):
        return special.next_after(self, other)
    bits = to_storage(self, compute, False)[0]
    moved = from_storage((special.next_bits(self, bits, other > self),), compute, False)
    smallest = from_storage((constant(1, UINT[16]),), compute, False)
    assert isinstance(moved, Expr) and isinstance(smallest, Expr)
    moved = select(self == 0.0, copysign(smallest, other), moved)
    return select(isnan(self) | isnan(other), self + other, select(self == other, other, moved))


next_after.takes_dtype = True  # type: ignore[attr-defined]


def isclose(self: Value, other: Value, rtol: Value, atol: Value, *, equal_nan: bool) -> Expr:
    """Equal, or finite with |self - other| <= atol + |rtol * other|."""
    same = self == other
    if equal_nan:
        same = same | (comparison.isnan(self) & comparison.isnan(other))
    relative, absolute = (t.re if isinstance(t, Complex) else t for t in (rtol, atol))
    if isinstance(self, Complex) and isinstance(other, Complex):
        distance = trigonometry.hypot(self.re - other.re, self.im - other.im)
        scale = trigonometry.hypot(other.re, other.im)
    else:
        assert isinstance(self, Expr) and isinstance(other, Expr)
        distance, scale = fabs(self - other), fabs(other)
    return same | ((distance <= absolute + fabs(relative * scale)) & (distance < float("inf")))


def nan_to_num(self: Value, nan: Value, posinf: Value, neginf: Value) -> Value:
    """NaN and infinities replaced, component by component."""
    numbers = [n.re if isinstance(n, Complex) else n for n in (nan, posinf, neginf)]

    def replaced(x: Expr) -> Expr:
        finite = select(x == float("inf"), numbers[1], select(x == -float("inf"), numbers[2], x))
        return select(isnan(x), numbers[0], finite)

    return Complex(replaced(self.re), replaced(self.im)) if isinstance(self, Complex) else replaced(self)


def softmax(self: Expr, largest: Expr, total: Expr) -> Expr:
    """exp(self - largest) / total."""
    return special.in_double(lambda library, x, m, s: library("exp", x - m) / s, self, largest, total)


def log_softmax(self: Expr, largest: Expr, total: Expr) -> Expr:
    """self - largest - log(total)."""
    return cast(cast(self, F64) - cast(largest, F64) - logarithm.log(total), self.type)


_NAMED = (
    "exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc erfinv "
    "lgamma"
)
"""Formulas that are those of `elementary`."""
_LATE = {
    "i0": "bessel.modified_i0", "special_i0e": "bessel.i0e", "special_i1": "bessel.modified_i1",
    "special_i1e": "bessel.i1e", "special_airy_ai": "bessel.airy",
    "special_spherical_bessel_j0": "bessel.spherical_j0", "special_bessel_j0": "bessel.bessel_j0",
    "special_bessel_j1": "bessel.bessel_j1", "special_bessel_y0": "bessel.bessel_y0",
    "special_bessel_y1": "bessel.bessel_y1", "special_modified_bessel_i0": "bessel.modified_i0",
    "special_modified_bessel_i1": "bessel.modified_i1", "special_modified_bessel_k0": "bessel.modified_k0",
    "special_modified_bessel_k1": "bessel.modified_k1", "special_scaled_modified_bessel_k0": "bessel.scaled_k0",
    "special_scaled_modified_bessel_k1": "bessel.scaled_k1", "special_ndtr": "special.ndtr",
    "special_ndtri": "special.ndtri", "special_log_ndtr": "special.log_ndtr", "special_erfcx": "special.erfcx",
    "special_xlog1py": "special.xlog1py", "special_entr": "special.entropy", "special_zeta": "gamma.zeta",
    "digamma": "gamma.digamma", "trigamma": "gamma.trigamma", "polygamma": "gamma.polygamma",
    "polygamma.log": "gamma.polygamma_by_logarithm", "igamma": "gamma.lower_gamma", "igammac": "gamma.upper_gamma",
    "special_chebyshev_polynomial_t": "polynomials.chebyshev_t",
    "special_chebyshev_polynomial_u": "polynomials.chebyshev_u",
    "special_chebyshev_polynomial_v": "polynomials.chebyshev_v",
    "special_chebyshev_polynomial_w": "polynomials.chebyshev_w",
    "special_shifted_chebyshev_polynomial_t": "polynomials.shifted_chebyshev_t",
    "special_shifted_chebyshev_polynomial_u": "polynomials.shifted_chebyshev_u",
    "special_shifted_chebyshev_polynomial_v": "polynomials.shifted_chebyshev_v",
    "special_shifted_chebyshev_polynomial_w": "polynomials.shifted_chebyshev_w",
    "special_hermite_polynomial_h": "polynomials.hermite_h", "special_hermite_polynomial_he": "polynomials.hermite_he",
    "special_laguerre_polynomial_l": "polynomials.laguerre_l",
    "special_legendre_polynomial_p": "polynomials.legendre_p",
}  # fmt: skip
"""Formula -> module of `kernels`, loaded when it is recorded, and function of float64 there."""


def _late(place: str) -> Callable[..., Any]:
    module, _, function = place.partition(".")
    return functools.partial(special.in_double, Deferred(f"{special.__package__}.{module}", function))


def _off_the_ends(index: Expr, last: Expr) -> Expr:
    """The part of a window between a place and the nearer end."""
    rest = last - index
    return select(rest < index, rest, index) / last


def cosine_window(index: Expr, last: Expr, a: Expr, b: Expr, c: Expr) -> Expr:
    """The sum of cosines over one period from 0 to `last`, with signs in turn: a - b cos t + c cos 2t."""
    off = _off_the_ends(index, last)
    sine = off * polynomial(off * off, _SINE_OF_HALF_TURN)
    square = sine * sine
    return a - b + c + square * (2.0 * b - 8.0 * c + 8.0 * c * square)


_SINE_OF_HALF_TURN = (
    7.697847275590284e-07, -2.1903499125519212e-05, 0.00046629981702308817, -0.007370430506093225, 0.08214588657312355,
    -0.599264529318946, 2.5501640398773007, -5.167712780049969, 3.141592653589793,
)  # fmt: skip
"""sin(pi x) / x in powers of x**2, highest first, for x from 0 to 1/2."""


def bartlett_window(index: Expr, last: Expr) -> Expr:
    """1 in the middle, 0 at both ends, `last` being the second."""
    return _off_the_ends(index, last) * 2.0


def kaiser_window(index: Expr, last: Expr, beta: Expr, middle: Expr) -> Expr:
    """The Bessel function I0 over a half circle from 0 to `last`, divided by that in the middle."""
    off = index / last * 2.0 - 1.0
    bessel: Expr = _late("bessel.modified_i0")(sqrt(maximum(1.0 - off * off, constant(0.0, off.type))) * beta)
    return bessel / middle


def eigenvector(imaginary: Expr, before: Expr, own: Expr, after: Expr) -> Complex:
    """An element of a column of eigenvectors as LAPACK stores them, with its neighbours: the first column of a pair has
    the real parts of both vectors, the second the imaginary parts."""
    part = select(imaginary > 0.0, after, -own)
    return Complex(select(imaginary < 0.0, before, own), select(imaginary == 0.0, 0.0, part))


FORMULAS: dict[str, Callable[..., Any]] = {
    **{name: functools.partial(elementary.function, name=name) for name in _NAMED.split()},
    **{name: _late(place) for name, place in _LATE.items()},
    "sigmoid": elementary.sigmoid, "relu": relu, "angle": angle, "atan2": trigonometry.atan2,
    "hypot": trigonometry.hypot, "copysign": copysign, "xlogy": functools.partial(special.in_double, special.xlogy),
    "logit": logarithm.logit, "logit.eps": logit_eps, "logaddexp": logaddexp,
    "logaddexp2": functools.partial(special.in_double, special.logaddexp2),
    "sinc": sinc, "heaviside": heaviside, "ldexp": ldexp, "gcd": gcd, "lcm": lcm, "nextafter": next_after,
    "deg2rad": lambda self: self * (math.pi / 180.0), "rad2deg": lambda self: self * (180.0 / math.pi),
    "frexp": special.frexp, "complex": Complex, "eigenvector": eigenvector,
    "cosine_window": cosine_window, "bartlett_window": bartlett_window, "kaiser_window": kaiser_window,
    "polar": special.polar,
    "isclose": functools.partial(isclose, equal_nan=False),
    "isclose.equal_nan": functools.partial(isclose, equal_nan=True), "nan_to_num": nan_to_num,
    "softmax": softmax, "log_softmax": log_softmax,
}  # fmt: skip
