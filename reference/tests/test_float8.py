"""The 8-bit floats: they hold data, convert exactly both ways, and are refused by most operators."""

from __future__ import annotations

import copy
import io
import math
import pickle
from collections.abc import Callable
from typing import Any

import gaugeblock as gb
import ml_dtypes
import numpy as np
import pytest
from gaugeblock.core.dtype import FLOAT8, DType
from gaugeblock.core.rounding import rounded
from gaugeblock.kernels.isa import supported_levels
from gaugeblock.kernels.pointwise import PointwiseKernel
from gaugeblock.operators.formulas import FORMULAS
from hypothesis import given
from hypothesis import strategies as st

E4, E5, E4Z, E5Z = gb.float8_e4m3fn, gb.float8_e5m2, gb.float8_e4m3fnuz, gb.float8_e5m2fnuz
ALL = sorted(FLOAT8, key=lambda dtype: dtype.index)
LEVELS = supported_levels()
INF, NAN = float("inf"), float("nan")
PATTERNS = np.arange(256, dtype=np.uint8)


def cast(array: np.ndarray[Any, Any], source: DType, target: DType, level: int = -1) -> np.ndarray[Any, Any]:
    kernel = PointwiseKernel("identity", FORMULAS["identity"], (source,), target, (target,), LEVELS[level])
    out = np.empty(array.shape, target.numpy)
    kernel.contiguous(out.ctypes.data, array.ctypes.data, array.size)
    return out


def nearest(value: float, dtype: DType) -> int:
    """The pattern of a number that is not NaN, found by looking at all of them."""
    numbers = PATTERNS.view(dtype.numpy).astype(np.float64)
    sign = 0x80 if math.copysign(1, value) < 0 else 0
    size = abs(value)
    finite = [place for place in range(128) if math.isfinite(numbers[place])]
    top = max(numbers[place] for place in finite)
    step = top - max(numbers[place] for place in finite if numbers[place] < top)
    # Ties beyond the largest number go away from it where its pattern is odd.
    odd = int(finite[-1]) & 1
    if size > top + step / 2 or (size == top + step / 2 and odd):
        return {E4: 0x7E | sign, E5: 0x7C | sign}.get(dtype, 0x80)
    found = min(finite, key=lambda place: (abs(numbers[place] - size), place & 1))
    return found | (sign if found or dtype in (E4, E5) else 0)


@pytest.mark.parametrize("level", range(len(LEVELS)), ids=[level.name for level in LEVELS])
@pytest.mark.parametrize("dtype", ALL, ids=lambda dtype: dtype.name)
def test_all_patterns_survive_and_widen_exactly(dtype: DType, level: int) -> None:
    narrow = PATTERNS.view(dtype.numpy)
    assert cast(narrow, dtype, dtype, level).tobytes() == narrow.tobytes()
    for target in (gb.float32, gb.float64):
        wide, want = cast(narrow, dtype, target, level), narrow.astype(target.numpy)
        np.testing.assert_array_equal(wide, want)
        there = ~np.isnan(want)
        assert wide[there].tobytes() == want[there].tobytes()
        assert cast(wide, target, dtype, level)[there].tobytes() == narrow[there].tobytes()


@pytest.mark.parametrize("level", range(len(LEVELS)), ids=[level.name for level in LEVELS])
@pytest.mark.parametrize("dtype", ALL, ids=lambda dtype: dtype.name)
def test_float32_is_rounded_to_nearest_even(dtype: DType, level: int) -> None:
    every = np.arange(0, 1 << 32, 65521, dtype=np.uint64).astype(np.uint32).view(np.float32)
    numbers = np.sort(PATTERNS.view(dtype.numpy).astype(np.float32))
    numbers = np.unique(numbers[np.isfinite(numbers)])
    ties = (numbers[1:] + numbers[:-1]) / 2
    array = np.concatenate(
        [every, numbers, ties, np.nextafter(ties, np.float32(INF)), np.nextafter(ties, -numbers[-1])]
    )
    array = array[~np.isnan(array)].astype(np.float32)
    with np.errstate(over="ignore"):
        want = (np.clip(array, -448, 448) if dtype is E4 else array).astype(dtype.numpy)
    assert cast(array, gb.float32, dtype, level).tobytes() == want.tobytes()
    assert rounded(array, dtype).tobytes() == want.tobytes()


