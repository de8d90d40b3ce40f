"""Promotion, out=, in-place checks and refusals of pointwise operators."""

from __future__ import annotations

import warnings

import gaugeblock as gb
import numpy as np
import pytest


def test_inplace_computes_in_the_promoted_dtype_and_checks_first() -> None:
    x = gb.tensor([1, 2], dtype=gb.int32)
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Int"):
        x.add_(1.5)
    with pytest.raises(RuntimeError, match="result type Float can't be cast"):
        x.div_(2)
    assert x.tolist() == [1, 2] and x._version == 0
    y = gb.tensor([1.0], dtype=gb.float32)
    assert y.add_(gb.tensor([1e-9], dtype=gb.float64)).dtype is gb.float32
    assert gb.tensor([100], dtype=gb.int8).add_(gb.tensor([100], dtype=gb.int64)).tolist() == [-56]


@pytest.mark.parametrize(("function", "dtype", "allowed"), [
    (gb.add, gb.float64, True), (gb.add, gb.float16, True), (gb.add, gb.int32, False), (gb.add, gb.complex64, True),
    (gb.eq, gb.float32, True), (gb.eq, gb.int8, True), (gb.lt, gb.complex64, True),
    (gb.atan2, gb.int32, False), (gb.atan2, gb.float64, True),
])  # fmt: skip
def test_out_dtype_rules(function: object, dtype: object, allowed: bool) -> None:
    x, y, out = gb.tensor([1.0, 2.0]), gb.tensor([2.0, 2.0]), gb.zeros(2, dtype=dtype)
    if allowed:
        assert function(x, y, out=out) is out and out._version == 1  # type: ignore[operator]
        plain = function(x, y).to(dtype)  # type: ignore[operator]
        assert out.tolist() == plain.tolist()
    else:
        with pytest.raises(RuntimeError, match="can't be cast"):
            function(x, y, out=out)  # type: ignore[operator]
        assert out.tolist() == [0, 0] and out._version == 0


def test_exact_out_dtype() -> None:
    with pytest.raises(RuntimeError, match=r"abs\(\): Found dtype Double.*expected Float"):
        gb.abs(gb.zeros(2), out=gb.zeros(2, dtype=gb.float64))
    assert gb.abs(gb.tensor([3 + 4j]), out=gb.zeros(1)).tolist() == [5.0]
    with pytest.raises(RuntimeError, match="In-place abs"):
        gb.tensor([1j]).abs_()


