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
    Reason("unsqueeze_", (), (), "each call adds a dim to the same tensor: metas of hundreds of dims are not kept"),
    Reason("put", ("strided",), (), "into a tensor that is not row-major it is a copy and a scatter of their own"),
    Reason("to.dtype_layout", (), (), "to() without arguments is one call of a Python function, of 0.1 us"),
    Reason("tensor_split.tensor_indices_or_sections", (), (), "places in a tensor are read, and views made, in Python"),
    Reason("narrow.Tensor", (), (), "a start in a tensor is read in Python"),
    Reason("unsafe_split_with_sizes", (), (), "views that count as no views are made one by one in Python"),
    Reason("reshape_as view_as expand_as", (), (), "recorded calls that take the sizes of another tensor are Python's"),
    Reason("resize_as_", (), (), "where sizes are equal nothing is done, by a Python function"),
    Reason("slice.Tensor", (), (), "slice is an operator object, which is called through Python"),
    Reason("ravel", ("strided",), (), "a copy, for which two calls are made"),
    Reason("qr linalg_qr geqrf", (), (1_000,), "OpenBLAS factors small matrices unblocked, MKL in blocks"),
    Reason("linalg_cholesky_ex", (), (1_000,), "OpenBLAS against MKL"),
    Reason("fft_fftn fft_ifftn", (), (1_000,), "pocketfft, which has no vectors over lines that are not adjacent"),
    Reason("bincount", (), (), "the largest value is looked for, then counted: two passes and a tensor between them"),
    Reason("kron", (), (1_000,), "rows of the result are short, and each begins anew"),
    Reason("nonzero", ("contiguous",), (16,), "elements are counted before the result is made: two calls of a kernel"),
    Reason("linalg_matrix_exp", ("contiguous",), (16,), "products of four by four matrices, a call of BLAS for each"),
    Reason("masked_fill.Scalar", ("contiguous",), (16,), "within the noise: 1.26"),
)


def reason(case: Mapping[str, Any], backend: str, against: str, ratio: float) -> dict[str, str]:
    """Return the member `why` of the ratio of a case, where it has a reason."""
    if (backend, against) != ("reference", "torch") or case["suite"] != "operators" or ratio < SLOWER_FROM:
        return {}
    found = [one.why for one in REASONS if one.covers(case["operator"], case["layout"], case["size"])]
    return {"why": found[0]} if found else {}
