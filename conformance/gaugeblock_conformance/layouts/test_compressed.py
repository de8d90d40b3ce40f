"""Compressed rows and columns, of elements and of blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as hs

from ..backend import Array
from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session
from . import drawing

_ROWS = ("crow_indices", "col_indices")
_COLS = ("ccol_indices", "row_indices")


@dataclass(frozen=True)
class Compressed:
    """Pointers, plain indices and values of a matrix, made by a loop over its rows, or over those of its transpose."""

    pointers: list[int]
    plain: list[int]
    values: Array

    @classmethod
    def of(cls, matrix: Array, block: tuple[int, int] = (1, 1), rows: bool = True) -> Compressed:
        """The parts of a matrix with blocks of a size; a block with an element that is not zero is specified."""
        height, width = block
        grid = matrix.reshape(matrix.shape[0] // height, height, matrix.shape[1] // width, width).swapaxes(1, 2)
        turned = grid if rows else grid.swapaxes(0, 1)
        pointers, plain, values = [0], [], []
        for line in turned:
            for place, entry in enumerate(line):
                if entry.any():
                    plain.append(place)
                    values.append(entry)
            pointers.append(len(plain))
        return cls(pointers, plain, np.array(values, matrix.dtype).reshape(len(plain), height, width))


def expect_parts(s: Session, x: Handle, names: tuple[str, str], want: Compressed, blocks: bool = False) -> None:
    """Expect the parts of a compressed matrix."""
    s.expect_values(s.call(names[0], x), np.array(want.pointers, np.int64), dtype="int64")
    s.expect_values(s.call(names[1], x), np.array(want.plain, np.int64), dtype="int64")
    s.expect_values(s.call("values", x), want.values if blocks else want.values.reshape(-1))


@requirement("layouts/csr-rows-own-their-entries")
@forall(x=drawing.matrices())
def test_rows(s: Session, x: Array) -> None:
    made = s.call("to_sparse_csr", s.tensor(x))
    expect_parts(s, made, _ROWS, Compressed.of(x))
    s.expect_of_last(s.call("_nnz", made), int(np.count_nonzero(x)), "_nnz", "{}")


@requirement("layouts/csr-rows-own-their-entries")
@forall(x=drawing.matrices(dtype="float32"))
def test_rows_of_parts(s: Session, x: Array) -> None:
    parts = Compressed.of(x)
    made = s.call(
        "sparse_csr_tensor", s.tensor(parts.pointers, "int64"), s.tensor(np.array(parts.plain, np.int64)),
        s.tensor(parts.values.reshape(-1)), x.shape,
    )  # fmt: skip
    s.expect_values(s.call("to_dense", made), x)


@requirement("layouts/csr-rows-own-their-entries")
def test_golden_rows(s: Session) -> None:
    pointers, cols = s.tensor([0, 1, 1, 3], "int64"), s.tensor([2, 0, 2], "int64")
    x = s.call("sparse_csr_tensor", pointers, cols, s.tensor([3.0, 4.0, 5.0]), (3, 3))
    s.expect_values(s.call("to_dense", x), [[0.0, 0.0, 3.0], [0.0, 0.0, 0.0], [4.0, 0.0, 5.0]])


_BROKEN: list[tuple[str, list[int], list[int], list[float]]] = [
    ("does not begin with 0", [1, 1, 3], [2, 0, 2], [1.0, 2.0, 3.0]),
    ("ends before the last", [0, 1, 2], [2, 0, 2], [1.0, 2.0, 3.0]),
    ("ends behind the last", [0, 1, 4], [2, 0, 2], [1.0, 2.0, 3.0]),
    ("decreases", [0, 4, 3], [2, 0, 2], [1.0, 2.0, 3.0]),
    ("has more than a row holds", [0, 0, 4], [0, 1, 2, 2], [1.0, 2.0, 3.0, 4.0]),
    ("names a column behind the last", [0, 1, 3], [2, 0, 3], [1.0, 2.0, 3.0]),
    ("names a negative column", [0, 1, 3], [2, -1, 2], [1.0, 2.0, 3.0]),
    ("is out of order", [0, 1, 3], [2, 2, 0], [1.0, 2.0, 3.0]),
    ("repeats a column", [0, 1, 3], [2, 0, 0], [1.0, 2.0, 3.0]),
    ("has too few pointers", [0, 3], [0, 1, 2], [1.0, 2.0, 3.0]),
    ("has too few columns", [0, 1, 3], [2, 0], [1.0, 2.0, 3.0]),
    ("has too few values", [0, 1, 3], [2, 0, 2], [1.0, 2.0]),
]


@requirement("layouts/compressed-invariants-are-checked-on-demand")
def test_broken_invariants(s: Session) -> None:
    def row(s: Session, what: str, pointers: list[int], cols: list[int], values: list[float]) -> None:
        s.expect_raises(
            RuntimeError, "sparse_csr_tensor", s.tensor(pointers, "int64"), s.tensor(cols, "int64"), s.tensor(values),
            (2, 3), check_invariants=True,
        )  # fmt: skip

    s.table(_BROKEN, row)


@requirement("layouts/compressed-invariants-are-checked-on-demand")
@forall(x=drawing.matrices(), data=hs.data())
def test_one_wrong_column(s: Session, x: Array, data: hs.DataObject) -> None:
    parts = Compressed.of(x)

    def given(cols: list[int]) -> tuple[Any, ...]:
        values = s.tensor(parts.values.reshape(-1))
        return s.tensor(np.array(parts.pointers, np.int64)), s.tensor(np.array(cols, np.int64)), values, x.shape

    made = s.call("sparse_csr_tensor", *given(parts.plain), check_invariants=True)
    s.expect_values(s.call("to_dense", made), x)
    if parts.plain:
        wrong = list(parts.plain)
        wrong[data.draw(hs.integers(0, len(wrong) - 1))] = data.draw(hs.sampled_from((-1, x.shape[1], x.shape[1] + 7)))
        s.expect_raises(RuntimeError, "sparse_csr_tensor", *given(wrong), check_invariants=True)


@requirement("layouts/csr-indices-have-one-dtype")
@forall(first=hs.sampled_from(("int32", "int64")), second=hs.sampled_from(("int32", "int64")))
def test_index_dtypes(s: Session, first: str, second: str) -> None:
    given = s.tensor([0, 1, 3], first), s.tensor([2, 0, 2], second), s.tensor([3.0, 4.0, 5.0]), (2, 3)
    if first != second:
        s.expect_raises(RuntimeError, "sparse_csr_tensor", *given, check_invariants=True)
        return
    x = s.call("sparse_csr_tensor", *given, check_invariants=True)
    s.expect_values(s.call("crow_indices", x), [0, 1, 3], dtype=first)
    s.expect_values(s.call("col_indices", x), [2, 0, 2], dtype=first)
    s.expect_values(s.call("to_dense", x), [[0.0, 0.0, 3.0], [4.0, 0.0, 5.0]])


@requirement("layouts/csr-may-be-batched")
@forall(data=hs.data(), count=hs.integers(1, 3), x=drawing.matrices())
def test_batches(s: Session, data: hs.DataObject, count: int, x: Array) -> None:
    batch = np.stack([x * (k + 1) for k in range(count)])
    parts = [Compressed.of(one) for one in batch]
    made = s.call(
        "sparse_csr_tensor", s.tensor(np.array([one.pointers for one in parts], np.int64)),
        s.tensor(np.array([one.plain for one in parts], np.int64).reshape(count, -1)),
        s.tensor(np.stack([one.values.reshape(-1) for one in parts])), batch.shape,
    )  # fmt: skip
    s.expect_values(s.call("to_dense", made), batch)
    place = data.draw(hs.integers(0, count - 1))
    s.expect_values(s.call("to_dense", s.call("select.int", made, 0, place)), batch[place])


@requirement("layouts/csr-may-be-batched")
def test_single_dims_are_refused(s: Session) -> None:
    s.expect_raises((RuntimeError, IndexError), "to_sparse_csr", s.tensor([0.0, 1.0]))
    s.expect_raises(
        RuntimeError, "sparse_csr_tensor", s.tensor([0, 1], "int64"), s.tensor([0], "int64"), s.tensor([1.0]), (1,),
        check_invariants=True,
    )  # fmt: skip


@requirement("layouts/compressed-columns-and-blocks-follow-the-rule")
@forall(data=hs.data(), blocks=hs.booleans(), rows=hs.booleans())
def test_columns_and_blocks(s: Session, data: hs.DataObject, blocks: bool, rows: bool) -> None:
    block = (data.draw(hs.integers(1, 3)), data.draw(hs.integers(1, 3))) if blocks else (1, 1)
    grid = data.draw(hs.integers(0, 3)), data.draw(hs.integers(0, 3))
    x = data.draw(drawing.matrices(grid[0] * block[0], grid[1] * block[1]))
    name = f"to_sparse_{'b' if blocks else 'c'}s{'r' if rows else 'c'}"
    made = s.call(name, s.tensor(x), *((block,) if blocks else ()))
    expect_parts(s, made, _ROWS if rows else _COLS, Compressed.of(x, block, rows), blocks)
    s.expect_values(s.call("to_dense", made), x)


@requirement("layouts/compressed-columns-and-blocks-follow-the-rule")
def test_golden_blocks(s: Session) -> None:
    x = s.tensor([[0.0, 0.0, 3.0, 0.0], [0.0, 0.0, 0.0, 5.0]])
    made = s.call("to_sparse_bsr", x, (2, 2))
    s.expect_values(s.call("crow_indices", made), [0, 1], dtype="int64")
    s.expect_values(s.call("col_indices", made), [1], dtype="int64")
    s.expect_values(s.call("values", made), [[[3.0, 0.0], [0.0, 5.0]]])
    pointers, rows = s.tensor([0, 0, 1], "int64"), s.tensor([0], "int64")
    made = s.call("sparse_bsc_tensor", pointers, rows, s.tensor([[[1.0, 2.0]]]), (1, 4))
    s.expect_values(s.call("to_dense", made), [[0.0, 0.0, 1.0, 2.0]])
    s.expect_raises(RuntimeError, "crow_indices", made)


@requirement("layouts/blocks-divide-the-sizes")
@forall(sizes=hs.tuples(hs.integers(1, 6), hs.integers(1, 6)), block=hs.tuples(hs.integers(-1, 4), hs.integers(-1, 4)),
        name=hs.sampled_from(("to_sparse_bsr", "to_sparse_bsc")))  # fmt: skip
def test_block_sizes(s: Session, sizes: tuple[int, int], block: tuple[int, int], name: str) -> None:
    x = np.arange(1.0, sizes[0] * sizes[1] + 1).reshape(sizes)
    if min(block) <= 0 or sizes[0] % block[0] or sizes[1] % block[1]:
        s.expect_raises(RuntimeError, name, s.tensor(x), block)
    else:
        s.expect_values(s.call("to_dense", s.call(name, s.tensor(x), block)), x)


@requirement("layouts/transpose-of-compressed-swaps-the-form")
@forall(x=drawing.matrices(), rows=hs.booleans())
def test_transposes(s: Session, x: Array, rows: bool) -> None:
    made = s.call("transpose.int", s.call("to_sparse_csr" if rows else "to_sparse_csc", s.tensor(x)), 0, 1)
    got = str(s.call("__getattr__", made, "layout")).rpartition(".")[2]
    s.expect_of_last(got, "sparse_csc" if rows else "sparse_csr", "layout", "str({}).rpartition('.')[2]")
    s.expect_shape(made, x.T.shape)
    expect_parts(s, made, _COLS if rows else _ROWS, Compressed.of(x, rows=rows))
    s.expect_values(s.call("to_dense", made), x.T)


@requirement("layouts/compressed-products-are-exact")
@forall(data=hs.data(), dtype=hs.sampled_from(("float32", "float64")))
def test_products(s: Session, data: hs.DataObject, dtype: str) -> None:
    rows, inner, cols = (data.draw(hs.integers(0, 4)) for _ in range(3))
    x, y = data.draw(drawing.matrices(rows, inner, dtype)), data.draw(drawing.matrices(inner, cols, dtype))
    mixed = s.call("mm", s.call("to_sparse_csr", s.tensor(x)), s.tensor(y))
    got = str(s.call("__getattr__", mixed, "layout")).rpartition(".")[2]
    s.expect_of_last(got, "strided", "layout", "str({}).rpartition('.')[2]")
    s.expect_values(mixed, x @ y, signed_zero=False)
    both = s.call("mm", s.call("to_sparse_csr", s.tensor(x)), s.call("to_sparse_csr", s.tensor(y)))
    s.expect_values(s.call("to_dense", both), x @ y, signed_zero=False)


@requirement("layouts/compressed-products-are-exact")
def test_golden_products(s: Session) -> None:
    x = s.call("to_sparse_csr", s.tensor([[0.0, 2.0], [3.0, 0.0], [0.0, 0.0]]))
    s.expect_values(s.call("mm", x, s.tensor([[1.0, 2.0], [10.0, 20.0]])), [[20.0, 40.0], [3.0, 6.0], [0.0, 0.0]])
    s.expect_raises(RuntimeError, "mm", x, s.tensor([[1.0, 2.0]]))


@requirement("layouts/compressed-sums-are-exact")
@forall(data=hs.data(), form=hs.sampled_from(("to_sparse_csr", "to_sparse_csc")), alpha=hs.sampled_from((1, 2, -1.5)))
def test_sums(s: Session, data: hs.DataObject, form: str, alpha: float) -> None:
    rows, cols = (data.draw(hs.integers(0, 4)) for _ in range(2))
    x, y = (data.draw(drawing.matrices(rows, cols, "float32")) for _ in range(2))
    factor = np.float32(alpha)
    compressed, strided = s.call(form, s.tensor(x)), s.tensor(y)
    s.expect_values(s.call("add.Tensor", compressed, strided, alpha=alpha), x + factor * y, signed_zero=False)
    s.expect_values(s.call("add.Tensor", strided, compressed, alpha=alpha), y + factor * x, signed_zero=False)


@requirement("layouts/compressed-sums-are-exact")
def test_golden_sums(s: Session) -> None:
    x, y = s.call("to_sparse_csr", s.tensor([[5.0, 0.0]])), s.tensor([[1.0, 2.0]])
    s.expect_values(s.call("add.Tensor", x, y), [[6.0, 2.0]])
    s.expect_values(s.call("add.Tensor", x, y, alpha=10), [[15.0, 20.0]])
    s.expect_values(s.call("add.Tensor", y, x, alpha=10), [[51.0, 2.0]])


def expect_order(s: Session, x: Handle, names: tuple[str, str]) -> None:
    """Expect plain indices in order and distinct within each row or column."""
    pointers, plain = (s.read(s.call(name, x)) for name in names)
    for begin, end in zip(pointers[:-1].tolist(), pointers[1:].tolist(), strict=True):
        line = plain[begin:end].tolist()
        s.expect_of_last(line == sorted(set(line)), True, f"order of {names[1]} from {begin} to {end}",
                         f"{{0}}[{begin}:{end}].tolist() == sorted(set({{0}}[{begin}:{end}].tolist()))")  # fmt: skip


@requirement("layouts/compressed-results-keep-the-invariants")
@forall(data=hs.data(), name=hs.sampled_from(("mm", "add.Tensor", "mul.Tensor", "to_sparse_csc", "transpose")))
def test_results_are_in_order(s: Session, data: hs.DataObject, name: str) -> None:
    size = data.draw(hs.integers(1, 4))
    x, y = (s.call("to_sparse_csr", s.tensor(data.draw(drawing.matrices(size, size)))) for _ in range(2))
    if name == "to_sparse_csc":
        expect_order(s, s.call(name, x), _COLS)
    elif name == "transpose":
        expect_order(s, s.call("transpose.int", x, 0, 1), _COLS)
    else:
        expect_order(s, s.call(name, x, y), _ROWS)


@requirement("layouts/compressed-results-keep-the-invariants")
def test_golden_order(s: Session) -> None:
    x = s.call("to_sparse_csr", s.tensor([[0.0, 0.0, 3.0], [4.0, 0.0, 5.0]]))
    y = s.call("to_sparse_csr", s.tensor([[0.0, 4.0], [0.0, 0.0], [3.0, 5.0]]))
    made = s.call("mm", x, y)
    expect_order(s, made, _ROWS)
    s.expect_values(s.call("to_dense", made), [[9.0, 15.0], [15.0, 41.0]])
