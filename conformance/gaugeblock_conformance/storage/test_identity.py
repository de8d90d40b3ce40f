"""The pair of tensor and storage: addresses, bytes without a dtype, and when two tensors are over one storage."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from ..backend import DType, numpy_dtype
from ..case import TensorCase
from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session
from ..strategies import dtypes, sizes, tensors
from ..views.layout import layout_of

EQUAL_WIDTH = (
    ("uint8", "int8"),
    ("int16", "float16"),
    ("bfloat16", "int16"),
    ("float32", "int32"),
    ("int64", "float64"),
)


@requirement("storage/tensor-is-metadata-over-one-storage")
@forall(dims=sizes(), dtype=dtypes(), maker=st.sampled_from(("zeros", "ones", "empty.memory_format")))
def test_fresh_tensor_has_a_storage_of_its_own(s: Session, dims: tuple[int, ...], dtype: str, maker: str) -> None:
    x = s.call(maker, dims, dtype=DType(dtype))
    y = s.call(maker, dims, dtype=DType(dtype))
    s.expect_shape(x, dims)
    s.expect_dtype(x, dtype)
    s.expect_shares(x, x)
    s.expect_fresh(x, y)


@requirement("storage/tensor-is-metadata-over-one-storage", needs=("views",))
def test_two_records_over_one_storage(s: Session) -> None:
    x = s.tensor([[0, 1, 2], [3, 4, 5]], "int64")
    y = s.call("__getitem__", x, (slice(1, None), slice(None, None, 2)))
    s.expect_shares(y, x)
    s.expect_nbytes(x, 48)
    s.expect_nbytes(y, 48)
    s.expect_shape(x, (2, 3))
    s.expect_shape(y, (1, 2))
    s.expect_values(y, [[3, 5]], dtype="int64")


@requirement("storage/data-address-follows-offset", needs=("strided",))
@forall(case=tensors(empty=False))
def test_data_address(s: Session, case: TensorCase) -> None:
    if not s.has_data:
        s.expect_offset(s.build(case), case.offset)
        return
    x = s.build(case)
    start = s.call("storage_data_ptr", x)
    distance = s.observe("data_ptr", x) - start
    s.expect(distance, case.offset * numpy_dtype(case.dtype).itemsize, "bytes from the storage's start to the data",
             f"{s.dialect.observe('data_ptr', x.name)} - {s.text('storage_data_ptr', x)}", [x])  # fmt: skip


@requirement("storage/data-address-follows-offset", needs=("views",))
def test_address_of_a_row(s: Session) -> None:
    if not s.has_data:
        return
    x = s.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    row = s.call("__getitem__", x, 1)
    distance = s.observe("data_ptr", row) - s.observe("data_ptr", x)
    text = " - ".join(s.dialect.observe("data_ptr", h.name) for h in (row, x))
    s.expect(distance, 12, "bytes between the rows", text, [row, x])


@requirement("storage/storage-has-no-dtype", needs=("views.dtype",))
@forall(pair=st.sampled_from(EQUAL_WIDTH), case=tensors("uint8", max_dims=2), turn=st.booleans())
def test_one_storage_under_two_dtypes(s: Session, pair: tuple[str, str], case: TensorCase, turn: bool) -> None:
    case = case.with_dtype(pair[turn])
    x = s.build(case)
    y = s.call("view.dtype", x, DType(pair[not turn]))
    s.expect_shares(y, x)
    s.expect_nbytes(y, s.observe("storage_nbytes", x))
    if s.has_data:
        want = case.array.view(numpy_dtype(pair[not turn]))
        s.expect_values(y, want)
        s.expect_of_last(
            s.call("storage_bytes", y).hex(), case.contents.tobytes().hex(), "bytes of the storage", "{}.hex()"
        )


@requirement("storage/storage-has-no-dtype", needs=("views.dtype",))
def test_bits_are_the_same(s: Session) -> None:
    x = s.tensor([1.0, -2.0])
    y = s.call("view.dtype", x, DType("int32"))
    s.expect_values(y, [0x3F800000, -0x40000000], dtype="int32")
    s.expect_shares(y, x)
    s.expect_nbytes(y, 8)


def _bytes(s: Session, x: Handle) -> str:
    return str(s.call("storage_bytes", x).hex())


@requirement("storage/bool-is-one-byte")
def test_bytes_of_bools(s: Session) -> None:
    x = s.tensor([True, False, True], "bool")
    s.expect_nbytes(x, 3)
    if not s.has_data:
        return
    s.expect_of_last(_bytes(s, x), "010001", "bytes of [True, False, True]", "{}.hex()")
    number = s.tensor([2.0, 0.0, float("nan"), -0.0, 0.25])
    s.expect_of_last(
        _bytes(s, s.call("to.dtype", number, DType("bool"))), "0100010001", "bytes of floats made bool", "{}.hex()"
    )
    s.expect_of_last(
        _bytes(s, s.call("to.dtype", s.tensor([256, 0, -1], "int64"), DType("bool"))), "010001", "bytes", "{}.hex()"
    )
    s.expect_of_last(_bytes(s, s.call("gt.Scalar", number, 0)), "0100000001", "bytes of a comparison", "{}.hex()")


BOOL_MAKERS: list[tuple[str, tuple[Any, ...]]] = [
    ("to.dtype", (DType("bool"),)),
    ("ne.Scalar", (0,)),
    ("logical_not", ()),
    ("eq.Scalar", (1,)),
]


@requirement("storage/bool-is-one-byte")
@forall(case=tensors(("uint8", "int64", "float32", "int16", "bool")), made=st.integers(0, len(BOOL_MAKERS) - 1))
def test_operators_write_0_or_1(s: Session, case: TensorCase, made: int) -> None:
    name, arguments = BOOL_MAKERS[made]
    y = s.call(name, s.build(case), *arguments)
    s.expect_dtype(y, "bool")
    if case.dtype != "bool":
        s.expect_nbytes(y, case.numel)
    if s.has_data and case.numel < 600:
        strange = set(s.call("storage_bytes", y)) - {0, 1}
        s.expect_of_last(sorted(strange), [], "bytes other than 0 and 1", "sorted(set({}) - set((0, 1)))")


@requirement("storage/same-storage-means-alias", needs=("views",))
@forall(case=tensors(min_dims=1))
def test_views_share_and_copies_do_not(s: Session, case: TensorCase) -> None:
    x = s.build(case)
    other = s.build(case)
    view = s.call("transpose.int", x, 0, -1)
    s.expect_shares(view, x)
    s.expect_shares(s.call("__getitem__", view, slice(1, None)), x)
    s.expect_shares(s.call("unsqueeze", x, 0), view)
    s.expect_fresh(x, other)
    s.expect_fresh(s.call("clone", x), x, other)


@requirement("storage/same-storage-means-alias", needs=("inplace", "views"))
def test_sharing_is_what_a_write_shows(s: Session) -> None:
    x = s.tensor([1.0, 2.0, 3.0])
    view, copy = s.call("view", x, (3, 1)), s.call("clone", x)
    s.call("fill_.Scalar", x, 7)
    s.expect_shares(view, x)
    s.expect_values(view, [[7.0], [7.0], [7.0]])
    s.expect_fresh(copy, x)
    s.expect_values(copy, [1.0, 2.0, 3.0])


@requirement("storage/is-set-to-compares-metadata")
def test_is_set_to_table(s: Session) -> None:
    x = s.tensor([[1.0, 2.0], [3.0, 4.0]])

    def ask(y: Handle, want: bool) -> None:
        s.expect(s.call("is_set_to", x, y), want, "is_set_to()")
        s.expect(s.call("is_set_to", y, x), want, "is_set_to() the other way round")

    ask(x, True)
    ask(s.call("detach", x), True)
    ask(s.call("view", x, (2, 2)), True)
    ask(s.call("t", s.call("t", x)), True)
    ask(s.call("view", x, (4,)), False)
    ask(s.call("t", x), False)
    ask(s.call("__getitem__", x, slice(0, 1)), False)
    ask(s.call("clone", x), False)
    rows = s.call("__getitem__", x, 0)
    s.expect(s.call("is_set_to", rows, s.call("__getitem__", x, 1)), False, "is_set_to() of another offset")


@requirement("storage/is-set-to-compares-metadata", needs=("as_strided",))
@forall(
    a=st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(0, 2)),
    b=st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(0, 2)),
    copied=st.booleans(),
)
def test_is_set_to(s: Session, a: tuple[int, int, int], b: tuple[int, int, int], copied: bool) -> None:
    case = TensorCase("int32", (12,), (1,))
    x = s.build(case)
    y = s.build(case) if copied else x
    left = s.call("as_strided", x, (a[0],), (a[1],), a[2])
    right = s.call("as_strided", y, (b[0],), (b[1],), b[2])
    s.expect(s.call("is_set_to", left, right), a == b and not copied, "is_set_to()")
    s.expect_shape(left, layout_of(case).cut(0, slice(0, a[0])).sizes)
