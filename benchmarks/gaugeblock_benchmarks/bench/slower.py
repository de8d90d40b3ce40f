"""Why a call of the reference takes longer than PyTorch's: one line for each group of cases of the suite operators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

SLOWER_FROM = 1.25
"""The ratio of times from which a case has to have a reason."""


class Reason(NamedTuple):
    """Why the calls of some operators take longer; empty tuples stand for all layouts or sizes."""

    operators: str
    layouts: tuple[str, ...]
    sizes: tuple[int, ...]
    why: str

    def covers(self, operator: str, layout: str, size: int) -> bool:
        """Return whether the reason is meant for a case."""
        return (
            operator in self.operators.split()
            and (not self.layouts or layout in self.layouts)
            and (not self.sizes or size in self.sizes)
        )


REASONS: tuple[Reason, ...] = (
    Reason("is_nonzero item", (), (2,), "a call of a Python function, of 0.05 us, before an element is read"),
    Reason("slice.Tensor", (), (), "an index of several slices is taken apart in Python"),
    Reason("qr linalg_qr geqrf", (), (1_000,), "OpenBLAS factors small matrices unblocked, MKL in blocks"),
    Reason("linalg_eigh linalg_eigvalsh", (), (100_000,), "OpenBLAS against MKL"),
    Reason("triangular_solve", (), (2,), "a warning, and a copy of the matrix by a call of its own"),
    Reason(
        "fft_fftn fft_fft2 fft_ifft2 fft_ihfft fft_ihfft2 fft_rfftn fft_rfft2", (), (1_000, 1_000_000),
        "pocketfft, which has no vectors over lines that are not adjacent",
    ),
    Reason("triu", (), (1_000_000,), "what is kept is copied row by row, after zeros were written everywhere"),
    Reason("special_shifted_chebyshev_polynomial_v", (), (1_000_000,), "within the noise: 1.29"),
    Reason("sum", (), (100_000,), "float32 is summed in float64, and the conversion takes a cycle for each vector"),
    Reason("sum.dim_IntList mean.dim prod.dim_int trapz.dx trapezoid.dx", (), (), "float32 is summed in float64"),
    Reason("linalg_vecdot", (), (1_000_000,), "float32 is summed in float64"),
    Reason("aminmax", (), (1_000_000,), "within the noise: 0.9 to 1.3, bound by memory"),
    Reason("nansum", (), (), "float32 is added up in float64"),
    Reason("cumsum cumprod", (), (), "within the noise: each element waits for the one before"),
    Reason("pdist", (), (), "squares of differences are added up in float64"),
    Reason("erfc special_zeta special_zeta.other_scalar", (), (), "computed in float64"),
    Reason("linalg_matrix_exp matrix_exp", (), (), "products of float64, as its errors would grow with each squaring"),
    Reason(
        "bitwise_and.Tensor bitwise_or.Tensor bitwise_xor.Tensor bitwise_left_shift.Tensor bitwise_right_shift.Tensor",
        ("strided",), (1_000_000,), "transposed elements of 8 bytes pass through a buffer",
    ),
    Reason("igamma igammac special_ndtri", (), (1_000,), "within the noise: 1.25 to 1.3"),
    Reason("linalg_lu_factor_ex linalg_cholesky_ex", (), (1_000,), "OpenBLAS against MKL on matrices of 31 rows"),
    Reason("unsafe_split_with_sizes", ("contiguous",), (), "a list of views is made in Python"),
    Reason("rsqrt", (), (), "rounded correctly, by a root and a quotient; PyTorch is off by up to 1.5 ULP"),
    Reason("fill_.Tensor", (), (100_000,), "the number is read anew for each vector"),
    Reason("bartlett_window bartlett_window.periodic", (), (), "each place is divided in float64"),
    Reason("log_softmax.int", (), (), "the sum of a row and its logarithm are float64"),
    Reason("glu", (), (), "computed in float64"),
    Reason("multi_margin_loss", (), (), "margins are added in float64"),
    Reason("multilabel_margin_loss multilabel_margin_loss_forward", (), (), "margins are added in float64"),
    Reason("cross_entropy_loss", ("strided",), (), "rows that are not adjacent are read one element at a time"),
    Reason("grid_sampler grid_sampler_2d", (), (1_000_000,), "places are computed for each element of a channel"),
)


def reason(case: Mapping[str, Any], backend: str, against: str, ratio: float) -> dict[str, str]:
    """Return the member `why` of the ratio of a case, where it has a reason."""
    if (backend, against) != ("reference", "torch") or case["suite"] != "operators" or ratio < SLOWER_FROM:
        return {}
    found = [one.why for one in REASONS if one.covers(case["operator"], case["layout"], case["size"])]
    return {"why": found[0]} if found else {}