@pytest.mark.parametrize("dtype", ALL, ids=lambda dtype: dtype.name)
@given(value=st.floats(allow_nan=False))
def test_every_float64_goes_to_the_nearest_number(dtype: DType, value: float) -> None:
    want = nearest(value, dtype)
    assert gb.tensor([value], dtype=gb.float64).to(dtype).view(gb.uint8).tolist() == [want]
    assert gb.tensor([value], dtype=dtype).view(gb.uint8).tolist() == [want]


@pytest.mark.parametrize(
    ("dtype", "value", "want"),
    [
        (E4, 464.0, 0x7E), (E4, 1e9, 0x7E), (E4, -INF, 0xFE), (E4, NAN, 0x7F), (E4, -0.0, 0x80), (E4, 2.0**-10, 0),
        (E4, 2.0**-9, 1), (E4, 3 * 2.0**-10, 2), (E4, 1.0625, 0x38), (E4, 1.1875, 0x3A), (E5, 57344.0, 0x7B),
        (E5, 61439.0, 0x7B), (E5, 61440.0, 0x7C), (E5, -INF, 0xFC), (E5, NAN, 0x7F), (E5, 2.0**-17, 0),
        (E5, 1.125, 0x3C), (E5, 1.375, 0x3E), (E4Z, 247.0, 0x7F), (E4Z, 248.0, 0x80), (E4Z, INF, 0x80),
        (E4Z, NAN, 0x80),        (E4Z, -0.0, 0), (E4Z, -1e-9, 0), (E5Z, 61439.0, 0x7F), (E5Z, 61440.0, 0x80),
        (E5Z, -INF, 0x80), (E5Z, -0.0, 0),
        (E5Z, 1.0, 0x40), (E4Z, 1.0, 0x40), (E4, 1.0, 0x38), (E5, 1.0, 0x3C),
    ],
)  # fmt: skip
def test_golden_patterns(dtype: DType, value: float, want: int) -> None:
    assert gb.tensor([value] * 40).to(dtype).view(gb.uint8).tolist() == [want] * 40
    assert gb.tensor([value], dtype=gb.float64).to(dtype).view(gb.uint8).tolist() == [want]
    assert gb.tensor(value, dtype=dtype).view(gb.uint8).item() == want


def test_float64_is_rounded_once() -> None:
    assert gb.tensor([1.0625 + 2.0**-40], dtype=gb.float64).to(E4).item() == 1.125
    assert gb.tensor([1.125 + 2.0**-40], dtype=gb.float64).to(E5).item() == 1.25


@pytest.mark.parametrize(
    "other", [gb.int8, gb.uint8, gb.int64, gb.bool, gb.half, gb.bfloat16, gb.double, *ALL], ids=str
)
@pytest.mark.parametrize("dtype", ALL, ids=lambda dtype: dtype.name)
def test_other_dtypes_convert(dtype: DType, other: DType) -> None:
    values = [0, 1] if other is gb.bool else [0, 1, 3, 96]
    there = gb.tensor(values, dtype=other).to(dtype)
    assert there.dtype is dtype and there.tolist() == values
    assert there.to(other).dtype is other and there.to(other).tolist() == values
    strided = gb.tensor([values, values], dtype=other).t()
    assert strided.to(dtype).t().tolist() == [values, values]


def test_complex_numbers_lose_their_imaginary_part() -> None:
    with pytest.warns(UserWarning, match="imaginary"):
        assert gb.tensor([1.5 + 2j]).to(E4).tolist() == [1.5]
    assert gb.tensor([1.5], dtype=E4).to(gb.complex64).tolist() == [1.5 + 0j]


