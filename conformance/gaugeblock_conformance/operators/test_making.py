"""Factories: counts, values, ends, dtypes, strides."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import numpy as np
from hypothesis import strategies as hs

from .. import strategies as st
from ..backend import DType, MemoryFormat, numpy_dtype
from ..case import TensorCase, default_strides
from ..failure import NoReproducer
from ..forall import forall
from ..iteration.model import is_dense
from ..oracles.conversion import cast
from ..oracles.making import spaced
from ..oracles.pointwise import spacing
from ..requirement import requirement
from ..session import Session
from ..values import FLOATS

_UNTOLD = NoReproducer("the test compares all elements or strides with one another")

_EIGHTHS = hs.integers(-400, 400)
_COUNTS = hs.sampled_from([0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 257])


@requirement("operators/arange-counts-by-its-formula")
@forall(
    start=_EIGHTHS,
    length=hs.integers(0, 600),
    step=hs.integers(-40, 40),
    dtype=st.dtypes("float32", "float64", "int64"),
)
def test_arange(s: Session, start: int, length: int, step: int, dtype: str) -> None:
    """Multiples of an eighth, so that every value is exact."""
    scale = 1 if dtype == "int64" else 8
    if step == 0:
        s.expect_raises(RuntimeError, "arange.start_step", start / 8, start / 8 + 1, 0)
        return
    end = start + length * (1 if step > 0 else -1)
    numbers = [v if scale == 1 else v / 8 for v in (start, end, step)]
    count = ceil(Fraction(end - start, step))
    want = np.array([start + k * step for k in range(count)]) / scale
    y = s.call("arange.start_step", *numbers, dtype=DType(dtype))
    s.expect_values(y, want.astype(numpy_dtype(dtype)), signed_zero=False)
    if length:
        s.expect_raises(RuntimeError, "arange.start_step", numbers[0], numbers[1], -numbers[2])


@requirement("operators/arange-counts-by-its-formula")
def test_arange_goldens(s: Session) -> None:
    s.expect_values(s.call("arange", 3), [0, 1, 2], dtype="int64")
    s.expect_values(s.call("arange", 2.5), [0.0, 1.0, 2.0])
    s.expect_values(s.call("arange.start", 2, 2), np.zeros(0, np.int64))
    s.expect_values(s.call("arange.start_step", 1, 0, -0.25), [1.0, 0.75, 0.5, 0.25])
    s.expect_values(s.call("arange.start_step", 5, -2, -3), [5, 2, -1], dtype="int64")
    s.expect_values(s.call("arange", 3, dtype=DType("uint8")), [0, 1, 2], dtype="uint8")
    for bad in ((-1,), (3, 1), (0, 3, 0), (0, 3, -1)):
        operator = ("arange", "arange.start", "arange.start_step")[len(bad) - 1]
        s.expect_raises(RuntimeError, operator, *bad)


@requirement("operators/linspace-hits-both-ends")
@forall(
    start=hs.integers(-1000, 1000), end=hs.integers(-1000, 1000), steps=_COUNTS, dtype=st.dtypes("float32", "float64")
)
def test_linspace(s: Session, start: int, end: int, steps: int, dtype: str) -> None:
    low, high = start / 7, end / 7
    low, high = (float(np.float32(v)) for v in (low, high))
    y = s.call("linspace", low, high, steps, dtype=DType(dtype))
    s.expect_shape(y, (steps,))
    # The step, its product and the sum are each rounded: start + i * step is off by up to one and a half spacings.
    bound = 2 * spacing(np.full(steps, max(abs(low), abs(high))), dtype)
    s.expect_close(y, spaced(low, high, steps), bound)
    if steps and s.has_data:
        got = s.read(y).copy()
        first, last = (s.dialect.element(y.name, (k,)) for k in (0, steps - 1))
        s.expect(float(got[0]), low, "linspace's first element", f"float({first})", [y])
        if steps > 1:
            s.expect(float(got[-1]), high, "linspace's last", f"float({last})", [y])
        mirror = s.call("linspace", high, low, steps, dtype=DType(dtype))
        if steps > 1:
            back = got[::-1].copy()
            if steps % 2:
                back[steps // 2] = s.read(mirror)[steps // 2]
            s.expect_values(mirror, back, signed_zero=False)


@requirement("operators/linspace-hits-both-ends")
def test_linspace_goldens(s: Session) -> None:
    s.expect_values(s.call("linspace", 0, 1, 5), [0.0, 0.25, 0.5, 0.75, 1.0])
    s.expect_values(s.call("linspace", 3, 7, 1), [3.0])
    s.expect_values(s.call("linspace", 3, 7, 0), np.zeros(0, np.float32))
    s.expect_values(s.call("linspace", 1, -1, 3, dtype=DType("float64")), [1.0, 0.0, -1.0], dtype="float64")
    s.expect_values(s.call("linspace", 0, 10, 11, dtype=DType("int64")), list(range(11)), dtype="int64")
    s.expect_raises(RuntimeError, "linspace", 0, 1, -1)


@requirement("operators/factories-fill-what-they-say")
@forall(dims=st.sizes(0, 3), dtype=st.dtypes(), value=hs.sampled_from([0, 1, 7, 100]))
def test_full(s: Session, dims: tuple[int, ...], dtype: str, value: int) -> None:
    for operator, number in (("zeros", 0), ("ones", 1)):
        y = s.call(operator, dims, dtype=DType(dtype))
        s.expect_values(y, np.full(dims, number).astype(numpy_dtype(dtype)))
    want = cast(np.full(dims, value, dtype=np.int64), dtype)
    y = s.call("full", dims, value, dtype=DType(dtype))
    s.expect_values(y, want)
    if "strided" in s.capabilities:
        s.expect_geometry(y, dims, default_strides(dims))


@requirement("operators/factories-fill-what-they-say")
def test_factory_goldens(s: Session) -> None:
    s.expect_values(s.call("zeros", (2, 1)), [[0.0], [0.0]])
    s.expect_values(s.call("full", (2,), 7), [7, 7], dtype="int64")
    s.expect_values(s.call("full", (1,), 0.5), [0.5])
    s.expect_values(s.call("full", (), True), True, dtype="bool")
    s.expect_values(s.call("eye.m", 2, 3), [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    s.expect_values(s.call("eye.m", 3, 2), [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    s.expect_values(s.call("eye", 0), np.zeros((0, 0), np.float32))
    s.expect_raises(RuntimeError, "zeros", (-1,))
    s.expect_raises(RuntimeError, "eye", -1)


_LIKE = ("zeros_like", "ones_like", "empty_like", "rand_like", "randn_like")


@requirement("operators/like-factories-keep-strides")
@forall(x=st.tensors(), operator=hs.sampled_from(_LIKE))
def test_like_factories(s: Session, x: TensorCase, operator: str) -> None:
    if operator.startswith("rand") and (x.dtype not in FLOATS or "rng" not in s.capabilities):
        operator = "zeros_like"
    y = s.call(operator, s.build(x))
    s.expect_shape(y, x.sizes)
    s.expect_dtype(y, x.dtype)
    if 0 in x.sizes:
        return
    if is_dense(x.sizes, x.strides):
        s.expect_strides(y, x.strides)
    elif "as_strided" in s.capabilities:
        s.expect(is_dense(x.sizes, tuple(s.observe("strides", y))), True, f"dense strides of {operator}", _UNTOLD)
    if operator in ("zeros_like", "ones_like"):
        s.expect_values(y, np.full(x.sizes, int(operator == "ones_like")).astype(x.array.dtype))


@requirement("operators/like-factories-keep-strides")
def test_like_goldens(s: Session) -> None:
    x = s.call("t", s.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    s.expect_strides(s.call("zeros_like", x), (1, 3))
    s.expect_strides(s.call("full_like", x, 2), (1, 3))
    s.expect_values(s.call("full_like", x, 2), np.full((3, 2), 2, np.float32))
    gaps = s.call("t", s.call("slice.Tensor", s.tensor(np.zeros((4, 6), np.float32)), 1, 0, 6, 2))
    s.expect_strides(s.call("ones_like", gaps), (1, 3))
    flat = s.call("expand", s.tensor([[1.0], [2.0]]), (2, 3))
    s.expect_strides(s.call("zeros_like", flat), (3, 1))
    s.expect_dtype(s.call("zeros_like", x, dtype=DType("int32")), "int32")


@requirement("operators/to-a-memory-format-gives-that-format", needs=("strided",))
def test_to_a_memory_format(s: Session) -> None:
    x = s.call("t", s.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    packed = MemoryFormat("contiguous_format")
    for dtype in ("float64", "float32"):
        y = s.call("to.dtype", x, DType(dtype), memory_format=packed)
        s.expect_strides(y, (2, 1))
        s.expect_values(y, [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]], dtype=dtype)
