"""Where an element lies: offset plus index times stride, default strides, contiguity, and the getters."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from ..backend import Array, DType, numpy_dtype
from ..case import TensorCase, default_strides, is_contiguous
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from ..strategies import dtypes, sizes, tensors
from .layout import Layout, layout_of


@requirement("views/element-address-is-offset-plus-strides", needs=("as_strided",))
def test_two_by_two_window(s: Session) -> None:
    """Strides (4, 3) and offset 1 over 0, 1, …, 9 pick 1, 4, 5 and 8."""
    x = s.tensor(list(range(10)), "int64")
    y = s.call("as_strided", x, (2, 2), (4, 3), 1)
    s.expect_values(y, [[1, 4], [5, 8]], dtype="int64")


@requirement("views/element-address-is-offset-plus-strides", needs=("as_strided",))
@forall(case=tensors(kind="hard"), pick=st.integers(0, 2**20))
def test_element_access_follows_the_formula(s: Session, case: TensorCase, pick: int) -> None:
    x = s.build(case)
    if not s.has_data:
        s.expect_shape(x, case.sizes)
        return
    s.expect_values(x, case.array)
    if case.numel:
        at = np.unravel_index(pick % case.numel, case.sizes) if case.sizes else ()
        place = case.offset + sum(int(i) * stride for i, stride in zip(at, case.strides, strict=True))
        element = s.call("__getitem__", x, tuple(int(i) for i in at))
        s.expect_values(element, case.contents[place])


@requirement("views/element-address-is-offset-plus-strides", needs=("views", "storage"))
@forall(case=tensors(dtypes=("int64", "float32", "uint8"), min_dims=1, empty=False), flips=st.integers(0, 7))
def test_chained_views_add_up(s: Session, case: TensorCase, flips: int) -> None:
    x = y = s.build(case)
    layout = layout_of(case)
    for dim in range(case.sizes.__len__()):
        if flips >> dim & 1:
            y = s.call("slice.Tensor", y, dim, 1, None, 2)
            layout = layout.cut(dim, slice(1, None, 2))
    s.expect_geometry(y, layout.sizes, layout.known, layout.offset)
    s.expect_values(y, layout.of(case.contents))
    s.expect_shares(y, x)


DEFAULT_STRIDES = [
    ((3, 4, 5), (20, 5, 1)),
    ((4,), (1,)),
    ((2, 0, 3), (3, 3, 1)),
    ((0,), (1,)),
    ((1, 3, 1), (3, 1, 1)),
    ((5, 0, 0), (1, 1, 1)),
]


@requirement("views/default-strides-are-row-major")
def test_default_strides_table(s: Session) -> None:
    def body(s: Session, dims: tuple[int, ...], want: tuple[int, ...]) -> None:
        s.expect_strides(s.call("empty.memory_format", dims), want)
        s.expect_strides(s.call("zeros", dims, dtype=DType("int64")), want)

    s.table(DEFAULT_STRIDES, body)


@requirement("views/default-strides-are-row-major")
@forall(dims=sizes(0, 6), dtype=dtypes(), maker=st.sampled_from(("empty.memory_format", "zeros", "ones")))
def test_factories_are_row_major(s: Session, dims: tuple[int, ...], dtype: str, maker: str) -> None:
    x = s.call(maker, dims, dtype=DType(dtype))
    s.expect_dtype(x, dtype)
    s.expect_geometry(x, dims, default_strides(dims), 0)


@requirement("views/zero-dim-has-no-strides")
def test_zero_dim(s: Session) -> None:
    for x in (s.tensor(3.5), s.call("zeros", ()), s.call("tensor", 7)):
        s.expect_geometry(x, (), (), 0)
    picked = s.call("__getitem__", s.tensor([4.0, 5.0]), 1)
    s.expect_geometry(picked, (), (), 1)


CONTIGUITY = [
    ((2, 2), (2, 1), True),
    ((2, 2), (1, 1), False),
    ((2, 2), (3, 1), False),
    ((2, 2), (1, 2), False),
    ((4,), (0,), False),
    ((4,), (2,), False),
    ((3, 1), (1, 7), True),
    ((1, 3, 1), (99, 1, 0), True),
    ((1,), (5,), True),
    ((0,), (7,), True),
    ((2, 0, 3), (1, 1, 1), True),
    ((), (), True),
    ((2, 1, 3), (3, 5, 1), True),
    ((2, 2, 3), (6, 3, 1), True),
    ((2, 2, 3), (7, 3, 1), False),
]


@requirement("views/contiguous-skips-unit-dims", needs=("as_strided",))
def test_contiguity_table(s: Session) -> None:
    def body(s: Session, dims: tuple[int, ...], strides: tuple[int, ...], want: bool) -> None:
        x = s.build(TensorCase("float32", dims, strides, storage=32, kind="distinct"))
        s.expect(s.call("is_contiguous", x), want, f"is_contiguous of sizes {dims}, strides {strides}")

    s.table(CONTIGUITY, body)


@requirement("views/contiguous-skips-unit-dims", needs=("as_strided",))
@forall(
    dims=st.lists(st.sampled_from((2, 1, 3, 0)), max_size=4).map(tuple),
    noise=st.lists(st.sampled_from((0, 0, 0, 1, -1)), min_size=4, max_size=4),
)
def test_contiguity_of_nearly_default_strides(s: Session, dims: tuple[int, ...], noise: list[int]) -> None:
    strides = tuple(max(0, stride + n) for stride, n in zip(default_strides(dims), noise, strict=False))
    x = s.build(TensorCase("int32", dims, strides, offset=1))
    s.expect(s.call("is_contiguous", x), is_contiguous(dims, strides), f"is_contiguous of {dims}, {strides}")


@requirement("views/flip-copies")
def test_flip_of_a_matrix(s: Session) -> None:
    x = s.tensor([[1, 2, 3], [4, 5, 6]], "int32")
    y = s.call("flip", x, (1,))
    s.expect_values(y, [[3, 2, 1], [6, 5, 4]], dtype="int32")
    s.expect_values(s.call("flip", x, (0, 1)), [[6, 5, 4], [3, 2, 1]], dtype="int32")
    if "storage" in s.capabilities:
        s.expect_fresh(y, x)


@requirement("views/flip-copies", needs=("storage", "strided"))
@forall(case=tensors(max_dims=3), chosen=st.integers(0, 7), negative=st.booleans())
def test_flip_reverses_into_a_copy(s: Session, case: TensorCase, chosen: int, negative: bool) -> None:
    rank = len(case.sizes)
    axes = tuple(k for k in range(rank) if chosen >> k & 1)
    x = s.build(case)
    y = s.call("flip", x, tuple(k - rank for k in axes) if negative else axes)
    s.expect_values(y, np.flip(case.array, axes) if axes else case.array)
    s.expect_fresh(y, x)
    text = f"min({s.dialect.observe('strides', y.name)}, default=0) >= 0"
    s.expect(min(s.observe("strides", y), default=0) >= 0, True, "strides of a flip are not negative", text, [y])


@requirement("views/negative-stride-argument-raises")
@forall(strides=st.tuples(st.integers(-4, 3), st.integers(-4, -1)), swap=st.booleans(), dims=sizes(2, 2))
def test_as_strided_refuses_negative_strides(
    s: Session, strides: tuple[int, int], swap: bool, dims: tuple[int, ...]
) -> None:
    x = s.tensor(list(range(12)))
    s.expect_raises(RuntimeError, "as_strided", x, dims, strides[::-1] if swap else strides, 11)


@requirement("views/negative-numpy-stride-raises")
def test_from_numpy_refuses_reversed_arrays(s: Session) -> None:
    def body(s: Session, text: str, array: Array) -> None:
        s.expect_raises(ValueError, "from_numpy", array)

    square = np.arange(6.0).reshape(2, 3)
    s.table([("rows", square[::-1]), ("columns", square[:, ::-1]), ("line", np.arange(4)[::-1])], body)


@requirement("views/getters-agree-with-metadata", needs=("strided",))
@forall(case=tensors())
def test_getters(s: Session, case: TensorCase) -> None:
    x = s.build(case)
    s.expect_geometry(x, case.sizes, case.strides, case.offset)
    s.expect(s.call("numel", x), case.numel, "numel()")
    s.expect(s.call("dim", x), len(case.sizes), "dim()")
    s.expect(s.call("ndim", x), len(case.sizes), "ndim")
    s.expect(s.call("element_size", x), numpy_dtype(case.dtype).itemsize, "element_size()")
    s.expect(s.call("storage_offset", x), case.offset, "storage_offset()")
    s.expect(tuple(s.call("size", x)), case.sizes, "size()", f"tuple({s.text('size', x)})", [x])
    s.expect(tuple(s.call("stride", x)), case.strides, "stride()", s.text("stride", x), [x])
    for dim, (size, stride) in enumerate(zip(case.sizes, case.strides, strict=True)):
        s.expect(s.call("size", x, dim), size, f"size({dim})")
        s.expect(s.call("size", x, dim - len(case.sizes)), size, f"size({dim - len(case.sizes)})")
        s.expect(s.call("stride", x, dim), stride, f"stride({dim})")


@requirement("views/getters-agree-with-metadata")
def test_getters_of_a_row(s: Session) -> None:
    row = s.call("__getitem__", s.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), 1)
    for name, want in (("numel", 3), ("dim", 1), ("element_size", 4)):
        s.expect(s.call(name, row), want, f"{name}()")
    s.expect_shape(row, (3,))


@requirement("views/nbytes-is-logical")
def test_nbytes_of_dtypes(s: Session) -> None:
    def body(s: Session, dtype: str, want: int) -> None:
        s.expect(s.call("nbytes", s.tensor([[1, 2, 3], [4, 5, 6]], dtype)), want, f"nbytes of 6 {dtype}")

    s.table([("uint8", 6), ("int16", 12), ("float32", 24), ("float64", 48), ("int64", 48)], body)
    s.expect(s.call("nbytes", s.call("expand", s.tensor([[1.0]]), (1000, 3))), 12000, "nbytes of an expanded tensor")


@requirement("views/nbytes-is-logical")
@forall(case=tensors())
def test_nbytes_counts_elements(s: Session, case: TensorCase) -> None:
    x = s.build(case)
    s.expect(s.call("nbytes", x), case.numel * numpy_dtype(case.dtype).itemsize, "nbytes")


@requirement("views/shape-is-an-immutable-tuple")
def test_shape_is_a_tuple(s: Session) -> None:
    x = s.tensor([[1.0, 2.0, 3.0]])
    shape = s.call("shape", x)
    s.expect(isinstance(shape, tuple), True, "shape is a tuple", f"isinstance({s.text('shape', x)}, tuple)", [x])
    s.expect(shape == (1, 3), True, "shape equals (1, 3)", f"{s.text('shape', x)} == (1, 3)", [x])
    s.expect_raises(AttributeError, "__setattr__", x, "shape", (3, 1))
    s.expect_shape(x, (1, 3))


@requirement("views/stride-is-a-method", needs=("strided",))
def test_stride_is_a_method(s: Session) -> None:
    x = s.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    s.expect(s.call("stride", x), (3, 1), "stride()")
    s.expect(s.call("stride", x, 0), 3, "stride(0)")
    s.expect(s.call("stride", x, -1), 1, "stride(-1)")
    s.expect_raises(AttributeError, "__getattr__", x, "strides")


@requirement("views/element-address-is-offset-plus-strides", needs=("views",))
def test_row_and_column_of_the_chapter(s: Session) -> None:
    x = s.tensor([[0, 1, 2], [3, 4, 5]], "int64")
    column = s.call("__getitem__", x, (slice(None), 1))
    want = Layout((2,), (3,), 1)
    if "strided" in s.capabilities:
        s.expect_geometry(column, want.sizes, want.known, want.offset)
    s.expect_values(column, [1, 4], dtype="int64")
