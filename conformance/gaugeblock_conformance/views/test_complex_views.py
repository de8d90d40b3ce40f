"""Complex tensors seen as pairs of floats, and the lazy conjugate."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from ..backend import Array
from ..case import TensorCase
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from ..strategies import COMPLEX, tensors
from ..strategies.tensors import WRITABLE
from .layout import Layout, expect_view, layout_of


def _doubled(layout: Layout, plus: int = 0) -> Layout:
    return Layout(layout.sizes, tuple(2 * s for s in layout.known), 2 * layout.offset + plus)


def _pairs(array: Array) -> Array:
    return np.stack([array.real, array.imag], axis=-1)


@requirement("views/real-and-imag-are-views")
def test_parts_of_two_numbers(s: Session) -> None:
    x = s.tensor([1 + 2j, 3 - 4j], "complex64")
    expect_view(s, s.call("real", x), x, Layout((2,), (2,), 0))
    expect_view(s, s.call("imag", x), x, Layout((2,), (2,), 1))
    s.expect_values(s.call("real", x), [1.0, 3.0])
    s.expect_values(s.call("imag", x), [2.0, -4.0])
    pairs = s.call("view_as_real", x)
    expect_view(s, pairs, x, Layout((2, 2), (2, 1)))
    s.expect_values(pairs, [[1.0, 2.0], [3.0, -4.0]])
    s.call("fill_.Scalar", s.call("imag", x), 9)
    s.expect_values(x, [1 + 9j, 3 + 9j], dtype="complex64")


@requirement("views/real-and-imag-are-views")
@forall(case=tensors(COMPLEX))
def test_real_imag_and_pairs(s: Session, case: TensorCase) -> None:
    x, layout = s.build(case), layout_of(case)
    expect_view(s, s.call("real", x), x, _doubled(layout), case.array.real)
    expect_view(s, s.call("imag", x), x, _doubled(layout, 1), case.array.imag)
    pairs = s.call("view_as_real", x)
    wanted = _doubled(layout).insert(len(case.sizes), 2, 1)
    expect_view(s, pairs, x, wanted, _pairs(case.array))
    expect_view(s, s.call("view_as_complex", pairs), x, layout, case.array)


@requirement("views/real-and-imag-are-views")
@forall(case=tensors(COMPLEX, layouts=WRITABLE, empty=False), part=st.sampled_from(("real", "imag")))
def test_write_through_a_part(s: Session, case: TensorCase, part: str) -> None:
    x = s.build(case)
    s.call("fill_.Scalar", s.call(part, x), 0.25)
    want = case.array
    setattr(want, part, 0.25)
    s.expect_values(x, want)


@requirement("views/real-and-imag-are-views")
def test_view_as_complex_needs_pairs(s: Session) -> None:
    s.expect_raises(RuntimeError, "view_as_complex", s.tensor([1.0, 2.0, 3.0]))
    s.expect_raises(RuntimeError, "view_as_complex", s.call("t", s.tensor([[1.0, 2.0], [3.0, 4.0]])))
    s.expect_raises(RuntimeError, "view_as_real", s.tensor([1.0, 2.0]))


@requirement("views/conj-is-a-lazy-view")
@forall(case=tensors(COMPLEX))
def test_conj(s: Session, case: TensorCase) -> None:
    x = s.build(case)
    y = s.call("conj", x)
    s.expect(s.call("is_conj", y), True, "is_conj() of the conjugate")
    s.expect(s.call("is_conj", x), False, "is_conj() of the input")
    expect_view(s, y, x, layout_of(case), case.array.conj())
    s.expect_values(s.call("resolve_conj", y), case.array.conj())
    s.expect_values(s.call("conj", y), case.array)


@requirement("views/conj-is-a-lazy-view")
def test_conj_sees_later_writes(s: Session) -> None:
    x = s.tensor([1 + 2j, 3 - 4j], "complex128")
    y = s.call("conj", x)
    s.expect_values(y, [1 - 2j, 3 + 4j], dtype="complex128")
    s.call("fill_.Scalar", x, 5 + 6j)
    s.expect_values(y, [5 - 6j, 5 - 6j], dtype="complex128")
    s.call("fill_.Scalar", y, 1 + 1j)
    s.expect_values(x, [1 - 1j, 1 - 1j], dtype="complex128")
    z = s.call("conj", s.tensor([1.0, 2.0]))
    s.expect(s.call("is_conj", z), False, "is_conj() of a real tensor's conj()")
