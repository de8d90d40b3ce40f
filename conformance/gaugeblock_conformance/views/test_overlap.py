"""Writing where memory is read or written twice: what raises, what is right, and what stays in bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from ..backend import DType
from ..case import TensorCase, extent
from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session
from ..strategies import tensors
from ..strategies.tensors import WRITABLE
from .layout import Layout, Sizes, default_strides, fills_a_range

LENGTH = 24
DIMS = st.sampled_from(((4,), (2, 3), (3, 2), (2, 2), (3,), (2, 2, 2), (6,), (1, 3), (3, 3)))


@dataclass(frozen=True)
class Pair:
    """Two views of one buffer, the first one written."""

    out: Layout
    source: Layout

    @property
    def identical(self) -> bool:
        return self.out == self.source

    @property
    def disjoint(self) -> bool:
        return not set(self.out.places().tolist()) & set(self.source.places().tolist())

    @property
    def diagnosed(self) -> bool:
        """Both fill a range, the ranges intersect, and range and strides are not the same."""
        if not (fills_a_range(self.out) and fills_a_range(self.source)) or self.disjoint:
            return False
        a, b = self.out, self.source
        return (a.offset, a.numel, a.strides) != (b.offset, b.numel, b.strides)


@st.composite
def _dense(draw: st.DrawFn, dims: Sizes) -> Layout:
    order = draw(st.permutations(range(len(dims)))) if draw(st.booleans()) else range(len(dims))
    strides, step = [0] * len(dims), 1
    for k in reversed(order):
        strides[k] = step
        step *= dims[k]
    return Layout(dims, tuple(strides), draw(st.integers(0, LENGTH - step)))


@st.composite
def _gapped(draw: st.DrawFn, dims: Sizes) -> Layout:
    """A view whose innermost step is 2 or more, and so leaves gaps."""
    step = draw(st.sampled_from((2, 3)))
    strides = tuple(step * stride for stride in default_strides(dims))
    reach = extent(dims, strides)
    if reach > LENGTH:
        return draw(_dense(dims))
    return Layout(dims, strides, draw(st.integers(0, LENGTH - reach)))


@st.composite
def pairs(draw: st.DrawFn) -> Pair:
    """Views of equal sizes: identical, dense and shifted, in another order of dims, or with gaps."""
    dims = draw(DIMS)
    kind = draw(st.integers(0, 5))
    out = draw(_dense(dims) if kind < 4 else _gapped(dims))
    if kind == 0:
        return Pair(out, out)
    if kind == 1:
        moved = Layout(dims, out.strides, draw(st.integers(0, LENGTH - out.numel)))
        return Pair(out, moved)
    return Pair(out, draw(_dense(dims) if kind == 2 else _gapped(dims)))


BUFFER = TensorCase("float32", (LENGTH,), (1,), kind="distinct")
FORMS = st.sampled_from(("add.out", "neg.out", "copy_", "add_.Tensor"))


def _views(s: Session, pair: Pair) -> tuple[Handle, Handle, Handle]:
    buffer = s.build(BUFFER)
    out = s.call("as_strided", buffer, pair.out.sizes, pair.out.known, pair.out.offset)
    source = s.call("as_strided", buffer, pair.source.sizes, pair.source.known, pair.source.offset)
    return buffer, out, source


def _arguments(form: str, out: Handle, source: Handle) -> tuple[tuple[Handle, ...], dict[str, Any]]:
    if form == "add.out":
        return (source, source), {"out": out}
    if form == "neg.out":
        return (source,), {"out": out}
    return (out, source), {}


@requirement(
    "views/partial-overlap-raises",
    "views/exact-alias-is-allowed",
    "views/disjoint-parts-of-one-storage-are-allowed",
    "views/undiagnosed-overlap-stays-in-bounds",
    needs=("as_strided", "inplace"),
)
@forall(pair=pairs(), form=FORMS)
def test_two_views_of_one_buffer(s: Session, pair: Pair, form: str) -> None:
    buffer, out, source = _views(s, pair)
    positional, named = _arguments(form, out, source)
    if pair.diagnosed:
        s.expect_raises(RuntimeError, form, *positional, **named)
        return
    if pair.identical or pair.disjoint:
        s.call(form, *positional, **named)
        want = BUFFER.contents.copy()
        read, written = pair.source.of(want).copy(), pair.out.of(want)
        written[...] = {"add.out": read + read, "neg.out": -read, "copy_": read, "add_.Tensor": written + read}[form]
        s.expect_values(buffer, want)
        return
    _, error = s.attempt(form, *positional, **named)
    if error is not None:
        s.expect_refusal(error, RuntimeError, "an overlap that is refused")
    want = BUFFER.contents.copy()
    if s.has_data:
        pair.out.of(want)[...] = pair.out.of(s.read(buffer).copy())
    s.expect_values(buffer, want)


@requirement("views/partial-overlap-raises", needs=("inplace",))
def test_shifted_halves(s: Session) -> None:
    x = s.tensor([0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    front, back = s.call("__getitem__", x, slice(0, 4)), s.call("__getitem__", x, slice(2, 6))
    s.expect_raises(RuntimeError, "add_.Tensor", front, back)
    s.expect_raises(RuntimeError, "neg.out", front, out=back)
    s.expect_raises(RuntimeError, "copy_", back, front)
    s.expect_raises(RuntimeError, "mul_.Tensor", x, s.call("__getitem__", x, 0))
    s.expect_values(x, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0])


@requirement("views/partial-overlap-raises", needs=("views.dtype", "inplace"))
def test_overlap_across_dtypes(s: Session) -> None:
    x = s.tensor([1.0, 2.0, 3.0, 4.0])
    bits = s.call("view.dtype", x, DType("int32"))
    shifted = s.call("__getitem__", bits, slice(1, 3))
    s.expect_raises(RuntimeError, "copy_", shifted, s.call("__getitem__", x, slice(0, 2)))
    s.call("copy_", shifted, s.call("__getitem__", bits, slice(3, 4)))
    s.expect_values(x, [1.0, 4.0, 4.0, 4.0])



PLACING = st.sampled_from(("index_add_", "index_copy_", "index_put_", "put_", "scatter_.src", "scatter_add_"))


def _place(s: Session, form: str, x: Handle, places: Handle, source: Handle) -> tuple[Any, ...]:
    """Return the arguments with which `form` writes `source` at the `places` of a vector."""
    return {"index_put_": (x, [places], source), "put_": (x, places, source)}.get(form, (x, 0, places, source))


@requirement("views/placing-shared-memory-raises", needs=("inplace",))
@forall(form=PLACING, shift=st.integers(0, 4), dtype=st.sampled_from(("float32", "int64", "complex64")))
def test_placing_a_part_of_itself(s: Session, form: str, shift: int, dtype: str) -> None:
    x = s.tensor([0, 1, 2, 3, 4, 5, 6, 7], dtype)
    front = s.call("__getitem__", x, slice(0, 4))
    source = s.call("__getitem__", x, slice(shift, shift + 4))
    places = s.tensor([3, 0, 1, 2], "int64")
    if shift < 4:
        s.expect_raises(RuntimeError, form, *_place(s, form, front, places, source))
        s.expect_values(x, [0, 1, 2, 3, 4, 5, 6, 7], dtype=dtype)
        return
    s.call(form, *_place(s, form, front, places, source))
    added = form in ("index_add_", "scatter_add_")
    s.expect_values(x, [5, 7, 9, 7, 4, 5, 6, 7] if added else [5, 6, 7, 4, 4, 5, 6, 7], dtype=dtype)


@requirement("views/placing-shared-memory-raises", needs=("inplace",))
@forall(form=PLACING)
def test_placing_at_its_own_elements(s: Session, form: str) -> None:
    x = s.tensor([2, 0, 1], "int64")
    s.expect_raises(RuntimeError, form, *_place(s, form, x, x, s.tensor([7, 8, 9], "int64")))
    s.expect_values(x, [2, 0, 1], dtype="int64")


@requirement("views/exact-alias-is-allowed", needs=("inplace",))
@forall(case=tensors(("float32", "int64", "complex64", "int16"), layouts=WRITABLE, kind="small"), form=FORMS)
def test_alias_of_any_layout(s: Session, case: TensorCase, form: str) -> None:
    x = s.build(case)
    again = s.call("detach", x)
    positional, named = _arguments(form, x, again)
    s.call(form, *positional, **named)
    a = case.array
    want = {"add.out": a + a, "neg.out": -a, "copy_": a, "add_.Tensor": a + a}[form]
    s.expect_values(x, want, signed_zero=False)


@requirement("views/disjoint-parts-of-one-storage-are-allowed", needs=("inplace",))
def test_even_and_odd_elements(s: Session) -> None:
    x = s.tensor([0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    even, odd = s.call("__getitem__", x, slice(0, None, 2)), s.call("__getitem__", x, slice(1, None, 2))
    s.call("neg.out", even, out=odd)
    s.expect_values(x, [0.0, -0.0, 2.0, -2.0, 4.0, -4.0])
    s.call("add_.Tensor", even, odd)
    s.expect_values(x, [0.0, -0.0, 0.0, -2.0, 0.0, -4.0])
    low, high = s.call("__getitem__", x, slice(0, 3)), s.call("__getitem__", x, slice(3, 6))
    s.call("copy_", low, high)
    s.expect_values(x, [-2.0, 0.0, -4.0, -2.0, 0.0, -4.0])


@requirement("views/undiagnosed-overlap-stays-in-bounds", needs=("inplace",))
def test_every_second_element_onto_the_front(s: Session) -> None:
    x = s.tensor([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
    front, even = s.call("__getitem__", x, slice(0, 4)), s.call("__getitem__", x, slice(0, None, 2))
    _, error = s.attempt("neg.out", even, out=front)
    if error is not None:
        s.expect_refusal(error, RuntimeError, "an overlap that is refused")
    s.expect_values(s.call("__getitem__", x, slice(4, None)), [4.0, 5.0, 6.0, 7.0])
