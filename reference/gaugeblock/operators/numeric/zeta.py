"""The Hurwitz zeta function, and polygamma through it."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from ...core.device import cpu
from ...core.dtype import DEFAULTS
from ...iteration.tensor_iterator import TensorIterator, planned_geometry
from ...tensor.array_view import array_of
from ...tensor.tensor import Tensor, new_like
from ..arrays import Array, values
from ..invoke import apply
from ..pointwise_rule import PointwiseRule
from ..rows import rows

LAST_FACTORIAL = 170
"""The last number whose factorial is a float64."""
DIRECT = 12
"""Terms that are summed as they are before the Euler-Maclaurin formula takes the rest."""


def _bernoulli(count: int) -> list[Fraction]:
    """The numbers B_0 to B_count."""
    numbers = [Fraction(1)]
    for n in range(1, count + 1):
        numbers.append(-sum((math.comb(n + 1, k) * numbers[k] for k in range(n)), Fraction(0)) / (n + 1))
    return numbers


CORRECTIONS = [float(number / math.factorial(2 * j)) for j, number in enumerate(_bernoulli(28)[::2])][1:]
"""B_2j / (2j)!"""


def _positive(s: Array, q: Array) -> Array:
    """The sum of (q + k)**-s over k >= 0 for s > 1 and q > 0."""
    total = np.zeros_like(q)
    for k in reversed(range(DIRECT)):
        total += (q + k) ** -s
    a = q + DIRECT
    edge = a**-s
    rest = edge * (a / (s - 1) + 0.5)
    factor = s * edge / a
    for j, number in enumerate(CORRECTIONS):
        term = number * factor
        rest += np.where(np.isfinite(term), term, 0)
        factor = factor * (s + 2 * j + 1) * (s + 2 * j + 2) / (a * a)
    return np.where(np.isposinf(s), np.where(q > 1, 0.0, np.where(q == 1, 1.0, np.inf)), total + rest)


def zeta(s: Array, q: Array) -> Array:
    """The sum of (q + k)**-s over k >= 0: inf at s = 1 and at q = 0, -1, ...; NaN for s < 1, and for q < 0 unless s
    is a whole number."""
    whole = s == np.floor(s)
    below = (q < 0) & whole & (q != np.floor(q)) & (s > 1)
    count = np.where(below, np.ceil(-q), 0)
    start = np.where(q > 0, q, np.where(below, q + count, 1.0))
    value = _positive(np.where(s > 1, s, 2.0), start)
    if below.any():
        nearest = np.where(below, 1 - start, 1.0)
        power = np.where(below, s, 2.0)
        left = _positive(power, nearest) - _positive(power, nearest + count)
        value = np.where(below, value + np.where(power % 2 == 0, left, -left), value)
    value = np.where(q <= 0, np.where(q == np.floor(q), np.inf, np.where(whole, value, np.nan)), value)
    value = np.where(s == 1, np.inf, np.where(s > 1, value, np.nan))
    return np.where(np.isnan(q) | np.isnan(s), np.nan, value)


def derivative(n: int, x: Array) -> Array:
    """The n-th derivative of digamma for n >= 2: a factorial times zeta; for n = 1 by reflection below 1/2.

    Factorials beyond the largest float go by their logarithm; then 0 is what zeta below the smallest float gives.
    """
    if n == 1:
        mirrored = x < 0.5
        sine = np.sin(np.pi * (x - np.rint(x)))
        value = zeta(np.full_like(x, 2.0), np.where(mirrored, 1 - x, x))
        value = np.where(mirrored, (np.pi / sine) ** 2 - value, value)
        return np.where(np.isposinf(x), 0.0, value)
    value = zeta(np.full_like(x, n + 1.0), x)
    if n <= LAST_FACTORIAL:
        value = float(math.factorial(n)) * value
    else:
        value = np.copysign(np.exp(math.lgamma(n + 1.0) + np.log(np.abs(value))), value)
    return value if n % 2 else -value


def polygamma(n: int, self: Tensor) -> Tensor:
    """The n-th derivative of digamma; digamma for n = 0. Raises RuntimeError for a negative n."""
    if n < 0:
        raise RuntimeError(f"polygamma(n, x) does not support negative n, got {n}.")
    if n == 0:
        return apply("digamma", self)
    geometry = self.geometry
    dtype = DEFAULTS.dtype if geometry.dtype.kind < 2 else geometry.dtype
    rule = PointwiseRule(rows()["polygamma"])
    rule.check_inputs(dtype, [geometry.dtype])
    iterator = TensorIterator((None,), (self,), rule.config._replace(static_dtype=dtype)).build(allocate=False)
    result = new_like(planned_geometry(iterator))
    if geometry.device is cpu and geometry.numel:
        with np.errstate(all="ignore"):
            array_of(result)[...] = derivative(n, values(self).astype(np.float64))
    return result


special_polygamma = polygamma


def polygamma_(self: Tensor, n: int) -> Tensor:
    """polygamma written into `self`."""
    return apply("polygamma.out", n, self, out=self)
