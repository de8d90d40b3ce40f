"""copy_, clone, to, fills and masked fills."""

from __future__ import annotations

import warnings

import gaugeblock as gb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st


@given(st.data())
def test_copy_between_any_strides_equals_numpy_assignment(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=3)))
    order = data.draw(st.permutations(range(len(shape))))
    step = data.draw(st.integers(1, 3))
    numbers = np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)
    place = np.full([shape[d] for d in order[:-1]] + [shape[order[-1]] * step], -1.0, dtype=np.float64)
    view = gb.from_numpy(place)[..., ::step] if place.ndim else gb.from_numpy(place)
    back = np.argsort(order).tolist()
    destination = view.permute(back)
    assert destination.copy_(gb.from_numpy(numbers)) is destination
    expected = np.full_like(place, -1.0)
    expected[..., ::step].transpose(back)[...] = numbers
    assert np.array_equal(place, expected)
    assert destination._version == 1


def test_copy_broadcasts_the_source_and_converts() -> None:
    x = gb.zeros(2, 3, dtype=gb.int32)
    assert x.copy_(gb.tensor([1.9, -2.9, 3.0])).tolist() == [[1, -2, 3]] * 2
    with pytest.raises(RuntimeError, match="must match the size of tensor b"):
        x.copy_(gb.ones(4))
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        x.copy_(gb.ones(2, 2, 3))


def test_to_returns_self_when_nothing_changes() -> None:
    x = gb.zeros(2)
    assert x.to(gb.float32) is x and x.to("cpu") is x and x.float() is x and x.to(dtype=gb.float32, device="cpu") is x
    copied = x.to(gb.float32, copy=True)
    assert copied is not x and copied.data_ptr() != x.data_ptr()


@pytest.mark.filterwarnings("ignore:Casting complex values")
@pytest.mark.parametrize(("method", "dtype"), [
    ("float", gb.float32), ("double", gb.float64), ("half", gb.float16), ("bfloat16", gb.bfloat16), ("int", gb.int32),
    ("long", gb.int64), ("short", gb.int16), ("char", gb.int8), ("byte", gb.uint8), ("bool", gb.bool),
    ("cfloat", gb.complex64), ("cdouble", gb.complex128),
])  # fmt: skip
def test_methods_named_after_dtypes(method: str, dtype: object) -> None:
    x = gb.tensor([0.0, 1.0, 2.0])
    converted = getattr(x, method)()
    assert converted.dtype is dtype and converted.tolist()[0] == 0
    assert gb.zeros(1, dtype=dtype).type_as(x).dtype is gb.float32


def test_conversion_rules() -> None:
    assert gb.tensor([0.0, -0.0, float("nan"), 1e-45]).bool().tolist() == [False, False, True, True]
    assert gb.tensor([-1.9, 2.9]).int().tolist() == [-1, 2]
    assert gb.tensor([300, -1]).byte().tolist() == [44, 255]
    assert gb.tensor([1e10]).half().tolist() == [float("inf")]
    with pytest.warns(UserWarning, match="discards the imaginary part"):
        assert gb.tensor([1 + 2j]).float().tolist() == [1.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert gb.tensor([0 + 2j]).bool().tolist() == [True]


def test_clone_keeps_or_changes_the_layout() -> None:
    x = gb.arange(6.0).view(2, 3).t()
    assert x.clone().stride() == (1, 3) and x.clone(memory_format=gb.contiguous_format).stride() == (2, 1)
    assert gb.zeros(2, 3, 4, 5).clone(memory_format=gb.channels_last).stride() == (60, 1, 15, 3)
    with pytest.raises(RuntimeError, match="rank 4"):
        x.clone(memory_format=gb.channels_last)
    assert gb.ones(1).expand(3).clone().stride() == (1,)


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda x: x.to(), None, ""), (lambda x: x.to(3), TypeError, "'device' must be"),
    (lambda x: x.to(gb.float64, gb.float32), TypeError, "'non_blocking'"),
    (lambda x: x.to(foo=3), TypeError, "'foo'"), (lambda x: x.to("gpu"), RuntimeError, "'gpu'"),
    (lambda x: x.to("cpu", device="cpu"), TypeError, "multiple values"),
])  # fmt: skip
def test_arguments_of_to(call: object, error: type[Exception] | None, message: str) -> None:
    x = gb.zeros(2)
    if error is None:
        assert call(x) is x  # type: ignore[operator]
    else:
        with pytest.raises(error, match=message):
            call(x)  # type: ignore[operator]


