"""Transforms, polynomials, statistics, scatters and draws with one convention mistaken for another."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backend import Array
from ..oracles.ordering import comparable
from .arguments import another, changed, default, flipped
from .mutant import Intercepted, Mutant, Patch
from .operators import part, with_data
from .patches import values

_LINES = ("fft_fft", "fft_ifft", "fft_rfft", "fft_irfft", "fft_hfft", "fft_ihfft")
_PLANES = ("fft_fftn", "fft_ifftn", "fft_rfftn", "fft_irfftn", "fft_fft2", "fft_ifft2")
_WINDOWS = ("hann_window", "hamming_window", "blackman_window", "bartlett_window", "kaiser_window")


def _conjugate(array: Array, c: Intercepted) -> Array | None:
    return array.conj() if array.dtype.kind == "c" else None


def _first_lost(array: Array, c: Intercepted) -> Array | None:
    """Without the first term of the sum."""
    q = c.array(c.args[1]) if c.is_tensor(c.args[1]) else np.asarray(c.args[1])
    s = c.array(c.args[0]) if c.is_tensor(c.args[0]) else np.asarray(c.args[0])
    return np.asarray(array - q.astype(np.float64) ** -s.astype(np.float64)).astype(array.dtype)


def _negated(array: Array, c: Intercepted) -> Array | None:
    return -array


def _edge_dropped(array: Array, c: Intercepted) -> Array | None:
    """Elements on the last edge are not counted."""
    x, high = c.array(c.args[0]), c.args[3] if len(c.args) > 3 else c.kwargs.get("max", 0)
    if not high or array.ndim != 1:
        return None
    array[-1] -= array.dtype.type((x == high).sum())
    return array


def _largest_of_the_most(array: Array, c: Intercepted) -> Array | None:
    x = comparable(c.array(c.args[0]))
    if x.ndim != 1 or array.ndim:
        return None
    found, counts = np.unique(x, return_counts=True)
    return np.asarray(found[counts == counts.max()].max()).astype(array.dtype)


def _sorted_first(c: Intercepted) -> Any:
    """All equal elements are one run."""
    x = c.array(c.args[0])
    if x.ndim != 1:
        return c.right()
    return c.instead(c.tensor(np.sort(comparable(x)).astype(x.dtype)), *c.args[1:], **c.kwargs)


def _by_left_ends(array: Array, c: Intercepted) -> Array | None:
    """Rectangles as high as their left ends."""
    y = c.array(c.args[0])
    if y.ndim != 1 or array.ndim or len(c.args) > 1 or array.dtype.kind not in "fc":
        return None
    return np.asarray(y[:-1].sum() * c.kwargs.get("dx", 1)).astype(array.dtype)


def _all_shortened(array: Array, c: Intercepted) -> Array | None:
    """Slices within the bound are stretched to it."""
    x, p, dim, most = c.array(c.args[0]), *c.args[1:4]
    if x.dtype.kind != "f" or x.ndim < 2:
        return None
    others = tuple(k for k in range(x.ndim) if k != dim % x.ndim)
    size = (np.abs(x.astype(np.float64)) ** p).sum(axis=others, keepdims=True) ** (1 / p)
    return np.asarray(np.where(size > 0, x * (most / np.where(size > 0, size, 1)), x).astype(array.dtype))


def _doubled(array: Array, c: Intercepted) -> Array | None:
    return np.asarray(array + array)


def _one_less(array: Array, c: Intercepted) -> Array | None:
    return np.asarray(array - array.dtype.type(1))


def _logarithm(array: Array, c: Intercepted) -> Array | None:
    return np.asarray(np.log(array).astype(array.dtype))


def _row(name: str, operators: tuple[str, ...], patch: Patch) -> Mutant:
    return Mutant(name, "operators", "operators", operators, with_data(patch))


MUTANTS = (
    _row("transforms-forget-their-norm", _LINES, default("norm")),
    _row("transforms-of-planes-forget-their-norm", _PLANES, default("norm")),
    _row("inverse-transform-goes-forward", ("fft_ifft",), another("fft_fft")),
    _row("transform-turns-the-other-way", ("fft_fft", "fft_rfft", "fft_fftn"), values(_conjugate)),
    _row("transforms-forget-their-length", _LINES, default("n")),
    _row("hermitian-transform-is-not-conjugated", ("fft_hfft",), another("fft_irfft")),
    _row("shift-goes-back", ("fft_fftshift",), another("fft_ifftshift")),
    _row("short-transforms-forget-their-window", ("stft",), default("window")),
    _row("short-transforms-are-never-normalized", ("stft", "istft"), default("normalized")),
    _row("windows-mistake-their-period", _WINDOWS, flipped("periodic")),
    _row("second-polynomials-are-the-first", ("special_chebyshev_polynomial_u",),
         another("special_chebyshev_polynomial_t")),
    _row("polynomials-are-not-shifted", ("special_shifted_chebyshev_polynomial_t",),
         another("special_chebyshev_polynomial_t")),
    _row("hermite-is-the-other-one", ("special_hermite_polynomial_he",), another("special_hermite_polynomial_h")),
    _row("legendre-is-chebyshev", ("special_legendre_polynomial_p",), another("special_chebyshev_polynomial_t")),
    _row("bessel-is-of-order-zero", ("special_bessel_j1",), another("special_bessel_j0")),
    _row("neumann-is-bessel", ("special_bessel_y0",), another("special_bessel_j0")),
    _row("zeta-begins-late", ("special_zeta",), values(_first_lost)),
    _row("polygamma-has-the-other-sign", ("polygamma", "special_polygamma"), values(_negated)),
    _row("upper-gamma-is-the-lower", ("igammac",), another("igamma")),
    _row("log-ndtr-is-ndtr", ("special_log_ndtr",), another("special_ndtr")),
    _row("quantiles-are-always-linear", ("quantile", "nanquantile"), default("interpolation")),
    _row("quantiles-skip-nan", ("quantile",), another("nanquantile")),
    _row("last-edge-is-open", ("histc",), values(_edge_dropped)),
    _row("histograms-forget-weights", ("histogram", "bincount"), default("weight")),
    _row("counts-forget-weights", ("bincount",), default("weights")),
    _row("densities-are-counts", ("histogram",), default("density")),
    _row("mode-is-the-largest", ("mode",), part(0, _largest_of_the_most)),
    _row("runs-are-joined", ("unique_consecutive",), _sorted_first),
    _row("covariance-forgets-its-correction", ("cov",), default("correction")),
    _row("covariance-forgets-its-counts", ("cov",), default("fweights")),
    _row("gradient-forgets-its-edges", ("gradient",), default("edge_order")),
    _row("areas-are-rectangles", ("trapezoid", "trapz"), values(_by_left_ends)),
    _row("renorm-stretches", ("renorm",), values(_all_shortened)),
    _row("powers-run-the-other-way", ("vander",), flipped("increasing")),
    _row("kronecker-products-are-swapped", ("kron",),
         lambda c: c.right() if c.inplace else c.instead(c.args[1], c.args[0])),
    _row("reductions-always-include-self", ("scatter_reduce", "index_reduce"), default("include_self")),
    _row("slices-are-written-without-steps", ("slice_scatter",), changed("start", lambda start: 0)),
    _row("diagonals-are-embedded-in-the-middle", ("diag_embed", "diagflat"), changed("offset", lambda k: -k)),
    _row("diagonals-never-wrap", ("fill_diagonal_",), default("wrap")),
    _row("poisson-doubles-its-rate", ("poisson",), values(_doubled)),
    _row("geometric-counts-from-zero", ("geometric_",), values(_one_less)),
    _row("binomial-counts-failures", ("binomial",),
         lambda c: c.do("sub.Tensor", c.args[0], c.right())),
    _row("cauchy-has-width-one", ("cauchy_",), default("sigma")),
    _row("log-normal-is-normal", ("log_normal_",), values(_logarithm)),
)  # fmt: skip
