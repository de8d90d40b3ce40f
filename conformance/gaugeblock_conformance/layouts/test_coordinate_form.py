"""Tensors in coordinate form: their parts, sizes, duplicates and order."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as hs

from ..forall import forall
from ..requirement import requirement
from ..session import Session
from . import drawing


@requirement("layouts/coo-parts-have-shapes")
@forall(x=drawing.coo_cases())
def test_parts(s: Session, x: drawing.CooCase) -> None:
    made = x.build(s)
    s.expect_shape(made, x.sizes)
    s.expect_dtype(made, str(x.values.dtype))
    s.expect_values(s.call("_indices", made), x.indices, dtype="int64")
    s.expect_values(s.call("_values", made), x.values)
    wanted = {
        "_nnz": x.indices.shape[1], "sparse_dim": x.sparse_dim, "dense_dim": len(x.sizes) - x.sparse_dim,
    }  # fmt: skip
    for name, want in wanted.items():
        s.expect_of_last(s.call(name, made), want, name, "{}")


@requirement("layouts/coo-parts-have-shapes")
def test_hybrid(s: Session) -> None:
    made = s.call("sparse_coo_tensor", [[0, 1]], s.tensor([[1.0, 2.0], [3.0, 4.0]]), (3, 2))
    s.expect_values(s.call("to_dense", made), [[1.0, 2.0], [3.0, 4.0], [0.0, 0.0]])
    s.expect_of_last(s.call("sparse_dim", made), 1, "sparse_dim", "{}")
    s.expect_of_last(s.call("dense_dim", made), 1, "dense_dim", "{}")


@requirement("layouts/duplicate-indices-add-up")
@forall(x=drawing.coo_cases())
def test_elements_are_sums(s: Session, x: drawing.CooCase) -> None:
    s.expect_values(s.call("to_dense", x.build(s)), x.dense, signed_zero=False)


@requirement("layouts/duplicate-indices-add-up")
def test_golden_sums(s: Session) -> None:
    x = s.call("sparse_coo_tensor", [[1, 1, 0, 1]], s.tensor([2.0, 3.0, 1.0, -1.0]), (3,))
    s.expect_values(s.call("to_dense", x), [1.0, 4.0, 0.0])


@requirement("layouts/coalesce-sums-and-sorts")
@forall(x=drawing.coo_cases())
def test_coalesce(s: Session, x: drawing.CooCase) -> None:
    made = s.call("coalesce", x.build(s))
    indices, values = drawing.coalesced(x)
    s.expect_values(s.call("indices", made), indices, dtype="int64")
    s.expect_values(s.call("values", made), values, signed_zero=False)
    s.expect_of_last(s.call("is_coalesced", made), True, "is_coalesced after coalesce", "{}")


@requirement("layouts/coalesce-sums-and-sorts")
def test_explicit_zeros_stay(s: Session) -> None:
    x = s.call("sparse_coo_tensor", [[1, 0, 1]], s.tensor([2.0, 0.0, -2.0]), (2,))
    y = s.call("coalesce", x)
    s.expect_values(s.call("indices", y), [[0, 1]], dtype="int64")
    s.expect_values(s.call("values", y), [0.0, 0.0])


@requirement("layouts/coalesced-tensor-is-given-back")
@forall(x=drawing.coo_cases())
def test_coalescing_twice(s: Session, x: drawing.CooCase) -> None:
    once = s.call("coalesce", x.build(s))
    s.expect_same(s.call("coalesce", once), once)


@requirement("layouts/coalesced-tensor-is-given-back")
def test_what_is_coalesced(s: Session) -> None:
    for x in (
        s.call("to_sparse", s.tensor([[0.0, 1.0], [2.0, 3.0]])),
        s.call("sparse_coo_tensor", [[1]], s.tensor([2.0]), (2,)),
        s.call("sparse_coo_tensor", (2, 3)),
    ):
        s.expect_of_last(s.call("is_coalesced", x), True, "is_coalesced", "{}")
        s.expect_same(s.call("coalesce", x), x)
    x = s.call("sparse_coo_tensor", [[1, 1]], s.tensor([2.0, 3.0]), (2,))
    s.expect_of_last(s.call("is_coalesced", x), False, "is_coalesced of what was made of two columns", "{}")


@requirement("layouts/parts-of-uncoalesced-tensor-are-refused")
@forall(x=drawing.coo_cases())
def test_parts_of_uncoalesced(s: Session, x: drawing.CooCase) -> None:
    made = x.build(s)
    for name, want in (("indices", x.indices), ("values", x.values)):
        if x.indices.shape[1] > 1:
            s.expect_raises(RuntimeError, name, made)
            s.expect_values(s.call(f"_{name}", made), want)
        s.call(name, s.call("coalesce", made))


@requirement("layouts/parts-of-uncoalesced-tensor-are-refused")
def test_other_layouts_have_no_such_parts(s: Session) -> None:
    x = s.tensor([[0.0, 2.0], [1.0, 0.0]])
    for name in ("indices", "values", "coalesce", "is_coalesced"):
        s.expect_raises(RuntimeError, name, x)
    made = s.call("sparse_coo_tensor", [[1, 0, 1]], s.tensor([1.0, 2.0, 3.0]), (2,))
    s.expect_raises(RuntimeError, "values", made)
    s.expect_raises(RuntimeError, "indices", made)
    s.expect_values(s.call("_values", made), [1.0, 2.0, 3.0])


@requirement("layouts/coo-size-follows-the-indices")
@forall(x=drawing.coo_cases(min_sparse=1))
def test_inferred_sizes(s: Session, x: drawing.CooCase) -> None:
    made = s.call("sparse_coo_tensor", s.tensor(x.indices), s.tensor(x.values))
    lead = tuple(int(row.max()) + 1 if row.size else 0 for row in x.indices)
    s.expect_shape(made, (*lead, *x.sizes[x.sparse_dim :]))


@requirement("layouts/coo-size-follows-the-indices")
def test_negative_indices_without_a_size(s: Session) -> None:
    for indices in ([[0, -1]], [[0, 1], [-2, 3]]):
        s.expect_raises(RuntimeError, "sparse_coo_tensor", s.tensor(indices, "int64"), s.tensor([1.0, 2.0]))
    s.expect_shape(s.call("sparse_coo_tensor", s.tensor([[3, 0]], "int64"), s.tensor([1.0, 2.0])), (4,))


_UNFIT: list[tuple[str, Any, Any, tuple[int, ...]]] = [
    ("more columns than values", [[0, 1, 2]], [1.0, 2.0], (3,)),
    ("more values than columns", [[0, 1]], [1.0, 2.0, 3.0], (3,)),
    ("a size too many", [[0, 1]], [1.0, 2.0], (3, 3)),
    ("a size too few", [[0, 1], [1, 0]], [1.0, 2.0], (3,)),
    ("another dense size", [[0, 1]], [[1.0, 2.0], [3.0, 4.0]], (3, 3)),
    ("indices without columns", [0, 1], [1.0, 2.0], (3,)),
]


@requirement("layouts/coo-parts-must-fit")
def test_parts_that_do_not_fit(s: Session) -> None:
    def row(s: Session, what: str, indices: Any, values: Any, size: tuple[int, ...]) -> None:
        s.expect_raises(RuntimeError, "sparse_coo_tensor", s.tensor(indices, "int64"), s.tensor(values), size)

    s.table(_UNFIT, row)


@requirement("layouts/coo-parts-must-fit")
@forall(x=drawing.coo_cases(min_sparse=1), more=hs.integers(1, 3))
def test_more_values_than_columns(s: Session, x: drawing.CooCase, more: int) -> None:
    values = np.concatenate([x.values, np.zeros((more, *x.values.shape[1:]), x.values.dtype)])
    s.expect_raises(RuntimeError, "sparse_coo_tensor", s.tensor(x.indices), s.tensor(values), x.sizes)


@requirement("layouts/coo-invariants-are-checked-on-demand")
@forall(x=drawing.coo_cases(min_sparse=1), data=hs.data())
def test_index_out_of_range(s: Session, x: drawing.CooCase, data: hs.DataObject) -> None:
    made = s.call("sparse_coo_tensor", s.tensor(x.indices), s.tensor(x.values), x.sizes, check_invariants=True)
    s.expect_values(s.call("to_dense", made), x.dense, signed_zero=False)
    if x.indices.size:
        dim, column = data.draw(hs.integers(0, x.sparse_dim - 1)), data.draw(hs.integers(0, x.indices.shape[1] - 1))
        wrong = x.indices.copy()
        wrong[dim, column] = data.draw(hs.sampled_from((-1, -x.sizes[dim], x.sizes[dim], x.sizes[dim] + 5)))
        s.expect_raises(
            RuntimeError, "sparse_coo_tensor", s.tensor(wrong), s.tensor(x.values), x.sizes, check_invariants=True
        )


@requirement("layouts/coo-invariants-are-checked-on-demand")
def test_wrong_claims_of_order(s: Session) -> None:
    for indices in ([[1, 0]], [[1, 1]]):
        s.expect_raises(
            RuntimeError, "sparse_coo_tensor", s.tensor(indices, "int64"), s.tensor([1.0, 2.0]), (2,),
            is_coalesced=True, check_invariants=True,
        )  # fmt: skip
    x = s.call(
        "sparse_coo_tensor", s.tensor([[0, 1]], "int64"), s.tensor([1.0, 2.0]), (2,), is_coalesced=True,
        check_invariants=True,
    )  # fmt: skip
    s.expect_of_last(s.call("is_coalesced", x), True, "is_coalesced", "{}")


@requirement("layouts/coo-indices-are-int64")
def test_dtypes_of_indices(s: Session) -> None:
    def row(s: Session, dtype: str) -> None:
        x = s.call("sparse_coo_tensor", s.tensor([[0, 2]], dtype), s.tensor([1.0, 2.0]), (3,))
        s.expect_values(s.call("_indices", x), [[0, 2]], dtype="int64")
        s.expect_values(s.call("to_dense", x), [1.0, 0.0, 2.0])

    s.table([("int32",), ("int64",), ("uint8",), ("int16",), ("int8",)], row)


@requirement("layouts/coo-shares-its-values", needs=("inplace",))
@forall(x=drawing.coo_cases(dtype="float32"))
def test_values_are_shared(s: Session, x: drawing.CooCase) -> None:
    values = s.tensor(x.values)
    made = s.call("sparse_coo_tensor", s.tensor(x.indices), values, x.sizes)
    copy = s.call("clone", made)
    s.call("add_.Scalar", values, 1.0)
    changed = drawing.CooCase(x.indices, x.values + np.float32(1), x.sizes)
    s.expect_values(s.call("to_dense", made), changed.dense, signed_zero=False)
    s.expect_values(s.call("to_dense", copy), x.dense, signed_zero=False)


@requirement("layouts/coo-shares-its-values", needs=("inplace",))
def test_clones_have_both_parts(s: Session) -> None:
    x = s.call("to_sparse", s.tensor([0.0, 2.0, 3.0]))
    y = s.call("clone", x)
    s.call("zero_", s.call("_indices", x))
    s.call("mul_.Scalar", s.call("_values", x), 10.0)
    s.expect_values(s.call("to_dense", y), [0.0, 2.0, 3.0])


@requirement("layouts/empty-sparse-tensors-are-legal")
def test_without_specified_elements(s: Session) -> None:
    def row(s: Session, sizes: tuple[int, ...]) -> None:
        x = s.call("sparse_coo_tensor", sizes)
        zeros = np.zeros(sizes, np.float32)
        s.expect_values(s.call("to_dense", x), zeros)
        s.expect_values(s.call("to_dense", s.call("coalesce", x)), zeros)
        s.expect_values(s.call("sum", x), np.float32(0))
        s.expect_values(s.call("to_dense", s.call("add.Tensor", x, x)), zeros)
        s.expect_values(s.call("to_dense", s.call("mul.Tensor", x, x)), zeros)
        if len(sizes) == 2:
            s.expect_values(s.call("to_dense", s.call("t", x)), zeros.T)
            ones = np.ones((sizes[1], 2), np.float32)
            s.expect_values(s.call("mm", x, s.tensor(ones)), zeros @ ones)

    s.table([((2, 3),), ((0, 3),), ((3, 0),), ((4,),), ((0,),), ((),), ((1, 0, 2),)], row)


@requirement("layouts/empty-sparse-tensors-are-legal")
def test_without_dims(s: Session) -> None:
    for value in (5.0, 0.0):
        x = s.call("to_sparse", s.tensor(np.float32(value)))
        s.expect_values(s.call("to_dense", x), np.float32(value))
        s.expect_values(s.call("sum", x), np.float32(value))
        s.expect_of_last(s.call("_nnz", x), int(value != 0), "_nnz", "{}")
    x = s.call("sparse_coo_tensor", s.tensor(np.zeros((0, 3), np.int64)), s.tensor([1.0, 2.0, 4.0]), ())
    s.expect_values(s.call("to_dense", x), np.float32(7))