def test_limits() -> None:
    shown = "finfo(resolution=1, min=-448, max=448, eps=0.125, smallest_normal=0.015625, tiny=0.015625, dtype={})"
    assert repr(gb.finfo(E4)) == shown.format("float8_e4m3fn") and gb.finfo(E4).bits == 8
    rows = {E5: (57344, 0.25, 2.0**-14), E4Z: (240, 0.125, 2.0**-7), E5Z: (57344, 0.125, 2.0**-15)}
    for dtype, want in rows.items():
        found = gb.finfo(dtype)
        assert (found.max, found.eps, found.tiny) == want and found.min == -found.max
        assert float(ml_dtypes.finfo(dtype.numpy).max) == found.max


def test_factories_fills_and_text() -> None:
    assert gb.zeros(3, dtype=E5).tolist() == [0, 0, 0] and gb.ones(3000, dtype=E4)[-1].item() == 1
    assert gb.full((2,), 3.3, dtype=E4).tolist() == [3.25, 3.25]
    assert gb.eye(2, dtype=E4Z).tolist() == [[1, 0], [0, 1]]
    assert gb.empty(2, dtype=E5Z).fill_(0.1).tolist() == [0.09375, 0.09375]
    assert gb.zeros(2, 3, dtype=E4)[:, 1:].fill_(gb.tensor(2.6)).tolist() == [[2.5, 2.5]] * 2
    assert gb.empty(2, dtype=E4).copy_(gb.tensor([1.1, NAN])).isnan().tolist() == [False, True]
    assert repr(gb.tensor([1.0, -2.5], dtype=E4)) == "tensor([ 1.0000, -2.5000], dtype=gaugeblock.float8_e4m3fn)"
    assert repr(gb.empty(0, dtype=E5)) == "tensor([], dtype=gaugeblock.float8_e5m2)"
    assert repr(gb.tensor(1.5, dtype=E4Z)) == "tensor(1.5000, dtype=gaugeblock.float8_e4m3fnuz)"
    assert format(gb.tensor(1.5, dtype=E4Z), ".1f") == "1.5"
    for dtype, number in ((E4, 449), (E4, INF), (E4Z, 241.0), (E5, 1e6), (E5Z, -INF)):
        with pytest.raises(RuntimeError, match=rf"{dtype.name} without overflow"):
            gb.full((2,), number, dtype=dtype)
    assert gb.full((2,), INF, dtype=E5).tolist() == [INF, INF]


def test_views_indexing_and_joining() -> None:
    x = gb.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=E4)
    assert x.t()[1].tolist() == [2, 5] and x.t().contiguous().tolist() == [[1, 4], [2, 5], [3, 6]]
    assert x.view(gb.int8).tolist() == [[56, 64, 68], [72, 74, 76]] and x.view(gb.int8).data_ptr() == x.data_ptr()
    assert gb.cat([x, x[:1]]).tolist() == [[1, 2, 3], [4, 5, 6], [1, 2, 3]] and gb.stack([x, x]).dtype is E4
    assert x[gb.tensor([1, 0]), 1:].tolist() == [[5, 6], [2, 3]] and x[x == 3].tolist() == [3]
    assert x.index_select(1, gb.tensor([2])).tolist() == [[3], [6]]
    assert x.masked_select(x.ne(1)).tolist() == [2, 3, 4, 5, 6]
    y = x.clone()
    y[gb.tensor([0]), gb.tensor([1])] = 7.3
    y[1] = gb.tensor([1e9, 0.0, -1.0])
    y[:, :1] = x[:, 1:2]
    assert y.tolist() == [[2, 7.5, 3], [5, 0, -1]]
    assert gb.where(gb.tensor([True, False, True]), x, x[0, 0]).tolist() == [[1, 1, 3], [4, 1, 6]]
    assert gb.nn.functional.pad(x, (1, 0)).tolist() == [[0, 1, 2, 3], [0, 4, 5, 6]]
    assert x.roll(1, 1).tolist() == [[3, 1, 2], [6, 4, 5]] and x.repeat(1, 2).shape == (2, 6)
    assert gb.zeros(0, 3, dtype=E4).t().shape == (3, 0) and x.any().item() and not gb.zeros(2, dtype=E5).any().item()


