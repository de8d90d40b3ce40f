"""erf, erfc, erfinv, lgamma and digamma of single numbers, to about 40 digits in decimal arithmetic.

NumPy has none of them. Every distinct argument is computed once and kept: test data come from small tables.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction
from functools import cache

import numpy as np

from ..backend import Array

_DIGITS = 60
_CONTEXT = Context(prec=_DIGITS, Emax=MAX_EMAX, Emin=MIN_EMIN)
_SHIFT = 40
_HALF = Decimal("0.5")

Scalar = Callable[[float], float]


def elementwise(function: Scalar) -> Callable[[Array], Array]:
    """``function`` of every element of an array, as float64; each distinct value, by its bits, is computed once."""
    known: dict[int, float] = {}

    def apply(x: Array) -> Array:
        wide = np.ascontiguousarray(x, dtype=np.float64).reshape(-1)
        bits, places = np.unique(wide.view(np.int64), return_inverse=True)
        results = np.empty(bits.shape, np.float64)
        for k, (key, value) in enumerate(zip(bits.tolist(), bits.view(np.float64).tolist(), strict=True)):
            if key not in known:
                with localcontext(_CONTEXT):
                    known[key] = function(value)
            results[k] = known[key]
        return results[places].reshape(np.shape(x))

    return apply


@cache
def pi() -> Decimal:
    """π by Machin's formula."""
    with localcontext(_CONTEXT) as context:
        context.prec = _DIGITS + 10
        return 4 * (4 * _arctan_inverse(5) - _arctan_inverse(239))


def _arctan_inverse(n: int) -> Decimal:
    power = Decimal(1) / n
    total, k = power, 1
    while abs(power) > Decimal(10) ** -(_DIGITS + 15):
        power /= -n * n
        k += 2
        total += power / k
    return total


def sine(x: Decimal) -> Decimal:
    """sin(x) for small x, by its series."""
    term = total = x
    k = 1
    while term and abs(term) > abs(total) * Decimal(10) ** -(_DIGITS + 5):
        term *= -x * x / ((k + 1) * (k + 2))
        k += 2
        total += term
    return total


def cosine(x: Decimal) -> Decimal:
    return 1 - 2 * sine(x / 2) ** 2


def _erf_series(x: Decimal) -> Decimal:
    term = total = x
    n = 0
    while abs(term) > abs(total) * Decimal(10) ** -_DIGITS:
        n += 1
        term *= 2 * x * x / (2 * n + 1)
        total += term
    return 2 / pi().sqrt() * (-x * x).exp() * total


def _erfc_fraction(x: Decimal) -> Decimal:
    """erfc for x >= 3 by its continued fraction, from the tail."""
    value = x
    for k in range(400, 0, -1):
        value = x + Decimal(k) / 2 / value
    return (-x * x).exp() / (pi().sqrt() * value)


def _erf(x: float) -> float:
    if math.isnan(x) or x == 0:
        return x
    return float(_erf_exact(Decimal(x))) if abs(x) < 7 else math.copysign(1.0, x)


def _erf_exact(x: Decimal) -> Decimal:
    return _erf_series(x) if abs(x) < 3 else (1 - _erfc_fraction(abs(x))).copy_sign(x)


def erfc_exact(x: Decimal) -> Decimal:
    """erfc to as many digits as the context has, or nearly."""
    return 1 - _erf_exact(x) if x < 3 else _erfc_fraction(x)


def _erfc(x: float) -> float:
    if math.isnan(x):
        return x
    return float(erfc_exact(Decimal(x))) if abs(x) < 30 else 1.0 - math.copysign(1.0, x)


def _erfinv(y: float) -> float:
    if math.isnan(y) or y == 0:
        return y
    if abs(y) >= 1:
        return math.copysign(math.inf, y) if abs(y) == 1 else math.nan
    target = abs(Decimal(y))
    log = math.log1p(-y * y)
    first = 2 / (math.pi * 0.147) + log / 2
    guess = Decimal(math.sqrt(max(math.sqrt(first * first - log / 0.147) - first, 0.0)) or abs(y) * 0.886)
    for _ in range(8):
        error = (_erf_exact(guess) - target) if guess < 1 else ((1 - target) - erfc_exact(guess))
        step = error * pi().sqrt() / 2 * (guess * guess).exp()
        guess -= step / (1 + guess * step)
        if abs(step) < guess * Decimal(10) ** -40:
            break
    return math.copysign(float(guess), y)


@cache
def _bernoulli(n: int) -> Fraction:
    """B(2n)."""
    numbers = [Fraction(1)]
    for m in range(1, 2 * n + 1):
        total = sum((math.comb(m + 1, k) * numbers[k] for k in range(m)), Fraction(0))
        numbers.append(-total / (m + 1))
    return numbers[2 * n]


@cache
def _stirling(order: int) -> tuple[tuple[Decimal, ...], tuple[Decimal, ...]]:
    with localcontext(_CONTEXT):
        numbers = [Decimal(b.numerator) / b.denominator for b in (_bernoulli(n) for n in range(1, order + 1))]
        gamma = tuple(b / (2 * n * (2 * n - 1)) for n, b in enumerate(numbers, 1))
        return gamma, tuple(b / (2 * n) for n, b in enumerate(numbers, 1))


def _shifted(x: Decimal) -> tuple[Decimal, int]:
    steps = max(0, _SHIFT - int(x)) if x < _SHIFT else 0
    return x + steps, steps


def lgamma_positive(x: Decimal) -> Decimal:
    """The logarithm of the gamma function of x > 0."""
    product = Decimal(1)
    high, steps = _shifted(x)
    for k in range(steps):
        product *= x + k
    value = (high - _HALF) * high.ln() - high + (2 * pi()).ln() / 2
    for n, factor in enumerate(_stirling(30)[0]):
        value += factor / high ** (2 * n + 1)
    return value - product.ln()


def _sin_pi(x: float) -> Decimal:
    part = Fraction(x) % 2
    folded = min(part % 1, 1 - part % 1)
    return sine(pi() * folded.numerator / folded.denominator)


def _lgamma(x: float) -> float:
    if math.isnan(x):
        return x
    if math.isinf(x) or (x <= 0 and x == math.floor(x)):
        return math.inf
    if x in (1, 2):
        return 0.0
    if x > 0:
        return float(lgamma_positive(Decimal(x)))
    return float((pi() / _sin_pi(x)).ln() - lgamma_positive(1 - Decimal(x)))


def _digamma_positive(x: Decimal) -> Decimal:
    high, steps = _shifted(x)
    value = high.ln() - 1 / (2 * high)
    for n, factor in enumerate(_stirling(30)[1]):
        value -= factor / high ** (2 * n + 2)
    return value - sum((1 / (x + k) for k in range(steps)), Decimal(0))


def _digamma(x: float) -> float:
    if math.isnan(x) or x == math.inf:
        return x
    if x == 0:
        return math.copysign(math.inf, -x)
    if math.isinf(x) or (x < 0 and x == math.floor(x)):
        return math.nan
    if x > 0:
        return float(_digamma_positive(Decimal(x)))
    part = Fraction(x) % 1
    angle = pi() * part.numerator / part.denominator
    return float(_digamma_positive(1 - Decimal(x)) - pi() * cosine(angle) / sine(angle))


erf, erfc, erfinv, lgamma, digamma = (elementwise(f) for f in (_erf, _erfc, _erfinv, _lgamma, _digamma))
