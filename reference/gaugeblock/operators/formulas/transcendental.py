"""Formulas of special functions that are computed in double precision.

The Bessel, Airy and normal distribution functions, zeta and polygamma, the incomplete gamma functions, orthogonal
polynomials. Their modules are imported when a formula is first recorded.
"""

from __future__ import annotations

import functools
from importlib import import_module

from ...kernels import special
from ...kernels.expression import Expr
from .table import Formula, table


class _Late:
    """A function of a module of `kernels`, given as "module.function", that is imported when it is called."""

    def __init__(self, place: str) -> None:
        self.place = place

    def __call__(self, library: special.Function, *exprs: Expr) -> Expr:
        module, _, name = self.place.partition(".")
        result: Expr = getattr(import_module(f"...kernels.{module}", __package__), name)(library, *exprs)
        return result


def _real(name: str, place: str, operands: int = 1) -> Formula:
    return Formula(name, functools.partial(special.in_double, _Late(place)), operands, compute="float")


_POLYNOMIALS = (
    *(f"{shifted}chebyshev_{kind}" for shifted in ("", "shifted_") for kind in "tuvw"),
    *("hermite_h", "hermite_he", "laguerre_l", "legendre_p"),
)


def _polynomial(name: str) -> Formula:
    family, _, kind = name.rpartition("_")
    return _real(f"special_{family}_polynomial_{kind}", f"polynomials.{name}", 2)


FORMULAS = table(
    (
        _real("i0", "bessel.modified_i0"),
        _real("special_i0e", "bessel.i0e"),
        _real("special_i1", "bessel.modified_i1"),
        _real("special_i1e", "bessel.i1e"),
        _real("special_modified_bessel_i0", "bessel.modified_i0"),
        _real("special_modified_bessel_i1", "bessel.modified_i1"),
        _real("special_modified_bessel_k0", "bessel.modified_k0"),
        _real("special_modified_bessel_k1", "bessel.modified_k1"),
        _real("special_scaled_modified_bessel_k0", "bessel.scaled_k0"),
        _real("special_scaled_modified_bessel_k1", "bessel.scaled_k1"),
        _real("special_bessel_j0", "bessel.bessel_j0"),
        _real("special_bessel_j1", "bessel.bessel_j1"),
        _real("special_bessel_y0", "bessel.bessel_y0"),
        _real("special_bessel_y1", "bessel.bessel_y1"),
        _real("special_spherical_bessel_j0", "bessel.spherical_j0"),
        _real("special_airy_ai", "bessel.airy"),
        _real("special_ndtr", "special.ndtr"),
        _real("special_ndtri", "special.ndtri"),
        _real("special_log_ndtr", "special.log_ndtr"),
        _real("special_erfcx", "special.erfcx"),
        _real("special_entr", "special.entropy"),
        _real("special_xlog1py", "special.xlog1py", 2),
        _real("digamma", "gamma.digamma"),
        _real("special_zeta", "gamma.zeta", 2),
        _real("trigamma", "gamma.trigamma"),
        _real("polygamma", "gamma.polygamma", 3)._replace(raw=(1, 2)),
        _real("polygamma.log", "gamma.polygamma_by_logarithm", 3)._replace(raw=(1, 2)),
        _real("igamma", "gamma.lower_gamma", 2),
        _real("igammac", "gamma.upper_gamma", 2),
        *map(_polynomial, _POLYNOMIALS),
    )
)