def test_meta_and_back() -> None:
    there = gb.zeros(2, 3).to("meta")
    assert (there.device.type, there.shape) == ("meta", (2, 3))
    for call in (lambda: there.to("cpu"), lambda: gb.zeros(2, 3).copy_(there)):
        with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor"):
            call()
    assert there.copy_(gb.zeros(2, 3)) is there


@pytest.mark.parametrize(("dtype", "value", "stored"), [
    (gb.int32, 3.9, 3), (gb.uint8, -1, 255), (gb.bool, 5, True), (gb.float32, float("inf"), float("inf")),
    (gb.uint64, 2**64 - 1, 2**64 - 1), (gb.complex64, 1 + 2j, 1 + 2j), (gb.float16, 65504.0, 65504.0),
])  # fmt: skip
def test_fill(dtype: object, value: object, stored: object) -> None:
    assert gb.zeros(2, dtype=dtype).fill_(value).tolist() == [stored, stored]


@pytest.mark.parametrize(("dtype", "value"), [
    (gb.int8, 300), (gb.uint8, -300), (gb.float32, 1e300), (gb.int32, float("nan")), (gb.int32, 1j), (gb.float16, 1e6),
])  # fmt: skip
def test_fill_that_does_not_fit(dtype: object, value: object) -> None:
    x = gb.zeros(2, dtype=dtype)
    for call in (lambda: x.fill_(value), lambda: x.masked_fill(x == 0, value)):
        with pytest.raises(RuntimeError, match="without overflow"):
            call()
    assert x._version == 0


def test_fill_with_a_tensor_needs_no_dims() -> None:
    assert gb.zeros(2).fill_(gb.tensor(3)).tolist() == [3.0, 3.0]
    with pytest.raises(RuntimeError, match="0-dimension value tensor but got tensor with 1 dim"):
        gb.zeros(2).fill_(gb.zeros(1))
    x = gb.arange(4.0)
    assert x.fill_(x[2]).tolist() == [2.0] * 4


def test_fill_of_an_expanded_tensor_writes_once() -> None:
    base = gb.zeros(3, 1)
    base.expand(3, 5).fill_(2)
    assert base.tolist() == [[2.0]] * 3 and base._version == 1
    assert base.t().zero_().sum().item() == 0.0


def test_masked_fill() -> None:
    x = gb.arange(4.0).view(2, 2)
    mask = gb.tensor([True, False])
    assert x.masked_fill(mask, 9).tolist() == [[9.0, 1.0], [9.0, 3.0]]
    assert gb.zeros(2, 1).masked_fill(mask, 9).shape == (2, 2)
    assert x.masked_fill_(mask, gb.tensor(7)).tolist() == [[7.0, 1.0], [7.0, 3.0]] and x._version == 1
    with pytest.raises(RuntimeError, match="boolean masks"):
        x.masked_fill(x, 1)
    with pytest.raises(RuntimeError, match="output with shape"):
        gb.zeros(2, 1).masked_fill_(mask, 1)


def test_assignment_goes_through_copy_and_fill() -> None:
    x = gb.zeros(2, 3)
    x[0] = gb.tensor([1, 2, 3])
    x[1, ::2] = 5
    assert x.tolist() == [[1.0, 2.0, 3.0], [5.0, 0.0, 5.0]] and x._version == 2
