"""The bytes of a tensor under another dtype."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from ..backend import Array, DType, numpy_dtype
from ..case import TensorCase
from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session
from ..strategies import tensors
from .layout import Layout, expect_view, layout_of

SAME = {
    1: ("uint8", "int8", "bool"),
    2: ("int16", "float16", "bfloat16"),
    4: ("float32", "int32"),
    8: ("float64", "int64", "complex64"),
}
WIDTHS = {name: width for width, names in SAME.items() for name in names} | {"complex128": 16}
NAMES = tuple(name for name in WIDTHS if name != "bool")


def _reread(layout: Layout, contents: Array, dtype: str) -> Array:
    return layout.of(contents.view(numpy_dtype(dtype)))


def _expect_bytes(s: Session, y: Handle, want: Array) -> None:
    """Values, and the very bits of them (a NaN's too)."""
    s.expect_values(y, want)
    if s.has_data:
        bits = s.read(y).tobytes().hex()
        s.expect(bits, want.tobytes().hex(), "bytes", f"{y.name}.numpy().tobytes().hex()", [y])


@requirement("views/view-dtype-reinterprets-bytes")
def test_bits_of_one(s: Session) -> None:
    x = s.tensor([1.0, -0.0])
    s.expect_values(s.call("view.dtype", x, DType("int32")), [0x3F800000, -(2**31)], dtype="int32")
    y = s.call("view.dtype", s.tensor([0x3C00], "int16"), DType("float16"))
    s.expect_values(y, [1.0], dtype="float16")


@requirement("views/view-dtype-reinterprets-bytes")
@forall(case=tensors(NAMES[:-1]), pick=st.integers(0, 2))
def test_equal_width_keeps_the_record(s: Session, case: TensorCase, pick: int) -> None:
    names = [name for name in SAME[WIDTHS[case.dtype]] if name != "bool"]
    dtype = names[pick % len(names)]
    x = s.build(case)
    y = s.call("view.dtype", x, DType(dtype))
    expect_view(s, y, x, layout_of(case))
    s.expect_dtype(y, dtype)
    _expect_bytes(s, y, case.array.view(numpy_dtype(dtype)))


def _narrow(layout: Layout, ratio: int) -> Layout:
    """The record in units ``ratio`` times smaller; the last dim has stride 1."""
    sizes = (*layout.sizes[:-1], layout.sizes[-1] * ratio)
    strides = (*(s * ratio for s in layout.known[:-1]), 1)
    return Layout(sizes, strides, layout.offset * ratio)


@requirement("views/view-narrower-dtype-scales-last-dim")
def test_bytes_of_an_int32(s: Session) -> None:
    x = s.tensor([[0x01020304, 5], [6, 0x7F000000]], "int32")
    y = s.call("view.dtype", s.call("__getitem__", x, slice(1, None)), DType("uint8"))
    expect_view(s, y, x, Layout((1, 8), (8, 1), 8))
    s.expect_values(y, [[6, 0, 0, 0, 0, 0, 0, 127]], dtype="uint8")


@requirement("views/view-narrower-dtype-scales-last-dim")
@forall(case=tensors(tuple(n for n in NAMES if WIDTHS[n] > 1), min_dims=1), pick=st.integers(0, 9))
def test_narrower(s: Session, case: TensorCase, pick: int) -> None:
    narrower = [n for n in NAMES if WIDTHS[n] < WIDTHS[case.dtype]]
    dtype = narrower[pick % len(narrower)]
    x = s.build(case)
    if case.strides[-1] != 1:
        s.expect_raises(RuntimeError, "view.dtype", x, DType(dtype))
        return
    want = _narrow(layout_of(case), WIDTHS[case.dtype] // WIDTHS[dtype])
    y = s.call("view.dtype", x, DType(dtype))
    expect_view(s, y, x, want)
    s.expect_dtype(y, dtype)
    _expect_bytes(s, y, _reread(want, case.contents, dtype))


@requirement("views/view-wider-dtype-needs-divisibility")
@forall(
    dtypes=st.sampled_from((("uint8", "int16"), ("int16", "int32"), ("int32", "complex64"), ("uint8", "int64"))),
    last=st.integers(0, 12),
    row=st.sampled_from((0, 1, 2, 4, 8, 3, 5)),
    offset=st.sampled_from((0, 8, 4, 2, 1, 3)),
    unit=st.sampled_from((1, 1, 1, 1, 2, 0)),
)
def test_wider(s: Session, dtypes: tuple[str, str], last: int, row: int, offset: int, unit: int) -> None:
    narrow, wide = dtypes
    ratio = WIDTHS[wide] // WIDTHS[narrow]
    reach = offset + row + max(last - 1, 0) * unit + 1
    storage = -(-reach // ratio) * ratio
    case = TensorCase(narrow, (2, last), (row, unit), offset, storage)
    x = s.build(case)
    if unit != 1 or last % ratio or row % ratio or offset % ratio:
        s.expect_raises(RuntimeError, "view.dtype", x, DType(wide))
        return
    want = Layout((2, last // ratio), (row // ratio, 1), offset // ratio)
    y = s.call("view.dtype", x, DType(wide))
    expect_view(s, y, x, want)
    s.expect_dtype(y, wide)
    _expect_bytes(s, y, _reread(want, case.contents, wide))


@requirement("views/view-wider-dtype-needs-divisibility")
def test_four_bytes_make_an_int32(s: Session) -> None:
    x = s.tensor([4, 3, 2, 1, 0, 0, 0, 1], "uint8")
    s.expect_values(s.call("view.dtype", x, DType("int32")), [0x01020304, 0x01000000], dtype="int32")
    for piece in (slice(0, 6), slice(2, 6), slice(None, None, 2)):
        s.expect_raises(RuntimeError, "view.dtype", s.call("__getitem__", x, piece), DType("int32"))


@requirement("views/view-dtype-of-zero-dim-needs-equal-width")
@forall(source=st.sampled_from(NAMES), target=st.sampled_from(NAMES))
def test_zero_dim(s: Session, source: str, target: str) -> None:
    x = s.tensor(np.ones((), numpy_dtype(source)))
    if WIDTHS[source] == WIDTHS[target]:
        y = s.call("view.dtype", x, DType(target))
        s.expect_shape(y, ())
        s.expect_dtype(y, target)
    else:
        s.expect_raises(RuntimeError, "view.dtype", x, DType(target))
