"""Formulas of elementary and special functions, number theory, tolerance tests, and numbers taken apart and joined.

The elementary ones are within 1 ULP in float32 and float64, and complex in double precision, as the special ones are.
The modules of Bessel functions, polynomials and their kin are imported when a formula is first recorded.
"""

from __future__ import annotations

import functools
import math

from ...core.dtype import DType, bfloat16, float16
from ...kernels import elementary, exponential, logarithm, special, trigonometry
from ...kernels.conversion import from_storage, to_storage
from ...kernels.division import trunc_divide_int
from ...kernels.expression import F64, UINT, Complex, Expr, Value, choose, constant, select, while_loop
from ...kernels.functions import cast, copysign, fabs, isnan, maximum
from ..deferred import Deferred
from . import comparison
from .comparison import truth
from .table import Formula


def relu(self: Expr) -> Expr:
    """max(self, 0), NaN kept."""
    return maximum(self, constant(0, self.type))


def angle(self: Value) -> Expr:
    """Argument of a complex number; 0 or pi for reals, NaN kept."""
    if isinstance(self, Complex):
        return trigonometry.atan2(self.im, self.re)
    return select(self != self, self, select(self < 0.0, constant(3.141592653589793, self.type), 0.0))


def _named(name: str) -> Formula:
    return Formula(name, functools.partial(elementary.function, name=name), 1, compute="float")


_NAMED = (
    "exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc erfinv "
    "lgamma"
)


def _real(name: str, operands: int, compute: str = "float") -> Formula:
    function = functools.partial(special.in_double, getattr(special, name))
    return Formula(name, function, operands, compute=compute)


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


def _late(name: str, place: str, operands: int = 1) -> Formula:
    """A formula made by a function of a module of `kernels`, given as "module.function"."""
    module, _, function = place.partition(".")
    made = functools.partial(special.in_double, Deferred(f"{special.__package__}.{module}", function))
    return Formula(name, made, operands, compute="float")


_POLYNOMIALS = (
    *(f"{shifted}chebyshev_{kind}" for shifted in ("", "shifted_") for kind in "tuvw"),
    *("hermite_h", "hermite_he", "laguerre_l", "legendre_p"),
)


def _polynomial(name: str) -> Formula:
    family, _, kind = name.rpartition("_")
    return _late(f"special_{family}_polynomial_{kind}", f"polynomials.{name}", 2)


FORMULAS = (
    *map(_named, _NAMED.split()),
    Formula("sigmoid", elementary.sigmoid, 1, compute="float"),
    Formula("relu", relu, 1),
    Formula("angle", angle, 1, compute="float", result="real"),
    Formula("atan2", trigonometry.atan2, 2, compute="float"),
    Formula("hypot", trigonometry.hypot, 2),
    Formula("copysign", copysign, 2, compute="float"),
    _real("xlogy", 2),
    Formula("logit", logarithm.logit, 1, compute="float"),
    Formula("logit.eps", logit_eps, 2, compute="float"),
    Formula("logaddexp", logaddexp, 2),
    _real("logaddexp2", 2, "common"),
    Formula("sinc", sinc, 1, compute="float"),
    Formula("heaviside", heaviside, 2),
    Formula("ldexp", ldexp, 2, compute="float"),
    Formula("gcd", gcd, 2),
    Formula("lcm", lcm, 2),
    Formula("nextafter", next_after, 2),
    Formula("deg2rad", lambda self: self * (math.pi / 180.0), 1, compute="float"),
    Formula("rad2deg", lambda self: self * (180.0 / math.pi), 1, compute="float"),
    Formula("frexp", special.frexp, 1),
    Formula("complex", Complex, 2),
    Formula("polar", special.polar, 2),
    Formula("isclose", functools.partial(isclose, equal_nan=False), 4, result="bool"),
    Formula("isclose.equal_nan", functools.partial(isclose, equal_nan=True), 4, result="bool"),
    Formula("nan_to_num", nan_to_num, 4),
    Formula("softmax", softmax, 3, raw=(0, 1, 2)),
    Formula("log_softmax", log_softmax, 3, raw=(0, 1, 2)),
    _late("i0", "bessel.modified_i0"),
    _late("special_i0e", "bessel.i0e"),
    _late("special_i1", "bessel.modified_i1"),
    _late("special_i1e", "bessel.i1e"),
    _late("special_modified_bessel_i0", "bessel.modified_i0"),
    _late("special_modified_bessel_i1", "bessel.modified_i1"),
    _late("special_modified_bessel_k0", "bessel.modified_k0"),
    _late("special_modified_bessel_k1", "bessel.modified_k1"),
    _late("special_scaled_modified_bessel_k0", "bessel.scaled_k0"),
    _late("special_scaled_modified_bessel_k1", "bessel.scaled_k1"),
    _late("special_bessel_j0", "bessel.bessel_j0"),
    _late("special_bessel_j1", "bessel.bessel_j1"),
    _late("special_bessel_y0", "bessel.bessel_y0"),
    _late("special_bessel_y1", "bessel.bessel_y1"),
    _late("special_spherical_bessel_j0", "bessel.spherical_j0"),
    _late("special_airy_ai", "bessel.airy"),
    _late("special_ndtr", "special.ndtr"),
    _late("special_ndtri", "special.ndtri"),
    _late("special_log_ndtr", "special.log_ndtr"),
    _late("special_erfcx", "special.erfcx"),
    _late("special_entr", "special.entropy"),
    _late("special_xlog1py", "special.xlog1py", 2),
    _late("digamma", "gamma.digamma"),
    _late("special_zeta", "gamma.zeta", 2),
    _late("trigamma", "gamma.trigamma"),
    _late("polygamma", "gamma.polygamma", 3)._replace(raw=(1, 2)),
    _late("polygamma.log", "gamma.polygamma_by_logarithm", 3)._replace(raw=(1, 2)),
    _late("igamma", "gamma.lower_gamma", 2),
    _late("igammac", "gamma.upper_gamma", 2),
    *map(_polynomial, _POLYNOMIALS),
)
