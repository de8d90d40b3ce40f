"""From the strided layout to a sparse one, and back."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as hs

from ..backend import Array
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from . import drawing

_NAN = float("nan")


@requirement("layouts/dense-to-sparse-and-back-is-exact")
def test_golden_coordinates(s: Session) -> None:
    x = s.call("to_sparse", s.tensor([[0.0, 2.0, _NAN], [3.0, -0.0, float("-inf")]]))
    s.expect_values(s.call("indices", x), [[0, 0, 1, 1], [1, 2, 0, 2]], dtype="int64")
    s.expect_values(s.call("values", x), [2.0, _NAN, 3.0, float("-inf")])
    s.expect_values(s.call("to_dense", x), [[0.0, 2.0, _NAN], [3.0, 0.0, float("-inf")]])


@requirement("layouts/dense-to-sparse-and-back-is-exact")
@forall(x=drawing.dense_arrays(), data=hs.data())
def test_coordinates(s: Session, x: Array, data: hs.DataObject) -> None:
    sparse_dim = data.draw(hs.integers(min(x.ndim, 1), x.ndim))
    made = s.call("to_sparse", s.tensor(x), sparse_dim)
    s.expect_shape(made, x.shape)
    s.expect_dtype(made, str(x.dtype))
    s.expect_values(s.call("to_dense", made), np.where(x == 0, np.zeros((), x.dtype), x))
    kept = (x != 0).any(axis=tuple(range(sparse_dim, x.ndim))) if sparse_dim < x.ndim else x != 0
    s.expect_shape(s.call("values", made), (int(np.count_nonzero(kept)), *x.shape[sparse_dim:]))
