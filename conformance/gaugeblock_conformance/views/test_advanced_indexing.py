"""Reading by index tensors, masks and lists."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from ..case import TensorCase
from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session
from ..strategies import tensors
from .indices import advanced_indices, integers_first, paired

SHORT = st.lists(st.sampled_from((3, 2, 4, 1)), min_size=1, max_size=4).map(tuple)
ANY = st.lists(st.sampled_from((2, 3, 0, 1)), max_size=3).map(tuple)

_READS = (
    "views/advanced-index-copies",
    "views/advanced-indices-broadcast",
    "views/adjacent-advanced-dims-stay-in-place",
    "views/int-beside-index-tensor-selects-first",
    "views/index-values-wrap-and-are-checked",
)
"""What reading by any mix of indices is about."""


def handles(s: Session, index: tuple[Any, ...], form: str = "int64") -> Any:
    """The index with its arrays as tensors (integers of dtype ``form``), or as nested lists for form ``list``."""
    made: list[Any] = []
    for item in index:
        if not isinstance(item, np.ndarray):
            made.append(item)
        elif form == "list":
            made.append(item.tolist())
        else:
            made.append(s.tensor(item if item.dtype == bool else item.astype(form)))
    return tuple(made)


def _expect_copy(s: Session, y: Handle, x: Handle, case: TensorCase) -> None:
    if "storage" in s.capabilities:
        s.expect_fresh(y, x)
    if "inplace" in s.capabilities:
        s.call("fill_.Scalar", y, 1)
        s.expect_values(x, case.array)


@requirement(*_READS)
@forall(pair=paired(tensors(sizes=SHORT), advanced_indices), form=st.sampled_from(("int64", "int64", "int32", "list")))
def test_any_mix_reads_what_numpy_reads(s: Session, pair: tuple[TensorCase, tuple[Any, ...]], form: str) -> None:
    if not s.has_data:
        return
    case, index = pair
    first, rest = integers_first(index, len(case.sizes))
    if form == "list" and any(isinstance(item, np.ndarray) and not item.size for item in index):
        form = "int64"
    x = s.build(case)
    y = s.call("__getitem__", x, handles(s, index, form))
    s.expect_values(y, case.array[first][rest])
    _expect_copy(s, y, x, case)


@requirement(*_READS)
def test_elements_keep_their_dtype(s: Session) -> None:
    if not s.has_data:
        return
    values = np.array([[1, 0, 0], [0, 0, 1], [1, 0, 1]])

    def read(s: Session, dtype: str) -> None:
        x = s.tensor(values, dtype)
        rows, columns = s.tensor([2, 0], "int64"), s.tensor([0, -2], "int64")
        s.expect_values(s.call("__getitem__", x, (rows, columns)), [1, 0], dtype=dtype)
        s.expect_values(s.call("__getitem__", x, (1, columns)), [0, 0], dtype=dtype)

    s.table(["bool", "uint8", "int64", "float32"], read)


@requirement("views/advanced-index-copies")
def test_copies_of_rows(s: Session) -> None:
    x = s.tensor([[1, 2], [3, 4], [5, 6]], "int64")
    by_list = s.call("__getitem__", x, [0, 1])
    by_tensor = s.call("__getitem__", x, s.tensor([0, 1], "int64"))
    for y in (by_list, by_tensor):
        s.expect_values(y, [[1, 2], [3, 4]], dtype="int64")
        if "storage" in s.capabilities:
            s.expect_fresh(y, x)
    if s.has_data:
        mask = s.tensor([True, False, True], "bool")
        s.expect_values(s.call("__getitem__", x, mask), [[1, 2], [5, 6]], dtype="int64")
        full = s.tensor([[True, False], [False, True], [True, True]], "bool")
        s.expect_values(s.call("__getitem__", x, full), [1, 4, 5, 6], dtype="int64")
    everything = s.call("__getitem__", x, s.tensor([0, 1, 2], "int64"))
    s.expect_values(everything, [[1, 2], [3, 4], [5, 6]], dtype="int64")
    if "storage" in s.capabilities:
        s.expect_fresh(everything, x)


@requirement("views/scalar-bool-index-copies-into-a-new-dim")
@forall(case=tensors(max_dims=3), truth=st.booleans())
def test_scalar_bool(s: Session, case: TensorCase, truth: bool) -> None:
    x = s.build(case)
    y = s.call("__getitem__", x, truth)
    s.expect_values(y, case.array[truth])
    if "storage" in s.capabilities:
        s.expect_fresh(y, x)


@requirement("views/scalar-bool-index-copies-into-a-new-dim")
def test_true_and_false(s: Session) -> None:
    x = s.tensor([1.0, 2.0])
    s.expect_values(s.call("__getitem__", x, True), [[1.0, 2.0]])
    s.expect_shape(s.call("__getitem__", x, False), (0, 2))
    s.expect_values(s.call("__getitem__", s.tensor(3.0), True), [3.0])
    s.expect_shape(s.call("__getitem__", s.tensor(3.0), False), (0,))


@requirement("views/advanced-indices-broadcast")
def test_broadcast_of_rows_and_columns(s: Session) -> None:
    x = s.tensor([[0, 1, 2], [3, 4, 5], [6, 7, 8]], "int64")
    rows, columns = s.tensor([[0], [2]], "int64"), s.tensor([1, 2, 0], "int64")
    s.expect_values(s.call("__getitem__", x, (rows, columns)), [[1, 2, 0], [7, 8, 6]], dtype="int64")
    s.expect_values(s.call("__getitem__", x, (s.tensor([0, 2], "int64"), s.tensor([1, 1], "int64"))), [1, 7],
                    dtype="int64")  # fmt: skip
    bad = (s.tensor([0, 1], "int64"), s.tensor([0, 1, 2], "int64"))
    s.expect_raises((IndexError, RuntimeError), "__getitem__", x, bad)


# Index into sizes (2, 3, 4, 5), with a list of two in the place of "A"; sizes of the result.
PLACES: list[tuple[tuple[Any, ...], tuple[int, ...]]] = [
    ((slice(None), "A", "A"), (2, 2, 5)),
    (("A", "A"), (2, 4, 5)),
    ((slice(None), "A", slice(None), "A"), (2, 2, 4)),
    (("A", ..., "A"), (2, 3, 4)),
    (("A", None, "A"), (2, 1, 4, 5)),
    ((slice(None), slice(None), "A"), (2, 3, 2, 5)),
    ((None, "A"), (1, 2, 3, 4, 5)),
    ((0, slice(None), "A"), (3, 2, 5)),
    (("A", 0, "A"), (2, 5)),
    ((slice(None), "A", 0, "A"), (2, 2)),
    ((0, ..., "A"), (3, 4, 2)),
    (("A", slice(None), 0, "A"), (2, 3)),
]


@requirement("views/adjacent-advanced-dims-stay-in-place", "views/int-beside-index-tensor-selects-first")
def test_place_of_the_result_dims(s: Session) -> None:
    def body(s: Session, index: tuple[Any, ...], want: tuple[int, ...]) -> None:
        arrays = tuple(np.array([1, 0]) if item == "A" else item for item in index)
        array = np.arange(120, dtype=np.int64).reshape(2, 3, 4, 5)
        first, rest = integers_first(arrays, 4)
        y = s.call("__getitem__", s.tensor(array), handles(s, arrays))
        s.expect_shape(y, want)
        s.expect_values(y, array[first][rest])

    s.table(PLACES, body)


@requirement("views/int-beside-index-tensor-selects-first")
def test_unlike_numpy(s: Session) -> None:
    """NumPy gives (2, 3) here."""
    x = s.tensor(np.arange(24, dtype=np.int64).reshape(2, 3, 4))
    y = s.call("__getitem__", x, (0, slice(None), s.tensor([0, 1], "int64")))
    s.expect_values(y, [[0, 1], [4, 5], [8, 9]], dtype="int64")


@requirement("views/index-tensor-dtypes")
def test_accepted_dtypes(s: Session) -> None:
    x = s.tensor([10, 20, 30], "int64")
    for dtype in ("int64", "int32"):
        s.expect_values(s.call("__getitem__", x, s.tensor([2, 0, -1], dtype)), [30, 10, 30], dtype="int64")
    if s.has_data:
        for dtype in ("bool", "uint8"):
            s.expect_values(s.call("__getitem__", x, s.tensor([1, 0, 1], dtype)), [10, 30], dtype="int64")


@requirement("views/index-tensor-dtypes")
@forall(case=tensors(sizes=SHORT), dtype=st.sampled_from(("float32", "float64", "float16")), tupled=st.booleans())
def test_float_index_raises(s: Session, case: TensorCase, dtype: str, tupled: bool) -> None:
    index = s.tensor([0.0], dtype)
    s.expect_raises(IndexError, "__getitem__", s.build(case), (index,) if tupled else index)


@requirement("views/mask-shape-must-match")
@forall(case=tensors(sizes=SHORT), dim=st.integers(0, 3), off=st.sampled_from((1, -1, 5)), rank=st.integers(1, 3))
def test_mask_of_other_sizes(s: Session, case: TensorCase, dim: int, off: int, rank: int) -> None:
    if not s.has_data:
        return
    rank = min(rank, len(case.sizes))
    dims = list(case.sizes[:rank])
    dims[dim % rank] += off
    s.expect_raises(IndexError, "__getitem__", s.build(case), s.tensor(np.ones(dims, bool)))


@requirement("views/mask-shape-must-match")
def test_masks_of_a_matrix(s: Session) -> None:
    if not s.has_data:
        return
    x = s.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    for dims in ((2,), (4,), (3, 1), (2, 3), (3, 2, 1)):
        s.expect_raises(IndexError, "__getitem__", x, s.tensor(np.ones(dims, bool)))
    s.expect_values(s.call("__getitem__", x, s.tensor(np.zeros((3, 2), bool))), np.zeros(0, np.float32))


@requirement("views/index-values-wrap-and-are-checked")
def test_values_from_both_ends(s: Session) -> None:
    if not s.has_data:
        return

    def read(s: Session, values: list[int], want: list[int] | None) -> None:
        x, index = s.tensor([10, 20, 30, 40], "int64"), s.tensor(values, "int64")
        if want is None:
            s.expect_raises(IndexError, "__getitem__", x, index)
        else:
            s.expect_values(s.call("__getitem__", x, index), want, dtype="int64")

    s.table([([0, 2], [10, 30]), ([-4, 3], [10, 40]), ([-1, 0, -1], [40, 10, 40]), ([4], None), ([0, -5], None)], read)


@requirement("views/index-values-wrap-and-are-checked")
@forall(
    size=st.integers(1, 5),
    values=st.lists(st.integers(-8, 7), min_size=1, max_size=4),
    dtype=st.sampled_from(("int64", "int32")),
)
def test_range_of_values(s: Session, size: int, values: list[int], dtype: str) -> None:
    if not s.has_data:
        return
    x = s.tensor(np.arange(size, dtype=np.float64))
    index = s.tensor(values, dtype)
    if all(-size <= v < size for v in values):
        s.expect_values(s.call("__getitem__", x, index), np.arange(size, dtype=np.float64)[values])
    else:
        s.expect_raises(IndexError, "__getitem__", x, index)


@requirement("views/advanced-index-copies")
@forall(case=tensors(sizes=ANY), seed=st.integers(0, 99))
def test_mask_of_all_dims(s: Session, case: TensorCase, seed: int) -> None:
    if not s.has_data:
        return
    mask = np.random.default_rng(seed).integers(0, 2, case.sizes).astype(bool)
    x = s.build(case)
    y = s.call("__getitem__", x, s.tensor(mask))
    s.expect_values(y, case.array[mask])
    _expect_copy(s, y, x, case)
