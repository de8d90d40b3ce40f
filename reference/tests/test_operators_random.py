"""Generators, their states, and the distributions drawn from them."""

from __future__ import annotations

from typing import Any

import gaugeblock as gb
import pytest


def test_a_seed_repeats_and_draws_advance() -> None:
    gb.manual_seed(5)
    first, second = gb.rand(4), gb.rand(4)
    assert not first.equal(second)
    gb.manual_seed(5)
    assert gb.rand(4).equal(first) and gb.rand(4).equal(second)
    assert gb.initial_seed() == 5


def test_states() -> None:
    generator = gb.Generator().manual_seed(-1)
    assert generator.initial_seed() == 2**64 - 1 and generator.device is gb.device("cpu")
    gb.rand(3, generator=generator)
    state = generator.get_state()
    assert state.dtype is gb.uint8
    drawn = gb.randn(5, generator=generator)
    other = gb.Generator()
    other.set_state(state)
    assert gb.randn(5, generator=other).equal(drawn)
    assert other.initial_seed() == 2**64 - 1
    saved = gb.get_rng_state()
    expected = gb.rand(2)
    gb.set_rng_state(saved)
    assert gb.rand(2).equal(expected)
    with pytest.raises(TypeError, match="uint8"):
        generator.set_state(gb.tensor([1]))
    with pytest.raises(RuntimeError, match="bytes"):
        generator.set_state(gb.zeros(3, dtype=gb.uint8))
    with pytest.raises(ValueError):
        gb.manual_seed(2**64)
    assert generator.seed() == generator.initial_seed()


@pytest.mark.parametrize("dtype", [gb.float16, gb.bfloat16, gb.float32, gb.float64])
def test_uniform_range_and_mean(dtype: Any) -> None:
    gb.manual_seed(0)
    x = gb.rand(20000, dtype=dtype).to(gb.float64)
    values = x.tolist()
    assert min(values) >= 0 and max(values) < 1 and abs(sum(values) / 20000 - 0.5) < 0.01
    y = gb.empty(20000, dtype=dtype).uniform_(-3, -1).to(gb.float64).tolist()
    assert min(y) >= -3 and max(y) < -1 and abs(sum(y) / 20000 + 2) < 0.02


@pytest.mark.parametrize("dtype", [gb.float16, gb.float32, gb.complex64])
def test_normal_moments(dtype: Any) -> None:
    gb.manual_seed(0)
    values = gb.empty(20000, dtype=dtype).normal_(1, 2).to(gb.complex128).tolist()
    assert abs(sum(values) / 20000 - 1) < 0.05
    assert abs(sum(abs(v - 1) ** 2 for v in values) / 20000 - 4) < 0.15
    assert gb.zeros(2).normal_(5, 0).tolist() == [5, 5]


def test_integers() -> None:
    x = gb.randint(-2, 3, (1000,))
    assert x.dtype is gb.int64 and set(x.tolist()) == {-2, -1, 0, 1, 2}
    assert set(gb.randint(2, (100,), dtype=gb.bool).tolist()) == {False, True}
    assert set(gb.zeros(100).random_(1, 3).tolist()) == {1, 2}
    assert max(gb.zeros(1000, dtype=gb.uint8).random_().tolist()) > 200
    assert sorted(gb.randperm(50).tolist()) == list(range(50))
    assert gb.randperm(4, dtype=gb.int32).dtype is gb.int32
    for call in (
        lambda: gb.randint(0, 300, (2,), dtype=gb.uint8),
        lambda: gb.randint(-1, 5, (2,), dtype=gb.uint8),
        lambda: gb.randint(3, 3, (2,)),
        lambda: gb.randperm(300, dtype=gb.uint8),
        lambda: gb.randperm(-1),
    ):
        with pytest.raises(RuntimeError):
            call()


def test_bernoulli_multinomial_exponential() -> None:
    assert gb.bernoulli(gb.tensor([0.0, 1.0])).tolist() == [0, 1]
    assert gb.zeros(2, dtype=gb.int64).bernoulli_(1.0).tolist() == [1, 1]
    assert gb.zeros(2).bernoulli_(gb.tensor([1.0, 0.0])).tolist() == [1, 0]
    assert 400 < sum(gb.zeros(1000).bernoulli_(0.5).tolist()) < 600
    assert gb.multinomial(gb.tensor([[0.0, 1.0], [2.0, 0.0]]), 3, replacement=True).tolist() == [[1] * 3, [0] * 3]
    assert sorted(gb.multinomial(gb.ones(4), 4).tolist()) == [0, 1, 2, 3]
    assert min(gb.zeros(100).exponential_(2).tolist()) >= 0
    for call in (
        lambda: gb.bernoulli(gb.tensor([float("nan")])),
        lambda: gb.multinomial(gb.tensor([-1.0]), 1),
        lambda: gb.multinomial(gb.zeros(2), 1),
        lambda: gb.zeros(2).exponential_(0),
    ):
        with pytest.raises(RuntimeError):
            call()


def test_likes_outs_versions_and_strides() -> None:
    x = gb.ones(2, 3).t()
    assert gb.rand_like(x).stride() == (1, 3) and gb.rand_like(x)._version == 0
    assert gb.randint_like(x, 5).dtype is gb.float32
    out = gb.empty(2, dtype=gb.float64)
    assert gb.rand(2, out=out) is out and out._version == 1
    y = gb.zeros(4)
    assert y[::2].uniform_(1, 2).shape == (2,) and y[1::2].tolist() == [0, 0] and y._version == 1
    assert gb.rand(2, device="meta").shape == (2,)
    with pytest.raises(RuntimeError, match="single memory location"):
        gb.zeros(1).expand(3).uniform_()
    with pytest.raises(NotImplementedError):
        gb.zeros(2, dtype=gb.int64).normal_()


@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "float64"])
def test_bernoulli_draws_what_its_in_place_form_draws(dtype: str) -> None:
    chances = gb.linspace(0, 1, 35).to(getattr(gb, dtype)).reshape(5, 7).t()
    gb.manual_seed(3)
    expected = gb.empty(7, 5, dtype=chances.dtype).bernoulli_(chances)
    for generator in (None, None, gb.default_generator):
        gb.manual_seed(3)
        found = gb.bernoulli(chances, generator=generator)
        assert found.equal(expected) and found.stride() == (1, 7)
    assert found[0, 0] == 0 and found[-1, -1] == 1
    for bad in (2.0, -1.0, float("nan")):
        wrong = chances.clone()
        wrong[1, 2] = bad
        with pytest.raises(RuntimeError, match=r"p_in >= 0 && p_in <= 1"):
            gb.bernoulli(wrong)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_normal_numbers_by_element(dtype: str) -> None:
    kind = getattr(gb, dtype)
    mean, std = gb.randn(3, 1, dtype=kind), gb.rand(1, 4, dtype=kind)
    for first, second in ((mean, std), (mean, 0.5), (2.0, std)):
        for _ in range(2):
            gb.manual_seed(1)
            found = gb.normal(first, second)
            gb.manual_seed(1)
            assert found.equal(gb.empty(found.shape, dtype=kind).normal_().mul_(second).add_(first))
    gb.manual_seed(1)
    found = gb.normal(1.0, 2.0, (3, 4), dtype=kind)
    gb.manual_seed(1)
    assert found.equal(gb.empty(3, 4, dtype=kind).normal_(1.0, 2.0))
    for call in (lambda: gb.normal(mean, -1.0), lambda: gb.normal(mean, -std), lambda: gb.normal(0.0, -1.0, (2,))):
        with pytest.raises(RuntimeError, match=r"std >= 0\.0"):
            call()
