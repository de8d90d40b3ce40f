"""From the strided layout to a sparse one, and back."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as hs

from ..backend import Array
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from . import drawing

_NAN, _INF = float("nan"), float("inf")
_FORMS = ("to_sparse_csr", "to_sparse_csc", "to_sparse_bsr", "to_sparse_bsc")


def _without_negative_zeros(x: Array) -> Array:
    return np.where(x == 0, np.zeros((), x.dtype), x)


@requirement("layouts/dense-to-sparse-and-back-is-exact")
def test_golden_coordinates(s: Session) -> None:
    x = s.call("to_sparse", s.tensor([[0.0, 2.0, _NAN], [3.0, -0.0, -_INF]]))
    s.expect_values(s.call("indices", x), [[0, 0, 1, 1], [1, 2, 0, 2]], dtype="int64")
    s.expect_values(s.call("values", x), [2.0, _NAN, 3.0, -_INF])
    s.expect_values(s.call("to_dense", x), [[0.0, 2.0, _NAN], [3.0, 0.0, -_INF]])


@requirement("layouts/dense-to-sparse-and-back-is-exact")
@forall(x=drawing.dense_arrays(), data=hs.data())
def test_coordinates(s: Session, x: Array, data: hs.DataObject) -> None:
    sparse_dim = data.draw(hs.integers(min(x.ndim, 1), x.ndim))
    made = s.call("to_sparse", s.tensor(x), sparse_dim)
    s.expect_shape(made, x.shape)
    s.expect_dtype(made, str(x.dtype))
    s.expect_values(s.call("to_dense", made), _without_negative_zeros(x))
    kept = (x != 0).any(axis=tuple(range(sparse_dim, x.ndim))) if sparse_dim < x.ndim else x != 0
    s.expect_shape(s.call("values", made), (int(np.count_nonzero(kept)), *x.shape[sparse_dim:]))


@requirement("layouts/compressed-and-back-is-exact")
def test_golden_compressed(s: Session) -> None:
    for form in _FORMS:
        blocks = ((2, 1),) if "_bs" in form else ()
        x = s.call(form, s.tensor([[0.0, _NAN], [-0.0, -_INF], [3.0, 0.0], [0.0, 0.0]]), *blocks)
        s.expect_values(s.call("to_dense", x), [[0.0, _NAN], [0.0, -_INF], [3.0, 0.0], [0.0, 0.0]])


@requirement("layouts/compressed-and-back-is-exact")
@forall(x=drawing.dense_arrays(2, 2), form=hs.sampled_from(_FORMS), data=hs.data())
def test_compressed(s: Session, x: Array, form: str, data: hs.DataObject) -> None:
    blocks = [[n for n in range(1, size + 1) if size % n == 0] or [1] for size in x.shape]
    given = (tuple(data.draw(hs.sampled_from(one)) for one in blocks),) if "_bs" in form else ()
    made = s.call(form, s.tensor(x), *given)
    s.expect_shape(made, x.shape)
    s.expect_dtype(made, str(x.dtype))
    s.expect_values(s.call("to_dense", made), _without_negative_zeros(x))


@requirement("layouts/layout-is-a-property-of-the-tensor")
def test_strided_is_the_default(s: Session) -> None:
    def row(s: Session, dtype: str, sizes: tuple[int, ...]) -> None:
        x = s.tensor(np.ones(sizes), dtype)
        _expect_layout(s, x, "strided")
        _expect_layout(s, s.call("add.Tensor", x, x), "strided")

    s.table([("float32", (2, 3)), ("int64", ()), ("bool", (0, 2)), ("uint8", (4,))], row)


@requirement("layouts/layout-is-a-property-of-the-tensor", needs=("inplace",))
@forall(x=drawing.coo_cases(dtype="float64"))
def test_layout_stays(s: Session, x: drawing.CooCase) -> None:
    made = x.build(s)
    for name in ("neg", "clone", "coalesce", "double", "abs"):
        _expect_layout(s, s.call(name, made), "sparse_coo")
    s.call("mul_.Scalar", made, 2.0)
    _expect_layout(s, made, "sparse_coo")
    s.expect_values(s.call("to_dense", made), x.dense * 2.0, signed_zero=False)


def _expect_layout(s: Session, x: object, want: str) -> None:
    got = str(s.call("__getattr__", x, "layout")).rpartition(".")[2]
    s.expect_of_last(got, want, "layout", "str({}).rpartition('.')[2]")
