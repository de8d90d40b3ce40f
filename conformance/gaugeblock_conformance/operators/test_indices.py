"""Places: ``nonzero``, and writes to places that are named more than once."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as hs

from .. import strategies as st
from ..case import TensorCase
from ..forall import forall
from ..requirement import requirement
from ..session import Session


@requirement("operators/nonzero-lists-places-in-order")
@forall(x=st.tensors(max_dims=3))
def test_nonzero(s: Session, x: TensorCase) -> None:
    want = np.argwhere(x.array != 0).astype(np.int64)
    s.expect_values(s.call("nonzero", s.build(x)), want)


@requirement("operators/nonzero-lists-places-in-order")
def test_nonzero_goldens(s: Session) -> None:
    s.expect_values(s.call("nonzero", s.tensor([[0, 1], [2, 0]], "int64")), [[0, 1], [1, 0]], dtype="int64")
    s.expect_shape(s.call("nonzero", s.tensor(5, "int64")), (1, 0))
    s.expect_shape(s.call("nonzero", s.tensor(0, "int64")), (0, 0))
    s.expect_shape(s.call("nonzero", s.tensor(np.zeros((0, 3), np.float32))), (0, 2))


@requirement("operators/accumulating-writes-count-duplicates")
@forall(
    size=hs.integers(1, 6),
    count=hs.sampled_from([0, 1, 2, 7, 16, 33, 300]),
    seed=hs.integers(0, 999),
    dtype=st.dtypes("float32", "int64", "int32", "float64", "uint8"),
    operator=hs.sampled_from(["scatter_add", "index_add", "put", "index_put_"]),
)
def test_duplicates_add_up(s: Session, size: int, count: int, seed: int, dtype: str, operator: str) -> None:
    random = np.random.default_rng(seed)
    places = random.integers(0, size, count)
    values = random.integers(0, 3, count).astype(dtype)
    want = np.arange(size).astype(dtype)
    np.add.at(want, places, values)
    x, index, source = s.tensor(np.arange(size), dtype), s.tensor(places, "int64"), s.tensor(values)
    if operator == "put":
        y = s.call("put", x, index, source, True)
    elif operator == "index_put_":
        y = s.call("index_put_", x, [index], source, True)
    else:
        y = s.call(operator, x, 0, index, source)
    s.expect_values(y, want)


@requirement("operators/accumulating-writes-count-duplicates")
def test_duplicate_goldens(s: Session) -> None:
    x, index = s.tensor([0.0, 0.0, 0.0]), s.tensor([1, 1, 2], "int64")
    source = s.tensor([1.0, 2.0, 4.0])
    s.expect_values(s.call("scatter_add", x, 0, index, source), [0.0, 3.0, 4.0])
    s.expect_values(s.call("index_add", x, 0, index, source, alpha=2), [0.0, 6.0, 8.0])
    rows = s.call("index_add", s.tensor([[0.0, 0.0]]), 0, s.tensor([0, 0], "int64"), s.tensor([[1.0, 2.0], [3.0, 4.0]]))
    s.expect_values(rows, [[4.0, 6.0]])


@requirement("operators/scatter-keeps-one-of-the-duplicates")
@forall(
    size=hs.integers(1, 5),
    count=hs.sampled_from([1, 2, 7, 16, 33, 300]),
    seed=hs.integers(0, 999),
    operator=hs.sampled_from(["scatter.src", "index_copy"]),
)
def test_one_of_the_candidates(s: Session, size: int, count: int, seed: int, operator: str) -> None:
    places = np.random.default_rng(seed).integers(0, size, count)
    source = np.arange(10, 10 + count)
    y = s.call(operator, s.tensor(np.arange(size)), 0, s.tensor(places), s.tensor(source))
    s.expect_shape(y, (size,))
    if not s.has_data:
        return
    for place, got in enumerate(s.read(y).tolist()):
        candidates = source[places == place].tolist() or [place]
        text = f"bool({s.dialect.element(y.name, (place,))} in {candidates})"
        s.expect(got in candidates, True, f"element {place} of {operator} is one of {candidates}", text, [y])


@requirement("operators/every-operator-gives-what-its-row-says", needs=("strided",))
def test_indices_with_gaps(s: Session) -> None:
    def body(s: Session, operator: str) -> None:
        x = s.tensor([10.0, 20.0, 30.0, 40.0])
        indices = s.call("t", s.tensor([[3, 0], [1, 2]], "int64"))
        s.expect_values(s.call(operator, x, indices), [40.0, 20.0, 10.0, 30.0])

    s.table(["take_along_dim"], body)


@requirement("operators/every-operator-gives-what-its-row-says", needs=("strided",))
def test_test_elements_of_any_strides(s: Session) -> None:
    def body(s: Session, operator: str, given: list[float] | float, want: list[bool] | bool) -> None:
        test = s.call("t", s.tensor([[1.0, 2.0], [3.0, 4.0]]))
        x = s.tensor(given) if isinstance(given, list) else given
        s.expect_values(s.call(operator, x, test), np.array(want), dtype="bool")

    rows = [
        ("isin.Tensor_Tensor", [1.0, 5.0, 4.0, 0.0], [True, False, True, False]), ("isin.Scalar_Tensor", 3.0, True)
    ]  # fmt: skip
    s.table(rows, body)


@requirement("operators/every-operator-gives-what-its-row-says", needs=("strided",))
def test_sums_of_halves_over_many_dims(s: Session) -> None:
    def body(s: Session, operator: str, dtype: str, want: float) -> None:
        x = s.tensor(np.ones((8, 8, 8, 8)), dtype)
        for dim in (1, 2, 3):
            x = s.call("slice.Tensor", x, dim, 0, 7)
        s.expect_values(s.call(operator, x), np.array(want), dtype=dtype)
        s.expect_values(s.call(operator, x, [3, 1, 0, 2], True), np.full((1, 1, 1, 1), want), dtype=dtype)

    s.table([("nansum", "float16", 2744.0), ("nansum", "bfloat16", 2752.0)], body)


@requirement("operators/every-operator-gives-what-its-row-says", needs=("as_strided",))
def test_pivots_with_the_stride_of_a_single_row(s: Session) -> None:
    def body(s: Session, operator: str, strides: tuple[int, ...]) -> None:
        factors = s.tensor(np.tile(np.eye(3), (2, 1, 1, 1)))
        right = s.tensor(np.tile(np.array([[1.0], [2.0], [3.0]]), (2, 1, 1, 1)))
        pivots = s.tensor([[[3, 3, 3]], [[1, 2, 3]]], "int32")
        found = s.call(operator, factors, s.call("as_strided", pivots, (2, 1, 3), strides), right)
        s.expect_values(found, np.array([3.0, 1.0, 2.0, 1.0, 2.0, 3.0]).reshape(2, 1, 3, 1))

    s.table([("linalg_lu_solve", (3, 3, 1)), ("linalg_lu_solve", (3, 1, 1))], body)
