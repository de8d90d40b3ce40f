"""Calls of factories that are kept: what they make is what the first call made, whatever happened in between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gaugeblock as gb
import pytest

CALLS: list[Callable[[], Any]] = [
    lambda: gb.zeros(2, 3), lambda: gb.zeros([2, 3]), lambda: gb.ones((5,), dtype=gb.int8), lambda: gb.full([2, 2], 7),
    lambda: gb.full((), True), lambda: gb.full((3,), -0.0), lambda: gb.full((3,), 1j), lambda: gb.scalar_tensor(3),
    lambda: gb.arange(7), lambda: gb.arange(1, 7, 2.5), lambda: gb.linspace(0, 1, 9), lambda: gb.logspace(0, 1, 5, 2.0),
    lambda: gb.eye(3, 5), lambda: gb.tril_indices(3, 4, -1), lambda: gb.hann_window(9),
    lambda: gb.hamming_window(9, False, alpha=0.3), lambda: gb.kaiser_window(9, False, 3.0),
    lambda: gb.fft.fftfreq(9, 0.5),
    lambda: gb.ones(2, 3).t().contiguous().new_full((2,), 4), lambda: gb.zeros_like(gb.ones(2, 3).t()),
    lambda: gb.full_like(gb.ones(2, 3).t(), 2), lambda: gb.ones(2, dtype=gb.int32).new_ones(3),
    lambda: gb.zeros(0, 3), lambda: gb.full((2**15,), 2.0),
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_a_kept_call_makes_new_tensors_of_the_same_values(call: Callable[[], Any]) -> None:
    first = call()
    wanted = first.clone()
    for _ in range(4):
        found = call()
        assert found.equal(wanted) and found.dtype is wanted.dtype and found.stride() == first.stride()
        assert found._version == 0 and not found.requires_grad and found.storage_impl is not first.storage_impl
        first, _ = found, found.add_(1) if found.dtype is not gb.bool else found.logical_not_()


def test_numbers_of_other_classes_and_signs_are_told_apart() -> None:
    for _ in range(3):
        assert [gb.full((1,), one).dtype for one in (1, 1.0, True, 1 + 0j)] == [
            gb.int64, gb.float32, gb.bool, gb.complex64
        ]  # fmt: skip
        assert [str(gb.full((1,), one).item()) for one in (0.0, -0.0, 0.0)] == ["0.0", "-0.0", "0.0"]
        assert [gb.arange(end).dtype for end in (3, 3.0)] == [gb.int64, gb.float32]
        with pytest.raises(TypeError):
            gb.zeros((2.0,))
        with pytest.raises(RuntimeError):
            gb.full((1,), 300, dtype=gb.int8)


def test_the_default_dtype_of_the_call_counts() -> None:
    makes = [lambda: gb.zeros(2), lambda: gb.hann_window(4), lambda: gb.rand(3), lambda: gb.normal(0.0, 1.0, (2,))]
    for make in makes:
        for dtype in (gb.float32, gb.float64, gb.float32, gb.float64):
            gb.set_default_dtype(dtype)
            try:
                assert [make().dtype for _ in range(3)] == [dtype] * 3
            finally:
                gb.set_default_dtype(gb.float32)


def test_options_are_seen_by_every_call() -> None:
    for _ in range(3):
        assert gb.zeros(2, requires_grad=True).requires_grad and not gb.zeros(2).requires_grad
        assert gb.arange(3, device="meta").device.type == "meta" and gb.arange(3).device.type == "cpu"
        assert gb.hann_window(4, dtype=gb.float64).dtype is gb.float64 and gb.hann_window(4).dtype is gb.float32
        out = gb.empty(4)
        assert gb.arange(4, out=out) is out and out.tolist() == [0, 1, 2, 3]
        with gb.device("meta"):
            assert gb.zeros(2).device.type == "meta" and gb.full((2,), 1).device.type == "meta"
    x = gb.ones(2, requires_grad=True)
    for _ in range(3):
        assert not x.new_zeros(3).requires_grad and not gb.zeros_like(x).requires_grad


def test_empty_memory_is_filled_in_deterministic_mode() -> None:
    for _ in range(3):
        gb.empty(5), gb.empty_like(gb.ones(5)), gb.ones(2).new_empty(5)
    gb.use_deterministic_algorithms(True)
    try:
        for made in (gb.empty(5), gb.empty_like(gb.ones(5)), gb.ones(2).new_empty(5)):
            assert made.isnan().all().item()
    finally:
        gb.use_deterministic_algorithms(False)


RANDOM: list[Callable[[], Any]] = [
    lambda: gb.rand(40), lambda: gb.randn([40]), lambda: gb.randint(9, (40,)), lambda: gb.randint(-5, 1 << 33, (40,)),
    lambda: gb.randperm(40), lambda: gb.rand_like(gb.ones(40)), lambda: gb.randint_like(gb.ones(40), 3, 90),
    lambda: gb.normal(2.0, 3, (40,)), lambda: gb.empty(40).uniform_(), lambda: gb.empty(40).normal_(1.0, 2.0),
    lambda: gb.bernoulli(gb.full((40,), 0.5)), lambda: gb.bernoulli(gb.ones(40), 0.5), lambda: gb.poisson(gb.ones(40)),
    lambda: gb.binomial(gb.full((40,), 9.0), gb.full((40,), 0.5)), lambda: gb.multinomial(gb.ones(40), 30),
]  # fmt: skip


@pytest.mark.parametrize("draw", RANDOM)
def test_kept_calls_draw_what_the_seed_says(draw: Callable[[], Any]) -> None:
    gb.manual_seed(8)
    wanted = [draw() for _ in range(4)]
    assert not any(one.equal(wanted[0]) for one in wanted[1:])
    state = gb.get_rng_state()
    gb.manual_seed(8)
    assert all(draw().equal(one) for one in wanted)
    assert gb.get_rng_state().equal(state)
