"""Pointwise operators that have no formula: what computes them instead."""

from __future__ import annotations

FUNCTIONS = {
    "special_zeta": "zeta.zeta",
    "igamma": "incomplete_gamma.lower",
    "igammac": "incomplete_gamma.upper",
    "special_chebyshev_polynomial_t": "polynomials.chebyshev_t",
    "special_chebyshev_polynomial_u": "polynomials.chebyshev_u",
    "special_chebyshev_polynomial_v": "polynomials.chebyshev_v",
    "special_chebyshev_polynomial_w": "polynomials.chebyshev_w",
    "special_shifted_chebyshev_polynomial_t": "polynomials.shifted_chebyshev_t",
    "special_shifted_chebyshev_polynomial_u": "polynomials.shifted_chebyshev_u",
    "special_shifted_chebyshev_polynomial_v": "polynomials.shifted_chebyshev_v",
    "special_shifted_chebyshev_polynomial_w": "polynomials.shifted_chebyshev_w",
    "special_hermite_polynomial_h": "polynomials.hermite_h",
    "special_hermite_polynomial_he": "polynomials.hermite_he",
    "special_laguerre_polynomial_l": "polynomials.laguerre_l",
    "special_legendre_polynomial_p": "polynomials.legendre_p",
}
"""Operator without overload -> module of `numeric` and function of float64 arrays."""
WITHOUT_FORMULA = frozenset(FUNCTIONS) | {"polygamma", "special_polygamma", "mvlgamma", "special_multigammaln"} | {
    "frexp", "polar", "complex", "isreal", "float_power",
}  # fmt: skip
"""Pointwise operators without overload that modules of their own register."""