def test_out_of_the_wrong_shape_is_resized_with_a_warning() -> None:
    x = gb.tensor([1.0, 2.0, 3.0])
    out = gb.zeros(2)
    with pytest.warns(UserWarning, match=r"shape \[2\].*shape \[3\]"):
        assert gb.add(x, x, out=out) is out
    assert out.tolist() == [2.0, 4.0, 6.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert gb.exp(x, out=gb.empty(0)).shape == (3,)


def test_right_shaped_out_keeps_its_strides_and_gaps() -> None:
    base = gb.full((4, 6), -1.0)
    out = base[:, ::2].t()
    gb.add(gb.ones(3, 4), 1, out=out)
    assert base.tolist() == [[2.0, -1.0] * 3] * 4 and base._version == 1


def test_destination_shape_is_checked_before_writing() -> None:
    x = gb.zeros(2)
    with pytest.raises(RuntimeError, match=r"output with shape \[2\] doesn't match the broadcast shape \[3, 2\]"):
        x.add_(gb.ones(3, 2))
    assert x._version == 0 and x.tolist() == [0.0, 0.0]


def test_stride_zero_destination_is_refused() -> None:
    x = gb.zeros(1).expand(3)
    y = gb.ones(3)
    for call in (lambda: x.add_(1), lambda: x.exp_(), lambda: x.copy_(y), lambda: gb.add(1, y, out=x)):
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
            call()
    assert x.fill_(3).tolist() == [3.0] * 3


def test_transposed_self_alias_is_refused() -> None:
    m = gb.arange(9.0).view(3, 3)
    for call in (lambda: m.add_(m.t()), lambda: m.copy_(m.t()), lambda: gb.mul(m.t(), 2, out=m)):
        with pytest.raises(RuntimeError, match="some elements of the input tensor"):
            call()
    assert m.tolist() == np.arange(9.0).reshape(3, 3).tolist()


def test_gapped_disjoint_slices_work() -> None:
    x = gb.arange(6.0)
    x[::2].add_(x[1::2])
    assert x.tolist() == [1.0, 1.0, 5.0, 3.0, 9.0, 5.0]


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda: gb.add(gb.tensor([1]), 1, alpha=1.5), RuntimeError, "alpha must not be a floating point number"),
    (lambda: gb.sub(gb.tensor([1.0]), 1, alpha=1j), RuntimeError, "alpha must not be a complex number"),
    (lambda: gb.add(gb.tensor([1.0]), 1, alpha=True), RuntimeError, "Boolean alpha"),
    (lambda: gb.tensor([True]) - gb.tensor([True]), RuntimeError, "Subtraction"),
    (lambda: gb.tensor([1]) - True, RuntimeError, "Subtraction"),
    (lambda: -gb.tensor([True]), RuntimeError, "Negation"),
    (lambda: gb.tensor([1.0]) & 1, NotImplementedError, "\"bitwise_and\" not implemented for 'Float'"),
    (lambda: gb.sign(gb.tensor([1j])), NotImplementedError, "complex"),
    (lambda: gb.tensor([1j]) < 1, NotImplementedError, "'ComplexFloat'"),
    (lambda: gb.tensor([1], dtype=gb.uint16) + 1, NotImplementedError, "'UInt16'"),
    (lambda: gb.tensor([1], dtype=gb.uint16) + gb.tensor([1]), RuntimeError, "uint16"),
    (lambda: gb.tensor([2]) ** -1, RuntimeError, "negative integer powers"),
    (lambda: gb.div(gb.tensor([1.0]), 2, rounding_mode="up"), RuntimeError, "'up'"),
    (lambda: gb.tensor([1]) // 0, RuntimeError, "ZeroDivisionError"),
    (lambda: gb.tensor([1, 2]) % gb.tensor([1, 0]), RuntimeError, "ZeroDivisionError"),
    (lambda: gb.where(gb.tensor([1.0]), 1, 2), RuntimeError, "boolean tensor.*Float"),
    (lambda: gb.clamp(gb.tensor([1.0])), RuntimeError, "At least one of 'min' or 'max'"),
    (lambda: gb.clamp(gb.tensor([1], dtype=gb.int8), max=1000), RuntimeError, "without overflow: 1000"),
    (lambda: gb.lerp(gb.ones(2), gb.ones(2, dtype=gb.float64), 0.5), RuntimeError, "expected dtype float32 for `end`"),
    (lambda: gb.isclose(gb.ones(2), gb.ones(2, dtype=gb.float64)), RuntimeError, "did not match"),
    (lambda: gb.addcdiv(gb.tensor([1]), gb.tensor([1]), gb.tensor([1])), RuntimeError, "Integer division"),
])  # fmt: skip
def test_refusals(call: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()  # type: ignore[operator]


def test_bool_arithmetic() -> None:
    a, b = gb.tensor([False, True, True]), gb.tensor([False, False, True])
    assert (a + b).tolist() == [False, True, True] and (a * b).tolist() == [False, False, True]
    assert (a + b).dtype is gb.bool and (a / b).dtype is gb.float32
    assert (~a).tolist() == [True, False, False] and (a ^ b).tolist() == [False, True, False]


def test_number_of_higher_kind_raises_the_dtype() -> None:
    assert (gb.tensor([1]) + 1.5).dtype is gb.float32
    assert (gb.tensor([1.0], dtype=gb.float64) + 1j).dtype is gb.complex128
    assert (gb.tensor([1], dtype=gb.int8) + gb.tensor(1.5, dtype=gb.float64)).dtype is gb.float64
    assert (gb.tensor([1.0]) + gb.tensor(1.5, dtype=gb.float64)).dtype is gb.float32


def test_lazily_conjugate_operands_are_resolved() -> None:
    x = gb.tensor([1 + 2j, 3 - 1j])
    assert (gb.conj(x) + 1).tolist() == [2 - 2j, 4 + 1j]
    y = x.clone()
    lazy = gb.conj(y)
    lazy.mul_(2)
    assert y.tolist() == [2 + 4j, 6 - 2j] and lazy.tolist() == [2 - 4j, 6 + 2j]
    assert gb.conj(x).clone().tolist() == [1 - 2j, 3 + 1j]


def test_broadcast_inputs_are_not_materialised() -> None:
    from gaugeblock.memory.host_allocator import host_allocator

    wide = gb.ones(1).expand(1 << 20)
    (wide + wide).sum()
    before = host_allocator.statistics().allocated_bytes
    result = wide + wide
    assert host_allocator.statistics().allocated_bytes - before <= 2 * 4 * (1 << 20)
    assert result.shape == (1 << 20,)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("transposed", [False, True])
def test_threads_do_not_change_bits(threads: int, transposed: bool) -> None:
    data = np.random.default_rng(0).standard_normal((700, 601)).astype(np.float32)
    x = gb.from_numpy(data)
    y = x.t().contiguous().t() if transposed else x
    before = gb.get_num_threads()
    try:
        gb.set_num_threads(1)
        expected = gb.exp(x * y).numpy().tobytes()
        gb.set_num_threads(threads)
        assert gb.exp(x * y).numpy().tobytes() == expected
    finally:
        gb.set_num_threads(before)


@pytest.mark.parametrize(
    ("name", "want"),
    [
        ("bitwise_and", [1, 0, 1]), ("bitwise_or", [5, 7, 7]), ("bitwise_xor", [4, 7, 6]),
        ("bitwise_left_shift", [10, 20, 40]), ("bitwise_right_shift", [2, 1, 0]),
    ],
)  # fmt: skip
def test_bitwise_functions_take_the_number_first(name: str, want: list[int]) -> None:
    x = gb.tensor([1, 2, 3], dtype=gb.uint8)
    made = getattr(gb, name)(5, x)
    assert made.tolist() == want and made.dtype is gb.uint8
    with pytest.raises(NotImplementedError, match="not implemented for"):
        getattr(gb, name)(5, gb.ones(2))
