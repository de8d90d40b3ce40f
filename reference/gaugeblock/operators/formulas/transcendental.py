"""Formulas of special functions that are computed in double precision.

The Bessel, Airy and normal distribution functions, zeta and polygamma, the incomplete gamma functions, orthogonal
polynomials.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from ...kernels import airy, bessel, incomplete_gamma, normal, polynomials, special, zeta
from ...kernels.expression import Lane
from .table import Formula, table


def _real(name: str, function: Callable[..., Lane], operands: int = 1) -> Formula:
    return Formula(name, functools.partial(special.in_double, function), operands, compute="float")


_CHEBYSHEV = ("chebyshev_t", "chebyshev_u", "chebyshev_v", "chebyshev_w")
_POLYNOMIALS = (*_CHEBYSHEV, "hermite_h", "hermite_he", "laguerre_l", "legendre_p")


def _polynomial(name: str) -> str:
    """Return the name of a polynomial's operator."""
    family, _, kind = name.rpartition("_")
    return f"{family}_polynomial_{kind}"


FORMULAS = table(
    (
        _real("i0", bessel.modified_i0),
        _real("special_i0e", bessel.i0e),
        _real("special_i1", bessel.modified_i1),
        _real("special_i1e", bessel.i1e),
        _real("special_modified_bessel_i0", bessel.modified_i0),
        _real("special_modified_bessel_i1", bessel.modified_i1),
        _real("special_modified_bessel_k0", bessel.modified_k0),
        _real("special_modified_bessel_k1", bessel.modified_k1),
        _real("special_scaled_modified_bessel_k0", bessel.scaled_k0),
        _real("special_scaled_modified_bessel_k1", bessel.scaled_k1),
        _real("special_bessel_j0", bessel.bessel_j0),
        _real("special_bessel_j1", bessel.bessel_j1),
        _real("special_bessel_y0", bessel.bessel_y0),
        _real("special_bessel_y1", bessel.bessel_y1),
        _real("special_spherical_bessel_j0", bessel.spherical_j0),
        _real("special_airy_ai", airy.airy),
        _real("special_ndtr", normal.ndtr),
        _real("special_ndtri", normal.ndtri),
        _real("special_log_ndtr", normal.log_ndtr),
        _real("special_erfcx", normal.erfcx),
        _real("special_entr", normal.entropy),
        _real("special_xlog1py", normal.xlog1py, 2),
        _real("special_zeta", zeta.zeta, 2),
        _real("trigamma", zeta.trigamma),
        _real("polygamma", zeta.polygamma, 3)._replace(raw=(1, 2)),
        _real("polygamma.log", zeta.polygamma_by_logarithm, 3)._replace(raw=(1, 2)),
        _real("igamma", incomplete_gamma.lower, 2),
        _real("igammac", incomplete_gamma.upper, 2),
        *(_real(f"special_{_polynomial(name)}", getattr(polynomials, name), 2) for name in _POLYNOMIALS),
        *(
            _real(f"special_shifted_{_polynomial(name)}", polynomials.shifted(getattr(polynomials, name)), 2)
            for name in _CHEBYSHEV
        ),
    )
)