def test_equality_and_signs() -> None:
    x = gb.tensor([0.0, -0.0, NAN, 2.0], dtype=E5)
    assert (x == x).tolist() == [True, True, False, True] and (x != x).tolist() == [False, False, True, False]
    assert (x == 2).tolist() == [False, False, False, True] and x.isnan().tolist() == [False, False, True, False]
    assert gb.tensor([-2.0, -0.0], dtype=E4).abs().view(gb.uint8).tolist() == [0x40, 0]
    assert (x[3:] * x[3:]).tolist() == [4]
    assert x.isinf().tolist() == [False] * 4 and gb.tensor([INF], dtype=E5).isinf().tolist() == [True]


def x() -> Any:
    return gb.tensor([1.0, 2.0], dtype=E4)


@pytest.mark.parametrize(
    "call",
    [
        lambda: x() + x(), lambda: x() + 1, lambda: x() - x(), lambda: x() / 2, lambda: x() * 2, lambda: -x(),
        lambda: x() < x(), lambda: x().exp(), lambda: x().relu(), lambda: x().sum(), lambda: x().max(),
        lambda: x().sort(), lambda: x().cumsum(0), lambda: x() @ x(), lambda: x().nonzero(), lambda: x().unique(),
        lambda: x().flip(0),
        lambda: x().masked_fill(gb.tensor([True, False]), 1), lambda: x().gather(0, gb.tensor([0])),
        lambda: x().isinf(),
        lambda: gb.equal(x(), x()), lambda: gb.allclose(x(), x()), lambda: gb.rand(2, dtype=E4), lambda: x().tril(),
        lambda: gb.randn(2, dtype=E5), lambda: gb.arange(3, dtype=E4), lambda: gb.randperm(3, dtype=E4),
        lambda: x().clone().add_(1), lambda: x().bernoulli(), lambda: gb.linspace(0, 1, 2, dtype=E4),
    ],
)  # fmt: skip
def test_arithmetic_is_refused(call: Callable[[], Any]) -> None:
    with pytest.raises(NotImplementedError, match=r"Float8_|float8_"):
        call()


def test_they_do_not_promote() -> None:
    for other in (gb.float32, gb.int8, gb.bool, gb.complex64, E5):
        with pytest.raises(RuntimeError, match="Promotion for Float8 types is not supported"):
            gb.promote_types(E4, other)
    assert gb.promote_types(E4, E4) is E4 and gb.result_type(x(), 1.0) is E4 and gb.can_cast(E4, gb.float32)
    for join in (lambda: x() == gb.ones(2), lambda: gb.cat([x(), gb.ones(2)]), lambda: x() + gb.ones(2)):
        with pytest.raises(RuntimeError, match="Float8"):
            join()
    with pytest.raises(TypeError, match="floating point dtype"):
        gb.set_default_dtype(E4)
    with pytest.raises(RuntimeError, match="no complex dtype"):
        E4.to_complex()


def test_gradients_pass_through_conversions() -> None:
    p = gb.tensor([1.1, 2.3], requires_grad=True)
    (p.to(E4).float() * gb.tensor([2.0, 3.0])).sum().backward()
    assert p.grad.tolist() == [2, 3] and x().requires_grad_().requires_grad


def test_files_pickles_copies_and_capsules_keep_them() -> None:
    for dtype in ALL:
        given = gb.tensor([1.5, -3.0], dtype=dtype)
        file = io.BytesIO()
        gb.save(given, file)
        file.seek(0)
        for again in (gb.load(file), pickle.loads(pickle.dumps(given)), copy.deepcopy(given), gb.from_dlpack(given)):
            assert again.dtype is dtype and again.tolist() == [1.5, -3]
        with pytest.raises(TypeError, match=f"Got unsupported ScalarType Float8{dtype.name.removeprefix('float8')}"):
            given.numpy()
        assert gb.tensor(np.array([1.5], dtype.numpy)).dtype is dtype
