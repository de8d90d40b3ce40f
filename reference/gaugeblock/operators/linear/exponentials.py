"""The exponential of a stack of matrices: scaling, a Pade approximant, and squaring."""

from __future__ import annotations

import math

from ...core import lazy_numpy as np
from ..arrays import Array
from . import stacks

LARGEST = {7: 3.0, 13: 5.0}
"""Order of an approximant -> the norm of the matrices up to which it is good enough: that of order 7 for results in
single precision. Larger matrices are halved, and the result is squared back."""
POWERS = (0, 2, 4, 6)


def _coefficients(order: int) -> list[list[float]]:
    """Return the rows that make polynomials of the POWERS of a matrix: for an order above 6 first those that are
    multiplied by the sixth power again, of odd and of even powers, then the others. A row of odd powers is divided by
    the matrix. The denominator of the approximant has the numerator's with alternating signs."""
    m, of = order, math.factorial
    every = [of(2 * m - k) * of(m) / (of(2 * m) * of(m - k) * of(k)) for k in range(m + 1)] + [0.0] * 6
    parts = [[every[k + 1 : k + 8 : 2], every[k : k + 7 : 2]] for k in (0, 6)]
    high = [[0.0, *row[1:]] for row in parts[1]] if m > 7 else []
    return [*high, *parts[0]]


def exponential(array: Array, *, single: bool) -> Array:
    """exp of matrices in double precision, `single` if the result is rounded to that; NaN where one is not finite."""
    order = 7 if single else 13
    norm = np.abs(array).sum(-2).max(-1, initial=0)
    finite = np.isfinite(norm)
    whole = bool(finite.all())
    given = array if whole else np.where(finite[..., None, None], array, 0)
    with np.errstate(all="ignore"):
        # The norms of powers say more than that of the matrix, but nothing of what cancels in them: the digits beyond
        # single precision make up for that.
        shift = np.maximum(np.frexp(np.where(finite, norm, 0))[1], 0)
        base = given * np.ldexp(1.0, -shift)[..., None, None]
        powers = np.empty((len(POWERS), *array.shape), array.dtype)
        powers[0] = np.eye(array.shape[-1])
        for place, left, right in ((1, base, base), (2, powers[1], powers[1]), (3, powers[1], powers[2])):
            np.matmul(left, right, out=powers[place])
        if single:
            fourth, sixth = np.abs(powers[2:]).sum(-2).max(-1, initial=0)
            norm = np.ldexp(np.maximum(fourth ** (1 / 4), sixth ** (1 / 6)), shift)
        halvings = np.maximum(np.ceil(np.log2(norm / LARGEST[order])), 0)
        halvings = np.where(finite, halvings, 0).astype(np.int64)
        factor = np.ldexp(1.0, shift - halvings)[..., None, None]
        for place, power in enumerate(POWERS[1:], 1):
            powers[place] *= factor**power
        rows = np.asarray(_coefficients(order))
        found = np.matmul(rows, powers.reshape(len(POWERS), -1)).reshape(-1, *array.shape)
        odd, even = found[-2:] if single else found[-2:] + np.matmul(powers[3], found[:2])
        odd = np.matmul(base * factor, odd)
        result = stacks.lapack("solve", even - odd, even + odd)
        for k in range(int(halvings.max(initial=0))):
            squared = np.matmul(result, result)
            result = squared if (k < halvings).all() else np.where((k < halvings)[..., None, None], squared, result)
    return result if whole else np.where(finite[..., None, None], result, np.nan)
