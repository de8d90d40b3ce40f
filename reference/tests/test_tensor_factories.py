"""Factories: inference, ranges, strides, error rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

INFERRED: list[tuple[Any, str, tuple[int, ...]]] = [
    (True, "bool", ()),
    (1, "int64", ()),
    (1.0, "float32", ()),
    (1j, "complex64", ()),
    ([], "float32", (0,)),
    ([[], []], "float32", (2, 0)),
    ([True, 2], "int64", (2,)),
    ([1, 2.5], "float32", (2,)),
    ([1j, True], "complex64", (2,)),
    (range(3), "int64", (3,)),
    (((1, 2), (3, 4)), "int64", (2, 2)),
    (np.float64(1.5), "float64", ()),
    ([np.int32(1)], "int32", (1,)),
    (np.zeros((2, 3), np.float16), "float16", (2, 3)),
    ([np.arange(3), np.arange(3)], "int64", (2, 3)),
]


@pytest.mark.parametrize("case", range(len(INFERRED)))
def test_inference(case: int) -> None:
    data, name, shape = INFERRED[case]
    x = gb.tensor(data)
    assert (x.dtype, x.shape) == (getattr(gb, name), shape)


@given(
    st.recursive(
        st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(width=32) | st.complex_numbers(width=64),
        lambda inner: st.lists(inner, max_size=0) | inner.flatmap(lambda one: st.just([one, one])),
        max_leaves=4,
    )
)
def test_inferred_values_round_trip(data: Any) -> None:
    x = gb.tensor(data)
    assert repr(x.tolist()) == repr(data)


def test_tensors_inside_lists() -> None:
    x = gb.tensor([gb.tensor(1), gb.tensor(2.5)])
    assert (x.dtype, x.tolist()) == (gb.float32, [1.0, 2.5])
    source = gb.ones(2)
    with pytest.warns(UserWarning, match="clone"):
        assert gb.tensor(source).untyped_storage() != source.untyped_storage()


RAISING: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: gb.tensor([[1], [2, 3]]), ValueError, "length 1 at dim 1"),
    (lambda: gb.tensor([[1], 2]), TypeError, "not a sequence"),
    (lambda: gb.tensor([1, [2]]), TypeError, "cannot be interpreted"),
    (lambda: gb.tensor(2**63), ValueError, "Overflow"),
    (lambda: gb.tensor([-(2**63) - 1]), ValueError, "Overflow"),
    (lambda: gb.tensor(300, dtype=gb.uint8), RuntimeError, "without overflow"),
    (lambda: gb.tensor(-300, dtype=gb.uint8), RuntimeError, "without overflow"),
    (lambda: gb.tensor([128], dtype=gb.int8), RuntimeError, "without overflow"),
    (lambda: gb.tensor(float("nan"), dtype=gb.int32), RuntimeError, "without overflow"),
    (lambda: gb.tensor(1j, dtype=gb.float32), TypeError, "complex"),
    (lambda: gb.tensor("a"), TypeError, "str"),
    (lambda: gb.tensor(["a"]), ValueError, "str"),
    (lambda: gb.tensor(None), RuntimeError, "infer dtype of NoneType"),
    (lambda: gb.tensor({1}), RuntimeError, "infer dtype of set"),
    (lambda: gb.tensor(1, requires_grad=True), RuntimeError, "floating point"),
    (lambda: gb.zeros(), TypeError, "size"),
    (lambda: gb.zeros(2.0), TypeError, "int"),
    (lambda: gb.zeros(-1), RuntimeError, "negative"),
    (lambda: gb.zeros(2, dtype="float32"), TypeError, "dtype"),
    (lambda: gb.zeros(2, device="foo"), RuntimeError, "device"),
    (lambda: gb.empty(2**62), RuntimeError, "overflow"),
    (lambda: gb.empty(2**40, 2**40), RuntimeError, "overflow"),
    (lambda: gb.empty(2**48, dtype=gb.float64), RuntimeError, "allocate"),
    (lambda: gb.full(2, 1), TypeError, "tuple of ints"),
    (lambda: gb.full((2,), 300, dtype=gb.uint8), RuntimeError, "without overflow"),
    (lambda: gb.full((2,), 1e39, dtype=gb.float32), RuntimeError, "without overflow"),
    (lambda: gb.full((2,), float("nan"), dtype=gb.int32), RuntimeError, "without overflow"),
    (lambda: gb.full((2,), 1j, dtype=gb.float32), RuntimeError, "without overflow"),
    (lambda: gb.arange(0, 3, 0), RuntimeError, "nonzero"),
    (lambda: gb.arange(0, 3, -1), RuntimeError, "step sign"),
    (lambda: gb.arange(float("inf")), RuntimeError, "unsupported range"),
    (lambda: gb.arange(3, dtype=gb.bool), NotImplementedError, "bool"),
    (lambda: gb.linspace(0, 1, -1), RuntimeError, "non-negative"),
    (lambda: gb.eye(-1), RuntimeError, "greater or equal to 0"),
    (lambda: gb.empty_strided((2,), (-1,)), RuntimeError, "stride"),
    (lambda: gb.empty_strided((2,), (1, 1)), RuntimeError, "dimensionality"),
]


@pytest.mark.parametrize("factory", [gb.zeros, gb.ones])
def test_sizes_cannot_be_left_out_after_calls_without_dims(factory: Callable[..., gb.Tensor]) -> None:
    for _ in range(3):
        assert factory(()).shape == ()
    with pytest.raises(TypeError, match="size"):
        factory()


@pytest.mark.parametrize("case", range(len(RAISING)))
def test_errors(case: int) -> None:
    use, kind, message = RAISING[case]
    with pytest.raises(kind, match=message):
        use()


def test_conversions_of_given_dtypes() -> None:
    assert gb.tensor(-1, dtype=gb.uint8).item() == 255
    assert gb.tensor([1.7, -1.7], dtype=gb.int32).tolist() == [1, -1]
    assert gb.tensor(1e300, dtype=gb.float32).item() == float("inf")
    assert gb.tensor([2, 0, float("nan")], dtype=gb.bool).tolist() == [True, False, True]
    assert gb.tensor(2**63, dtype=gb.uint64).item() == 2**63
    assert gb.tensor(2**70, dtype=gb.float32).item() == 2.0**70
    assert gb.full((2,), -1, dtype=gb.uint8).tolist() == [255, 255]
    assert gb.full((), 1.5, dtype=gb.int32).item() == 1


@given(st.integers(-50, 50), st.integers(-50, 50), st.integers(-7, 7).filter(bool))
def test_integer_ranges(start: int, end: int, step: int) -> None:
    if (end - start) * step < 0:
        with pytest.raises(RuntimeError, match="step sign"):
            gb.arange(start, end, step)
        return
    assert gb.arange(start, end, step).tolist() == list(range(start, end, step))


def test_ranges() -> None:
    assert gb.arange(3.0).dtype is gb.float32
    assert gb.arange(0, 1, 0.25).tolist() == [0.0, 0.25, 0.5, 0.75]
    assert gb.arange(1, end=3).tolist() == [1, 2]
    assert gb.arange(gb.tensor(3)).tolist() == [0, 1, 2]
    assert gb.linspace(0, 1, 5).tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert gb.linspace(3, -3, 4, dtype=gb.int64).tolist() == [3, 1, -1, -3]
    assert gb.linspace(2, 5, 1).tolist() == [2.0]
    assert gb.linspace(0, 1j, 3).tolist() == [0j, 0.5j, 1j]
    assert gb.logspace(0, 2, 3, base=2).tolist() == [1.0, 2.0, 4.0]
    assert gb.eye(2, 3).tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    assert gb.eye(3, 2, dtype=gb.bool).tolist() == [[True, False], [False, True], [False, False]]


def test_likes_follow_the_stride_order() -> None:
    x = gb.zeros(3, 8)[:, ::2].t()
    assert gb.empty_like(x).stride() == (1, 4)
    assert gb.ones_like(gb.zeros(3).expand(4, 3)).stride() == (3, 1)
    assert gb.zeros_like(gb.zeros(2, 3, 4, 5), memory_format=gb.channels_last).stride() == (60, 1, 15, 3)
    assert gb.full_like(gb.zeros(2, dtype=gb.int32), 2.7).tolist() == [2, 2]
    assert gb.ones_like(x, dtype=gb.bool).tolist() == [[True] * 3] * 4


def test_new_methods_take_dtype_and_device_from_self() -> None:
    x = gb.zeros(2, dtype=gb.int16)
    assert x.new_zeros(2, 3).dtype is x.new_ones((1,)).dtype is x.new_tensor([1.5]).dtype is gb.int16
    assert x.new_full((2,), 7.9).tolist() == [7, 7]
    assert gb.empty(2, device="meta").new_zeros(3).is_meta


def test_empty_strided_owns_its_extent() -> None:
    x = gb.empty_strided((2, 3), (0, 2))
    assert (x.stride(), x.untyped_storage().nbytes()) == ((0, 2), 20)


def test_out_is_resized_and_filled() -> None:
    out = gb.empty(0)
    assert gb.zeros(2, 2, out=out) is out
    assert out.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert gb.arange(3, out=out).tolist() == [0.0, 1.0, 2.0]


def test_ranges_count_before_they_cut_to_integers() -> None:
    assert gb.arange(0, -8.000001, -4.0, dtype=gb.int32).tolist() == [0, -4, -8]
    assert gb.arange(0, -8.000001, -4.0, dtype=gb.int64).tolist() == [0, -4]
    assert gb.arange(0, 2, 0.5, dtype=gb.uint8).tolist() == [0, 0, 0, 0]
    assert gb.arange(0, 40, 0.5, dtype=gb.int32).tolist() == [0] * 80
    assert gb.arange(0.5, 7.9, 2.5, out=gb.empty(0, dtype=gb.int64)).tolist() == [0, 2, 4, 6]
    with pytest.raises(ValueError, match="nonzero"):
        gb.arange(0, 2, 0.5, dtype=gb.int64)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gb.zeros(size=3), r"zeros\(\): argument 'size' must be tuple of ints, not int"),
        (lambda: gb.zeros(2, size=(3,)), r"zeros\(\) got multiple values for argument 'size'"),
        (lambda: gb.zeros(2, pin_memory=3), r"zeros\(\): argument 'pin_memory' must be bool, not int"),
        (lambda: gb.zeros(2, device=3.5), r"zeros\(\): argument 'device' must be device, not float"),
        (lambda: gb.ones(2).new_full(2, 1.0), r"new_full\(\): argument 'size' \(position 1\) must be tuple of ints"),
        (lambda: gb.full((2,), gb.ones(2)), r"full\(\): argument 'fill_value' \(position 2\) must be Number"),
        (lambda: gb.empty_strided(2, 3), r"empty_strided\(\): argument 'size' \(position 1\) must be tuple of ints"),
        (lambda: gb.scalar_tensor(2, out=None), r"scalar_tensor\(\) got an unexpected keyword argument 'out'"),
        (lambda: gb.zeros_like(gb.ones(2), out=None), r"zeros_like\(\) got an unexpected keyword argument 'out'"),
        (lambda: gb.arange(5, start=2), r"arange\(\) received an invalid combination of arguments"),
        (lambda: gb.arange(5, step=None), r"arange\(\) received an invalid combination of arguments"),
        (lambda: gb.empty_permuted((2, 3), (1, 0), out=gb.ones(2, 3)), r"empty_permuted\(\) got an unexpected keyword"),
    ],
)
def test_arguments_are_read_by_the_schemas(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call()


def test_numbers_that_are_tensors_or_bools() -> None:
    assert gb.full((2,), gb.tensor(3)).tolist() == [3, 3]
    assert gb.logspace(0, 1, 2, base=gb.tensor(2.0)).tolist() == [1.0, 2.0]
    assert gb.logspace(0, 1, 2, base=True).tolist() == [1.0, 1.0]
    assert gb.eye(gb.tensor(2)).tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_like_factories_keep_strides_in_another_dtype() -> None:
    x = gb.ones(2, 3).t()
    for made in (gb.zeros_like(x, dtype=gb.int64), gb.rand_like(x), gb.ones_like(x, requires_grad=True)):
        assert made.stride() == (1, 3)
    assert gb.zeros_like(x, dtype=gb.int64).dtype is gb.int64


def test_an_out_of_another_dtype_is_refused_again_and_again() -> None:
    out = gb.empty(2)
    for _ in range(3):
        assert gb.zeros(2, out=out) is out
        with pytest.raises(RuntimeError, match="does not match dtype of out parameter"):
            gb.zeros(2, out=out, dtype=gb.int64)
        with pytest.raises(TypeError, match="argument 'out' must be Tensor"):
            gb.zeros(2, out=(out,))
