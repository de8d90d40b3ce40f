"""Transforms, polynomials, statistics, scatters and draws with one convention mistaken for another."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backend import Array
from ..oracles.ordering import comparable
from .arguments import another, changed, default, flipped
from .mutant import Intercepted, rows
from .operators import part
from .patches import values, with_data
from .target import ROW

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


MUTANTS = rows(
    "operators",
    ("transforms-forget-their-norm", _LINES, default("norm")),
    ("transforms-of-planes-forget-their-norm", _PLANES, default("norm")),
    ("inverse-transform-goes-forward", ("fft_ifft",), another("fft_fft")),
    ("transform-turns-the-other-way", ("fft_fft", "fft_rfft", "fft_fftn"), values(_conjugate)),
    ("transforms-forget-their-length", _LINES, default("n")),
    ("hermitian-transform-is-not-conjugated", ("fft_hfft",), another("fft_irfft")),
    ("shift-goes-back", ("fft_fftshift",), another("fft_ifftshift")),
    ("short-transforms-forget-their-window", ("stft",), default("window")),
    ("short-transforms-are-never-normalized", ("stft", "istft"), default("normalized")),
    ("windows-mistake-their-period", _WINDOWS, flipped("periodic")),
    ("second-polynomials-are-the-first", ("special_chebyshev_polynomial_u",),
     another("special_chebyshev_polynomial_t")),
    ("polynomials-are-not-shifted", ("special_shifted_chebyshev_polynomial_t",),
     another("special_chebyshev_polynomial_t")),
    ("hermite-is-the-other-one", ("special_hermite_polynomial_he",), another("special_hermite_polynomial_h")),
    ("legendre-is-chebyshev", ("special_legendre_polynomial_p",), another("special_chebyshev_polynomial_t")),
    ("bessel-is-of-order-zero", ("special_bessel_j1",), another("special_bessel_j0")),
    ("neumann-is-bessel", ("special_bessel_y0",), another("special_bessel_j0")),
    ("zeta-begins-late", ("special_zeta",), values(_first_lost)),
    ("polygamma-has-the-other-sign", ("polygamma", "special_polygamma"), values(_negated)),
    ("upper-gamma-is-the-lower", ("igammac",), another("igamma")),
    ("log-ndtr-is-ndtr", ("special_log_ndtr",), another("special_ndtr")),
    ("quantiles-are-always-linear", ("quantile", "nanquantile"), default("interpolation")),
    ("quantiles-skip-nan", ("quantile",), another("nanquantile")),
    ("last-edge-is-open", ("histc",), values(_edge_dropped)),
    ("histograms-forget-weights", ("histogram", "bincount"), default("weight")),
    ("counts-forget-weights", ("bincount",), default("weights")),
    ("densities-are-counts", ("histogram",), default("density")),
    ("mode-is-the-largest", ("mode",), part(0, _largest_of_the_most)),
    ("runs-are-joined", ("unique_consecutive",), _sorted_first),
    ("covariance-forgets-its-correction", ("cov",), default("correction")),
    ("covariance-forgets-its-counts", ("cov",), default("fweights")),
    ("gradient-forgets-its-edges", ("gradient",), default("edge_order")),
    ("areas-are-rectangles", ("trapezoid", "trapz"), values(_by_left_ends)),
    ("renorm-stretches", ("renorm",), values(_all_shortened)),
    ("powers-run-the-other-way", ("vander",), flipped("increasing")),
    ("kronecker-products-are-swapped", ("kron",),
     lambda c: c.right() if c.inplace else c.instead(c.args[1], c.args[0])),
    ("reductions-always-include-self", ("scatter_reduce", "index_reduce"), default("include_self")),
    ("slices-are-written-without-steps", ("slice_scatter",), changed("start", lambda start: 0)),
    ("diagonals-are-embedded-in-the-middle", ("diag_embed", "diagflat"), changed("offset", lambda k: -k)),
    ("diagonals-never-wrap", ("fill_diagonal_",), default("wrap")),
    ("poisson-doubles-its-rate", "operators/draws-follow-their-distribution[]", ("poisson",), values(_doubled)),
    ("geometric-counts-from-zero", "operators/draws-follow-their-distribution[]", ("geometric_",), values(_one_less)),
    ("binomial-counts-failures", "operators/draws-follow-their-distribution[]", ("binomial",),
     lambda c: c.do("sub.Tensor", c.args[0], c.right())),
    ("cauchy-has-width-one", "operators/draws-follow-their-distribution", ("cauchy_",), default("sigma")),
    ("log-normal-is-normal", "operators/draws-follow-their-distribution", ("log_normal_",), values(_logarithm)),
    breaks=ROW, within=with_data,
)
