"""Float sums of millions of elements."""

from __future__ import annotations

import numpy as np

from ..requirement import requirement
from ..session import Session

# Units of rounding that a sum may be off for each doubling of its length, in parts of the sum of absolute values.
_SHARE = 1.0


def _data(count: int, signed: bool) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    data = np.random.default_rng(count).random(count, np.float32)
    return data - np.float32(0.5) if signed else data


@requirement("kernels/long-sums-stay-accurate", slow=True)
def test_sums_up_to_32_million(s: Session) -> None:
    def row(s: Session, count: int, signed: bool) -> None:
        data = _data(count, signed)
        exact = data.sum(dtype=np.float64)
        bound = _SHARE * np.log2(count) * np.finfo(np.float32).eps * np.abs(data).sum(dtype=np.float64)
        x = s.tensor(data)
        s.expect_close(s.call("sum", x), np.asarray(exact), np.asarray(bound))
        s.expect_close(s.call("mean", x), np.asarray(exact / count), np.asarray(bound / count))

    s.table([(2**k + d, signed) for k in (4, 10, 16, 20) for d in (0, 3) for signed in (False, True)], row)
    s.table([(2**25, False), (2**25, True)], row)


@requirement("kernels/long-sums-stay-accurate", slow=True)
def test_sums_along_a_dim(s: Session) -> None:
    def row(s: Session, rows: int, columns: int, dim: int) -> None:
        data = _data(rows * columns, False).reshape(rows, columns)
        exact = data.sum(dim, dtype=np.float64)
        bound = _SHARE * np.log2(data.shape[dim]) * np.finfo(np.float32).eps * exact
        s.expect_close(s.call("sum.dim_IntList", s.tensor(data), (dim,)), exact, bound)

    s.table([(2**18, 5, 0), (5, 2**18, 1), (2**12, 2**9, 0), (2**12, 2**9, 1)], row)
