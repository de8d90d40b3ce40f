"""contiguous() and clone(): when the tensor itself comes back, and the strides of a copy."""

from __future__ import annotations

from hypothesis import strategies as st

from ..backend import MemoryFormat, numpy_dtype
from ..case import TensorCase, default_strides, is_contiguous
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from ..strategies import tensors
from .layout import fills_a_range, layout_of, preserved_strides

SHORT = st.lists(st.sampled_from((2, 3, 1, 4, 5, 0)), max_size=4).map(tuple)
DENSE = ("contiguous", "permuted", "offset")


@requirement("views/contiguous-returns-self")
@forall(case=tensors(layouts=("contiguous", "offset", "gapped")))
def test_contiguous_of_contiguous(s: Session, case: TensorCase) -> None:
    x = s.build(case)
    y = s.call("contiguous", x)
    if is_contiguous(case.sizes, case.strides):
        s.expect_same(y, x)
    s.expect_values(y, case.array)


@requirement("views/contiguous-returns-self")
def test_contiguous_slice_is_itself(s: Session) -> None:
    x = s.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    rows = s.call("__getitem__", x, slice(1, None))
    s.expect_same(s.call("contiguous", rows), rows)
    s.expect_values(rows, [[3.0, 4.0], [5.0, 6.0]])


@requirement("views/contiguous-copies-to-default-strides", needs=("strided", "storage"))
@forall(case=tensors())
def test_contiguous_packs(s: Session, case: TensorCase) -> None:
    x = s.build(case)
    y = s.call("contiguous", x)
    s.expect_values(y, case.array)
    if is_contiguous(case.sizes, case.strides):
        return
    s.expect_geometry(y, case.sizes, default_strides(case.sizes), 0)
    s.expect_fresh(y, x)
    s.expect_nbytes(y, case.numel * numpy_dtype(case.dtype).itemsize)


@requirement("views/contiguous-copies-to-default-strides")
def test_contiguous_of_a_transpose(s: Session) -> None:
    x = s.call("t", s.tensor([[1, 2, 3], [4, 5, 6]], "int32"))
    y = s.call("contiguous", x)
    s.expect_values(y, [[1, 4], [2, 5], [3, 6]], dtype="int32")
    if "strided" in s.capabilities:
        s.expect_strides(y, (2, 1))
        s.expect(s.call("is_contiguous", y), True, "is_contiguous()")
        s.expect(s.call("is_contiguous", x), False, "is_contiguous() of the transpose")


# Sizes, strides of the input, strides of its clone.
CLONES = [
    ((2, 3), (1, 2), (1, 2)),
    ((2, 3), (3, 1), (3, 1)),
    ((2, 1, 3), (3, 9, 1), (3, 9, 1)),
    ((0, 3), (5, 7), (5, 7)),
    ((2, 2, 2), (1, 4, 2), (1, 4, 2)),
    ((2, 3), (2, 4), (1, 2)),
    ((2, 3), (8, 2), (3, 1)),
    ((4, 3), (0, 1), (3, 1)),
    ((3, 4), (1, 0), (4, 1)),
    ((2, 3), (0, 0), (3, 1)),
    ((2, 2), (1, 1), (2, 1)),
    ((3, 2), (1, 1), (2, 1)),
    ((2, 3), (1, 1), (1, 2)),
    ((2, 3, 4), (1, 0, 2), (1, 2, 6)),
]


@requirement(
    "views/clone-preserves-dense-strides", "views/clone-packs-in-stride-order", needs=("strided", "as_strided")
)
def test_clone_strides_table(s: Session) -> None:
    def body(s: Session, dims: tuple[int, ...], strides: tuple[int, ...], want: tuple[int, ...]) -> None:
        x = s.build(TensorCase("float32", dims, strides, storage=24, kind="distinct"))
        y = s.call("clone", x)
        s.expect_strides(y, want)
        assert x.case is not None
        s.expect_values(y, x.case.array)

    s.table(CLONES, body)


@requirement("views/clone-preserves-dense-strides", needs=("strided",))
@forall(case=tensors(sizes=SHORT, layouts=DENSE), explicit=st.booleans())
def test_clone_of_dense(s: Session, case: TensorCase, explicit: bool) -> None:
    x = s.build(case)
    y = s.call("clone", x, memory_format=MemoryFormat("preserve_format")) if explicit else s.call("clone", x)
    s.expect_values(y, case.array)
    if fills_a_range(layout_of(case)):
        s.expect_geometry(y, case.sizes, case.strides, 0)
    if "storage" in s.capabilities:
        s.expect_fresh(y, x)


@requirement("views/clone-packs-in-stride-order", needs=("strided",))
@forall(case=tensors(sizes=SHORT))
def test_clone_of_any_layout(s: Session, case: TensorCase) -> None:
    x = s.build(case)
    y = s.call("clone", x)
    s.expect_values(y, case.array)
    s.expect_geometry(y, case.sizes, preserved_strides(layout_of(case)), 0)


@requirement("views/clone-contiguous-format-is-row-major", needs=("strided",))
@forall(case=tensors())
def test_clone_in_contiguous_format(s: Session, case: TensorCase) -> None:
    x = s.build(case)
    y = s.call("clone", x, memory_format=MemoryFormat("contiguous_format"))
    s.expect_values(y, case.array)
    s.expect_geometry(y, case.sizes, default_strides(case.sizes), 0)
    if "storage" in s.capabilities:
        s.expect_fresh(y, x)
