"""Products, equations, statistics and transforms that forget an argument or stop at the usual form of a call."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from ..backend import Array
from .arguments import changed, default
from .mutant import Intercepted, Patch, rows
from .patches import values, with_data
from .target import ROW

_LINES = ("fft_fft", "fft_ifft", "fft_rfft", "fft_irfft", "fft_hfft", "fft_ihfft")
_PLANES = ("fft_fft2", "fft_ifft2", "fft_rfft2", "fft_irfft2", "fft_hfft2", "fft_ihfft2")
_SPACES = ("fft_fftn", "fft_ifftn", "fft_rfftn", "fft_irfftn", "fft_hfftn", "fft_ihfftn")
_RANKS = ("linalg_matrix_rank", "linalg_matrix_rank.tol_tensor", "linalg_matrix_rank.atol_rtol_tensor",
          "linalg_matrix_rank.atol_rtol_float")  # fmt: skip
_INVERSES = ("linalg_pinv.atol_rtol_tensor", "linalg_pinv.atol_rtol_float")
_ADDED = ("addmm", "addmv", "baddbmm", "addbmm")


def _as_added(c: Intercepted) -> Any:
    """Products over no elements leave what is added in its own sizes."""
    if not all(c.is_tensor(x) for x in c.args[:3]) or all(c.array(x).size for x in c.args[1:3]):
        return c.right()
    beta = c.kwargs.get("beta", 1)
    return c.tensor(np.asarray(c.array(c.args[0]) * beta).astype(c.array(c.args[0]).dtype))


def _out_left(c: Intercepted) -> Any:
    """Over a single dim nothing is written."""
    return c.kwargs["out"] if len(c.kwargs.get("dim") or ()) == 1 else c.right()


def _restrided(c: Intercepted) -> Any:
    """A transposed ``out=`` comes back as if it were packed."""
    out = c.right()
    sizes = c.backend.shape(out)
    return c.do("as_strided_", out, sizes, (sizes[-1], 1)) if len(sizes) == 2 and min(sizes) > 1 else out


def _first_for_all(place: int) -> Patch:
    """Of a stack of matrices the first answers for the others."""

    def change(array: Array, c: Intercepted) -> Array | None:
        kept = array.ndim - place
        if kept < 1 or not array.size:
            return None
        return np.broadcast_to(array.reshape(-1, *array.shape[kept:])[0], array.shape).copy()

    return values(change)


def _lower(c: Intercepted) -> Any:
    """Only capital letters name a triangle."""
    return changed("UPLO", lambda name: "L" if name == "u" else name)(c)


def _squared(order: Any) -> Any:
    return order if order in (None, 0, 1, 2, -1, -2) or isinstance(order, str) or abs(order) == inf else 2


def _of_two(order: Any) -> Any:
    return order if isinstance(order, str) else 2


def _finite(order: Any) -> Any:
    return 2 if isinstance(order, float) and abs(order) == inf else order


def _never_negative(sizes: Any) -> Any:
    """A size of -1 is 1."""
    return [abs(n) for n in sizes] if isinstance(sizes, list | tuple) else sizes


MUTANTS = rows(
    "operators",
    ("empty-products-keep-the-sizes-of-what-is-added", ROW, _ADDED,
     _as_added),
    ("transforms-of-one-dim-leave-their-out",
     "operators/out-form-returns-its-out[] operators/forms-agree-bit-for-bit[fft_ihfftn] "
     "operators/forms-agree-bit-for-bit[fft_ihfft2]",
     ("fft_ihfftn.out", "fft_ihfft2.out"), _out_left),
    ("ranks-by-bounds-restride-their-out", "operators/out-form-returns-its-out[]",
     ("linalg_matrix_rank.out_tol_tensor",), _restrided),
    ("vector-products-forget-their-dim", ("linalg_vecdot",), default("dim")),
    ("cross-products-forget-their-dim", ("linalg_cross",), default("dim")),
    ("cross-product-forgets-its-dim", ("cross",), default("dim")),
    ("multiple-combinations-are-pairs", ("combinations",), default("r")),
    ("inverses-of-stacks-are-the-first", ("linalg_inv", "inverse"), _first_for_all(2)),
    ("solutions-of-stacks-are-the-first", ("linalg_solve",), _first_for_all(2)),
    ("determinants-of-stacks-are-the-first", ("linalg_det", "det"), _first_for_all(0)),
    ("pseudo-inverses-forget-their-bound", _INVERSES, default("atol")),
    ("pseudo-inverses-forget-their-share", _INVERSES, default("rtol")),
    ("pseudo-inverses-are-never-hermitian", ("linalg_pinv",), default("hermitian")),
    ("ranks-are-never-hermitian", _RANKS, default("hermitian")),
    ("small-letters-name-no-triangle", ("linalg_eigh", "linalg_eigvalsh"), _lower),
    ("norms-of-other-orders-are-those-of-two", ("linalg_norm",), changed("ord", _squared)),
    ("matrix-norms-forget-their-dims", ("linalg_matrix_norm",), default("dim")),
    ("conditions-are-those-of-two", ("linalg_cond",), changed("p", _of_two)),
    ("distances-are-finite", ("dist",), changed("p", _finite)),
    ("slices-have-finite-norms", ("renorm",), changed("p", _finite)),
    ("covariance-forgets-its-weights", ("cov",), default("aweights")),
    ("gradients-take-even-steps", ("gradient.scalarint",), default("spacing")),
    ("gradients-take-all-dims", ("gradient.scalarint",), default("dim")),
    ("areas-forget-their-dim", ("trapezoid", "trapz", "cumulative_trapezoid"), default("dim")),
    ("histograms-forget-their-range", ("histogram.bin_ct",), default("range")),
    ("counts-forget-their-least-number", ("bincount",), default("minlength")),
    ("runs-forget-their-dim", ("unique_consecutive",), default("dim")),
    ("searches-forget-their-side", ("searchsorted",), default("side")),
    ("searches-forget-their-sorter", ("searchsorted",), default("sorter")),
    ("buckets-close-on-the-left", ("bucketize",), default("right")),
    ("transforms-forget-their-dim", _LINES, default("dim")),
    ("transforms-of-planes-forget-their-dims", _PLANES, default("dim")),
    ("transforms-of-planes-forget-their-sizes", _PLANES, default("s")),
    ("transforms-of-spaces-forget-their-dims", _SPACES, default("dim")),
    ("transforms-of-spaces-know-no-whole-size", _SPACES, changed("s", _never_negative)),
    ("shifts-forget-their-dims", ("fft_fftshift", "fft_ifftshift"), default("dim")),
    ("frames-are-always-reflected", ("stft",), default("pad_mode")),
    ("frames-are-always-onesided", ("stft",), default("onesided")),
    ("signals-forget-their-length", ("istft",), default("length")),
    breaks=ROW, within=with_data,
)
