"""Writing through an index: into the tensor itself, broadcast and cast."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from ..backend import Array, numpy_dtype
from ..case import TensorCase
from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session
from ..strategies import tensors
from ..strategies.tensors import WRITABLE
from .indices import advanced_indices, basic_indices, integers_first, paired
from .test_advanced_indexing import handles

SHORT = st.lists(st.sampled_from((3, 2, 4, 1)), min_size=1, max_size=3).map(tuple)
PLAIN = ("float32", "int64", "uint8", "float64", "int16", "bool", "complex64", "float16")


def _thinned(dims: tuple[int, ...], ones: int, drop: int) -> tuple[int, ...]:
    """Sizes that broadcast to ``dims``: some replaced by 1, leading ones dropped or a leading 1 added."""
    thin = tuple(1 if ones >> k & 1 else n for k, n in enumerate(dims))
    return (1, *thin) if drop == 3 else thin[min(drop, len(thin)) :] if drop else thin


def _values(dtype: str, dims: tuple[int, ...], seed: int) -> Array:
    case = TensorCase(dtype, dims, (0,) * len(dims), seed=seed, kind="small")
    return TensorCase(dtype, (case.numel,), (1,), seed=seed, kind="small").array.reshape(dims)


@requirement("views/index-assignment-writes-into-the-tensor", "views/assigned-value-broadcasts")
@forall(
    pair=paired(tensors(PLAIN, layouts=WRITABLE), basic_indices),
    shape=st.tuples(st.integers(0, 15), st.integers(0, 3)),
    seed=st.integers(1, 99),
)
def test_basic_assignment(s: Session, pair: tuple[TensorCase, Any], shape: tuple[int, int], seed: int) -> None:
    case, index = pair
    x = s.build(case)
    want = case.array
    value = _values(case.dtype, _thinned(want[index].shape, *shape), seed)
    want[index] = value.reshape(value.shape[1:]) if value.ndim > want[index].ndim else value
    s.call("__setitem__", x, index, s.tensor(value))
    s.expect_values(x, want)


@requirement("views/index-assignment-writes-into-the-tensor", "views/assigned-value-broadcasts",
             needs=("index.adv",))  # fmt: skip
@forall(
    pair=paired(tensors(PLAIN, sizes=SHORT, layouts=WRITABLE), advanced_indices),
    shape=st.tuples(st.integers(0, 15), st.integers(0, 2)),
    seed=st.integers(1, 99),
    number=st.integers(0, 3),
)
def test_advanced_assignment(
    s: Session, pair: tuple[TensorCase, tuple[Any, ...]], shape: tuple[int, int], seed: int, number: int
) -> None:
    """A number, or a tensor where no element is named twice."""
    if not s.has_data:
        return
    case, index = pair
    first, rest = integers_first(index, len(case.sizes))
    named = np.arange(case.numel).reshape(case.sizes)[first][rest]
    want, x = case.array, s.build(case)
    if number == 3 or len(set(named.reshape(-1).tolist())) < named.size:
        want[first][rest] = 1
        s.call("__setitem__", x, handles(s, index), 1)
    else:
        value = _values(case.dtype, _thinned(named.shape, *shape), seed)
        want[first][rest] = value
        s.call("__setitem__", x, handles(s, index), s.tensor(value))
    s.expect_values(x, want)


@requirement("views/index-assignment-writes-into-the-tensor")
def test_assignments_to_a_matrix(s: Session) -> None:
    x = s.tensor([[0, 1, 2], [3, 4, 5]], "int64")
    s.call("__setitem__", x, (1, 2), 50)
    s.call("__setitem__", x, (slice(None), 0), s.tensor([30, 40], "int64"))
    s.expect_values(x, [[30, 1, 2], [40, 4, 50]], dtype="int64")
    s.call("__setitem__", x, (s.tensor([0, 1], "int64"), s.tensor([1, 1], "int64")), s.tensor([7, 8], "int64"))
    s.expect_values(x, [[30, 7, 2], [40, 8, 50]], dtype="int64")
    s.call("__setitem__", x, [0], -1)
    s.call("__setitem__", x, s.tensor([[False] * 3, [True, False, True]], "bool"), 0)
    s.expect_values(x, [[-1, -1, -1], [0, 8, 0]], dtype="int64")


@requirement("views/index-assignment-writes-into-the-tensor", needs=("views",))
def test_assignment_reaches_the_base_of_a_view(s: Session) -> None:
    x = s.tensor([[1.0, 2.0], [3.0, 4.0]])
    s.call("__setitem__", s.call("t", x), 0, s.tensor([9.0, 8.0]))
    s.expect_values(x, [[9.0, 2.0], [8.0, 4.0]])


@requirement("views/repeated-index-stores-one-value", needs=("index.adv",))
@forall(
    size=st.integers(1, 5),
    picks=st.lists(st.integers(-5, 4), min_size=1, max_size=9),
    form=st.sampled_from(("__setitem__", "index_put_")),
)
def test_repeated_index(s: Session, size: int, picks: list[int], form: str) -> None:
    places = [p % size - (size if p < 0 else 0) for p in picks]
    x = s.tensor(np.zeros(size, np.float32))
    index = s.tensor(places, "int64")
    value = s.tensor([100.0 + k for k in range(len(places))])
    s.call(form, x, (index,), value)
    if not s.has_data:
        return
    got, want = s.read(x), np.zeros(size, np.float32)
    for place in range(size):
        candidates = [100.0 + k for k, p in enumerate(places) if p % size == place]
        want[place] = got[place] if got[place] in candidates else (candidates or [0.0])[-1]
    s.expect_values(x, want)


@requirement("views/repeated-index-stores-one-value", needs=("index.adv",))
def test_one_place_three_values(s: Session) -> None:
    x = s.tensor([0.0, 0.0])
    s.call("__setitem__", x, s.tensor([1, 1, 1], "int64"), s.tensor([5.0, 6.0, 7.0]))
    if s.has_data:
        got = s.read(x).tolist()
        text = s.text("tolist", x)
        s.expect(got[0], 0.0, "the element that is not named", f"{text}[0]", [x])
        s.expect(got[1] in (5.0, 6.0, 7.0), True, "one of the values", f"{text}[1] in (5.0, 6.0, 7.0)", [x])


@requirement("views/assigned-value-broadcasts", needs=("index.adv",))
@forall(
    case=tensors(("float32", "int64", "bool", "complex64", "int8"), max_dims=3, layouts=WRITABLE, kind="small"),
    share=st.sampled_from((0.5, 0.0, 1.0, 0.1)),
    seed=st.integers(0, 99),
    form=st.sampled_from(("__setitem__", "masked_fill_.Scalar", "index_put_")),
)
def test_one_number_through_a_mask(s: Session, case: TensorCase, share: float, seed: int, form: str) -> None:
    """Masks of no, of some and of all elements."""
    if not s.has_data:
        return
    chosen = np.random.default_rng(seed).uniform(0, 1, case.sizes) < share
    x, mask = s.build(case), s.tensor(np.asarray(chosen))
    if form == "index_put_" and case.sizes:
        s.call(form, x, (mask,), s.tensor(np.ones((), case.array.dtype)))
    else:
        s.call("__setitem__" if form == "index_put_" else form, x, mask, 1)
    s.expect_values(x, np.where(chosen, case.array.dtype.type(1), case.array))


@requirement("views/accumulate-adds-all-values", needs=("index.adv",))
def test_accumulate(s: Session) -> None:
    x = s.tensor([1.0, 1.0, 1.0])
    index = s.tensor([0, 2, 0, -3], "int64")
    y = s.call("index_put_", x, (index,), s.tensor([1.0, 2.0, 4.0, 8.0]), True)
    s.expect_same(y, x)
    s.expect_values(x, [14.0, 1.0, 3.0])
    s.call("index_put_", x, (index,), s.tensor(1.0), accumulate=True)
    s.expect_values(x, [17.0, 1.0, 4.0])


@st.composite
def _leading(draw: st.DrawFn, sizes: tuple[int, ...]) -> tuple[Array, ...]:
    """Index arrays for the first dims of ``sizes``, or one mask over them."""
    count = draw(st.integers(1, len(sizes)))
    random = np.random.default_rng(draw(st.integers(0, 999)))
    if draw(st.integers(0, 3)) == 3:
        return (random.integers(0, 2, sizes[:count]).astype(bool),)
    common = draw(st.lists(st.sampled_from((4, 1, 9, 0)), min_size=1, max_size=2))
    shapes = [tuple(1 if draw(st.booleans()) else n for n in common) for _ in range(count)]
    return tuple(random.integers(-n, n, shape) for n, shape in zip(sizes, shapes, strict=False))


@requirement("views/accumulate-adds-all-values", needs=("index.adv",))
@forall(
    pair=paired(tensors(("int64", "float64", "int32", "float32", "complex64"), sizes=SHORT, layouts=WRITABLE,
                        kind="small"), _leading),
    seed=st.integers(1, 99),
    ones=st.integers(0, 15),
)  # fmt: skip
def test_accumulate_everywhere(s: Session, pair: tuple[TensorCase, tuple[Any, ...]], seed: int, ones: int) -> None:
    """Small integers: the sums are exact in every dtype, in any order."""
    if not s.has_data:
        return
    case, index = pair
    want, x = case.array, s.build(case)
    value = _values(case.dtype, _thinned(want[index].shape, ones, 0), seed)
    np.add.at(want, index, value)
    s.call("index_put_", x, handles(s, index), s.tensor(value), accumulate=True)
    s.expect_values(x, want, signed_zero=False)


@requirement("views/assigned-value-broadcasts")
def test_values_of_other_sizes(s: Session) -> None:
    x = s.tensor([[0.0] * 3, [0.0] * 3])
    s.call("__setitem__", x, ..., s.tensor([1.0, 2.0, 3.0]))
    s.expect_values(x, [[1.0, 2.0, 3.0]] * 2)
    s.call("__setitem__", x, 0, s.tensor([[[7.0, 8.0, 9.0]]]))
    s.expect_values(x, [[7.0, 8.0, 9.0], [1.0, 2.0, 3.0]])
    s.call("__setitem__", x, (slice(None), slice(1, None)), s.tensor([[5.0], [6.0]]))
    s.expect_values(x, [[7.0, 5.0, 5.0], [1.0, 6.0, 6.0]])
    s.call("__setitem__", x, s.tensor([1, 0], "int64"), s.tensor([[1.0], [2.0]]))
    s.expect_values(x, [[2.0] * 3, [1.0] * 3])
    for bad in ([1.0, 2.0], [[1.0, 2.0, 3.0]] * 3):
        s.expect_raises((RuntimeError, IndexError, ValueError), "__setitem__", x, ..., s.tensor(bad))


@requirement("views/basic-assignment-casts", needs=("promote",))
@forall(
    case=tensors(("int64", "float32", "uint8", "float16", "int32", "float64", "complex64"), min_dims=1, empty=False,
                 layouts=WRITABLE),
    source=st.sampled_from(("float64", "int64", "float32", "int8", "bool", "float16")),
    seed=st.integers(1, 99),
)  # fmt: skip
def test_basic_assignment_casts(s: Session, case: TensorCase, source: str, seed: int) -> None:
    kind = "positive" if case.dtype == "uint8" else "small"
    value = TensorCase(source, case.sizes[1:], (0,) * (len(case.sizes) - 1), kind=kind, seed=seed).array
    want, x = case.array, s.build(case)
    want[0] = value.astype(numpy_dtype(case.dtype))
    s.call("__setitem__", x, 0, s.tensor(value))
    s.expect_values(x, want)


@requirement("views/basic-assignment-casts", needs=("index.adv",))
def test_numbers_are_cast(s: Session) -> None:
    x = s.tensor([1, 2, 3, 4], "int64")
    s.call("__setitem__", x, 0, 2.75)
    s.call("__setitem__", x, s.tensor([1, 2], "int64"), -7.5)
    s.call("__setitem__", x, slice(3, None), s.tensor([9.9], "float64"))
    s.expect_values(x, [2, -7, -7, 9], dtype="int64")
    y = s.tensor([1.0, 2.0])
    s.call("__setitem__", y, s.tensor([True, False], "bool"), 3)
    s.expect_values(y, [3.0, 2.0])
    z = s.tensor([False, False], "bool")
    s.call("__setitem__", z, 1, 2)
    s.expect_values(z, [False, True], dtype="bool")


@requirement("views/advanced-assignment-needs-equal-dtype", needs=("index.adv",))
@forall(
    target=st.sampled_from(PLAIN),
    source=st.sampled_from(PLAIN),
    form=st.sampled_from(("__setitem__", "index_put_")),
)
def test_dtypes_of_advanced_assignment(s: Session, target: str, source: str, form: str) -> None:
    x = s.tensor(np.zeros(3, numpy_dtype(target)))
    value = s.tensor(np.ones(2, numpy_dtype(source)))
    index = (s.tensor([2, 0], "int64"),)
    if target == source:
        s.call(form, x, index, value)
        s.expect_values(x, np.array([1, 0, 1], numpy_dtype(target)))
    else:
        s.expect_raises(RuntimeError, form, x, index, value)


@requirement("views/advanced-assignment-needs-equal-dtype", needs=("index.adv",))
def test_float_values_into_integers(s: Session) -> None:
    x: Handle = s.tensor([1, 2, 3], "int64")
    for index in (s.tensor([0, 1], "int64"), s.tensor([True, True, False], "bool"), [0, 1]):
        s.expect_raises(RuntimeError, "__setitem__", x, index, s.tensor([0.5, 1.5]))
    s.expect_values(x, [1, 2, 3], dtype="int64")
