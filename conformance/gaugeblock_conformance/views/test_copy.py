"""copy_: broadcast, convert, any strides on either side."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from ..backend import Array, numpy_dtype
from ..case import TensorCase
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from ..strategies import ALL, sizes, tensors
from ..strategies.tensors import WRITABLE
from .indices import paired
from .layout import Sizes


@st.composite
def _sources(draw: st.DrawFn, dims: Sizes) -> TensorCase:
    """A tensor that broadcasts to ``dims``; its values fit every dtype."""
    ones, drop = draw(st.integers(0, 15)), draw(st.integers(0, 2))
    thin = tuple(1 if drop and ones >> k & 1 else n for k, n in enumerate(dims))
    dtype = draw(st.sampled_from(ALL))
    return draw(tensors(dtype, sizes=thin[drop - 1 :] if drop else thin, kind="positive"))


def _converted(source: TensorCase, target: str) -> Array:
    array = source.array
    if array.dtype.kind == "c" and not target.startswith("complex"):
        array = array.real
    return np.asarray(array.astype(numpy_dtype(target)))


@requirement("views/copy-broadcasts-and-converts")
@forall(pair=paired(tensors(layouts=WRITABLE), _sources))
def test_copy_between_any_layouts(s: Session, pair: tuple[TensorCase, TensorCase]) -> None:
    target, source = pair
    x, y = s.build(target), s.build(source)
    same = target.dtype == source.dtype
    z = s.call("copy_", x, y)
    s.expect_same(z, x)
    want = source.array if same else _converted(source, target.dtype)
    s.expect_values(x, np.broadcast_to(want, target.sizes))


@requirement("views/copy-broadcasts-and-converts")
@forall(pair=paired(tensors(layouts=WRITABLE), lambda dims: tensors(sizes=dims)))
def test_copy_keeps_the_bits(s: Session, pair: tuple[TensorCase, TensorCase]) -> None:
    """Between equal dtypes every value arrives as it is: NaN, infinities, -0.0 and subnormals too."""
    target, source = pair[0], pair[1].with_dtype(pair[0].dtype)
    x = s.build(target)
    s.call("copy_", x, s.build(source))
    s.expect_values(x, source.array)


@requirement("views/copy-broadcasts-and-converts")
def test_copies_of_a_row(s: Session) -> None:
    x = s.tensor([[0, 0], [0, 0]], "int64")
    y = s.call("copy_", x, s.tensor([1.9, -2.9], "float64"))
    s.expect_same(y, x)
    s.expect_values(x, [[1, -2], [1, -2]], dtype="int64")
    s.call("copy_", x, s.tensor(5, "int64"))
    s.expect_values(x, [[5, 5], [5, 5]], dtype="int64")
    s.call("copy_", x, s.tensor([[True], [False]], "bool"))
    s.expect_values(x, [[1, 1], [0, 0]], dtype="int64")


@requirement("views/copy-broadcasts-and-converts")
@forall(dims=sizes(1, 3), extra=st.integers(1, 3), longer=st.booleans())
def test_source_that_does_not_broadcast(s: Session, dims: Sizes, extra: int, longer: bool) -> None:
    wrong = (2, *dims) if longer else (*dims[:-1], dims[-1] + 1 + extra)
    x = s.tensor(np.zeros(dims, np.float32))
    s.expect_raises(RuntimeError, "copy_", x, s.tensor(np.ones(wrong, np.float32)))
