"""The compiled loops of random numbers: the published generator, places and threads, distributions, saved states."""

from __future__ import annotations

from math import comb, erf, exp, lgamma, log, log1p, sqrt
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock.kernels.random import random_kernel, shuffle_kernel

COUNT = 200_000
SECOND_CALL = 1


def uniform(seed: int, call: int, count: int, dtype: Any = gb.float32, last: float = 1.0) -> Any:
    return drawn("uniform", dtype, (0.0, 1.0, last), seed, call, count)


def drawn(name: str, dtype: Any, numbers: tuple[float, ...], seed: int, call: int, count: int) -> Any:
    array, state = np.zeros(count, dtype.numpy), np.array([seed, call], np.uint64)
    random_kernel(name, dtype)(array.ctypes.data, *numbers, state.ctypes.data, count)
    assert state.tolist() == [seed, call + (count > 0)]
    return array


def test_words_are_those_published_for_philox() -> None:
    """The known answer of Random123 for Philox4x32-10 where counter and key are zero."""
    words = 0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8
    assert [int(x * 2.0**24) for x in uniform(0, 0, 64)[::16]] == [word >> 8 for word in words]
    drawn = uniform(0, 0, 32, gb.float64)[::16]
    assert [int(x * 2.0**27) for x in drawn] == [words[0] >> 5, words[2] >> 5]


@pytest.mark.parametrize("dtype", [gb.float32, gb.float64])
@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("uniform", (0.0, 1.0, 1.0)), ("normal", (0.0, 1.0)), ("bernoulli", (0.4,)), ("log_normal", (0.0, 1.0)),
        ("exponential", (2.0,)), ("cauchy", (1.0, 2.0)), ("geometric", (log1p(-0.3),)), ("integers", (-5, 99)),
    ],
)  # fmt: skip
def test_fewer_numbers_are_the_first_of_more_for_any_threads(
    name: str, numbers: tuple[float, ...], dtype: Any
) -> None:
    before, whole = gb.get_num_threads(), drawn(name, dtype, numbers, 7, 3, COUNT)
    for count in (0, 1, 31, 64, 65, 187):
        assert (drawn(name, dtype, numbers, 7, 3, count) == whole[:count]).all()
    try:
        for threads in (1, 2, 3):
            gb.set_num_threads(threads)
            for count in (COUNT, 100_003):
                assert (drawn(name, dtype, numbers, 7, 3, count) == whole[:count]).all()
    finally:
        gb.set_num_threads(before)
    assert not (drawn(name, dtype, numbers, 7, 4, 64) == whole[:64]).all()
    assert not (drawn(name, dtype, numbers, 8, 3, 64) == whole[:64]).all()


def distance(values: Any, cumulative: Any) -> float:
    """Kolmogorov and Smirnov's distance, times the root of the count."""
    expected = cumulative(np.sort(values.astype(np.float64)))
    steps = np.arange(len(values) + 1) / len(values)
    return float(max((steps[1:] - expected).max(), (expected - steps[:-1]).max()) * sqrt(len(values)))


def normal_cumulative(x: Any) -> Any:
    return np.array([(1 + erf(one / sqrt(2))) / 2 for one in x])


@pytest.mark.parametrize("dtype", [gb.float32, gb.float64])
def test_distributions(dtype: Any) -> None:
    gb.manual_seed(1)
    flat, normal = gb.rand(COUNT, dtype=dtype).numpy(), gb.randn(COUNT, dtype=dtype).numpy()
    assert distance(flat, lambda x: x) < 1.95 and distance(normal, normal_cumulative) < 1.95
    moments = [float((normal.astype(np.float64) ** k).mean()) for k in (1, 2, 3, 4)]
    for found, expected, spread in zip(moments, (0, 1, 0, 3), (1, 2, 15, 96), strict=True):
        assert abs(found - expected) < 4 * sqrt(spread / COUNT)


def test_bytes_are_uniform() -> None:
    for bits in (8, 16, 24):
        found = np.bincount((uniform(2, 0, COUNT) * 2.0**bits).astype(np.int64) & 255, minlength=256)
        expected = COUNT / 256
        assert 170 < ((found - expected) ** 2 / expected).sum() < 350


@pytest.mark.parametrize("dtype", [gb.float32, gb.float64])
def test_neighbours_calls_and_seeds_are_not_correlated(dtype: Any) -> None:
    first = uniform(3, 0, COUNT, dtype).astype(np.float64)
    others = [uniform(3, SECOND_CALL, COUNT, dtype), uniform(4, 0, COUNT, dtype)]
    others += [first[k:] for k in (1, 2, 16, 32, 64)]
    gb.manual_seed(3)
    normal = gb.randn(COUNT, dtype=dtype).numpy().astype(np.float64)
    pairs = [(first, other) for other in others] + [(normal, normal[k:]) for k in (1, 16)]
    pairs += [(normal**2, normal[k:] ** 2) for k in (1, 16)]
    for left, right in pairs:
        count = min(len(left), len(right))
        assert abs(np.corrcoef(left[:count], right[:count])[0, 1]) < 4.5 / sqrt(count)


def test_states_count_calls() -> None:
    generator = gb.Generator().manual_seed(9)
    gb.randn(10, generator=generator)
    state = generator.get_state()
    drawn = [gb.rand(3, generator=generator), gb.zeros(3).exponential_(generator=generator)]
    assert not generator.get_state().equal(state)
    generator.set_state(state)
    assert gb.rand(3, generator=generator).equal(drawn[0])
    assert gb.zeros(3).exponential_(generator=generator).equal(drawn[1])
    copy = generator.clone_state()
    assert gb.rand(5, generator=copy).equal(gb.rand(5, generator=generator))


def test_bounds() -> None:
    gb.manual_seed(0)
    for dtype in (gb.float16, gb.bfloat16, gb.float32, gb.float64):
        x = gb.rand(COUNT, dtype=dtype).to(gb.float64)
        assert x.min().item() >= 0 and x.max().item() < 1
        y = gb.empty(COUNT, dtype=dtype).uniform_(1, 1.0078125).to(gb.float64)
        assert y.min().item() >= 1 and y.max().item() < 1.0078125
    assert gb.zeros(3).uniform_(2, 2).tolist() == [2, 2, 2]
    x = gb.randint(0, 2**32 - 1, (COUNT,))
    assert x.min().item() >= 0 and x.max().item() < 2**32 - 1 and abs(x.double().mean().item() / 2**31 - 1) < 0.01
    assert gb.randint(2**62, 2**62 + 2, (50,)).sub(2**62).unique().tolist() == [0, 1]
    for dtype in (gb.float32, gb.float64, gb.bool):
        assert gb.zeros(COUNT, dtype=dtype).bernoulli_(1).to(gb.bool).all().item()
        assert not gb.ones(COUNT, dtype=dtype).bernoulli_(0).to(gb.bool).any().item()
        share = gb.zeros(COUNT, dtype=dtype).bernoulli_(0.3).double().mean().item()
        assert abs(share - 0.3) < 4 * sqrt(0.21 / COUNT)
    assert gb.bernoulli(gb.tensor([0.0, 1.0]).repeat(1000)).view(1000, 2).unique(dim=0).tolist() == [[0, 1]]
    assert gb.randint(0, 5, (0,)).tolist() == [] and gb.rand(0).tolist() == []


DISTRIBUTIONS: dict[str, tuple[Any, Any]] = {
    "exponential": (lambda x: x.exponential_(2.0), lambda x: 1 - np.exp(-2 * x)),
    "cauchy": (lambda x: x.cauchy_(1.0, 0.5), lambda x: 0.5 + np.arctan((x - 1) / 0.5) / np.pi),
    "log_normal": (
        lambda x: x.log_normal_(0.5, 2.0), lambda x: 0.5 + np.vectorize(erf)((np.log(x) - 0.5) / 2 / sqrt(2)) / 2
    ),
}  # fmt: skip


@pytest.mark.parametrize("dtype", [gb.float32, gb.float64])
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_continuous_distributions(name: str, dtype: Any) -> None:
    gb.manual_seed(5)
    draw, cumulative = DISTRIBUTIONS[name]
    drawn = draw(gb.empty(COUNT, dtype=dtype)).numpy()
    assert distance(drawn, cumulative) < 1.9
    assert name == "cauchy" or drawn.min() > 0


@pytest.mark.parametrize("dtype", [gb.float32, gb.float64, gb.int64, gb.int32])
def test_trials_until_the_first_success(dtype: Any) -> None:
    gb.manual_seed(6)
    counts = np.bincount(gb.empty(COUNT, dtype=dtype).geometric_(0.3).numpy().astype(np.int64), minlength=8)[:8]
    expected = COUNT * np.array([0, *(0.3 * 0.7**k for k in range(7))])
    assert counts[0] == 0 and (abs(counts - expected) < 4.5 * np.sqrt(expected + 1)).all()


def test_exponential_numbers_are_never_zero() -> None:
    for dtype, least in ((gb.float32, 2.0**-24), (gb.float64, 2.0**-53)):
        drawn = gb.empty(COUNT, dtype=dtype).exponential_()
        assert drawn.min().item() >= least and drawn.isfinite().all().item()


FILLS = {
    "uniform_": lambda x: x.uniform_(2, 3),
    "normal_": lambda x: x.normal_(1, 2),
    "exponential_": gb.Tensor.exponential_,
    "random_": lambda x: x.random_(1, 90),
    "bernoulli_": lambda x: x.bernoulli_(0.5),
    "geometric_": lambda x: x.geometric_(0.4),
    "bernoulli_ of chances": lambda x: x.bernoulli_(gb.tensor([0.0, 1.0, 0.5])),
}


@pytest.mark.parametrize("dtype", [gb.float32, gb.float64, gb.bfloat16, gb.float16], ids=str)
@pytest.mark.parametrize("name", FILLS)
def test_only_the_elements_of_a_view_are_filled(name: str, dtype: Any) -> None:
    base = gb.full((9, 7), -7.0, dtype=dtype)
    view = base[1:8:2, ::3]
    version = base._version
    FILLS[name](view)
    assert base._version == version + 1
    outside = gb.ones(9, 7, dtype=gb.bool)
    outside[1:8:2, ::3] = False
    assert (base[outside] == -7).all().item() and not (view == -7).any().item()
    turned = gb.full((3, 5), -7.0, dtype=dtype).t()
    assert turned.shape == (5, 3) and not (FILLS[name](turned) == -7).any().item()


@pytest.mark.parametrize("dtype", [gb.uint8, gb.int8, gb.int16, gb.int32, gb.int64, gb.uint64, gb.bool], ids=str)
def test_integers_of_every_dtype(dtype: Any) -> None:
    high = 2 if dtype is gb.bool else 100
    drawn = gb.empty(4000, dtype=dtype).random_(high)
    assert sorted(set(drawn.tolist())) == list(range(high))


def test_components_of_complex_numbers_are_independent() -> None:
    gb.manual_seed(9)
    drawn = gb.empty(COUNT, dtype=gb.complex64).normal_(3.0, 2.0).numpy()
    assert abs(drawn.mean() - 3) < 0.03
    assert abs(drawn.real.std() - sqrt(2)) < 0.02 and abs(drawn.imag.std() - sqrt(2)) < 0.02
    assert abs(np.corrcoef(drawn.real, drawn.imag)[0, 1]) < 0.01


def counts_fit(drawn: Any, log_chance: Any, least: int, most: int) -> bool:
    """Return whether the counts of some whole numbers are those of a distribution, by the chi-squared statistic."""
    expected = len(drawn) * np.array([exp(log_chance(k)) for k in range(least, most)])
    found = np.bincount(drawn.astype(np.int64), minlength=most)[least:most]
    often = expected > 5
    statistic = ((found - expected)[often] ** 2 / expected[often]).sum()
    return bool(abs(statistic - often.sum()) < 5 * sqrt(2 * often.sum()))


@pytest.mark.parametrize("dtype", [gb.float32, gb.float64])
@pytest.mark.parametrize("rate", [0.02, 1.5, 9.9, 10.0, 14.5, 200.0])
def test_poisson_numbers(rate: float, dtype: Any) -> None:
    gb.manual_seed(4)
    drawn = gb.poisson(gb.full((COUNT,), rate, dtype=dtype)).numpy()
    rate = float(np.array(rate, dtype.numpy))
    most = int(rate + 8 * sqrt(rate) + 8)
    assert counts_fit(drawn, lambda k: k * log(rate) - rate - lgamma(k + 1), max(0, int(rate - 8 * sqrt(rate))), most)


@pytest.mark.parametrize("dtype", [gb.float32, gb.float64])
@pytest.mark.parametrize(("trials", "chance"), [(1, 0.25), (7, 0.75), (30, 0.25), (30, 0.875), (41, 0.5), (1000, 0.25)])
def test_binomial_numbers(trials: int, chance: float, dtype: Any) -> None:
    gb.manual_seed(4)
    drawn = gb.binomial(*(gb.full((COUNT,), float(one), dtype=dtype) for one in (trials, chance))).numpy()
    assert drawn.min() >= 0 and drawn.max() <= trials

    def log_chance(k: int) -> float:
        return log(comb(trials, k)) + k * log(chance) + (trials - k) * log(1 - chance)

    assert counts_fit(drawn, log_chance, 0, trials + 1)


def test_numbers_of_successes_at_the_ends() -> None:
    nan, huge = float("nan"), 1e15
    assert gb.poisson(gb.tensor([0.0, -0.0])).tolist() == [0, 0]
    drawn = gb.poisson(gb.full((2000,), huge, dtype=gb.float64)).sub(huge).div(sqrt(huge))
    assert abs(drawn.mean().item()) < 0.1 and abs(drawn.std().item() - 1) < 0.1
    count = gb.tensor([0.0, 5.0, 5.0, 5.9, -3.0, 5.0, 5.0, nan, 5.0])
    chance = gb.tensor([0.5, 0.0, 1.0, 1.0, 0.5, -1.0, 2.0, 0.5, nan])
    assert gb.binomial(count, chance).nan_to_num(-1.0).tolist() == [0, 0, 5, 5, 0, 0, 5, -1, -1]
    for rates in ([1.0, -1.0], [nan, 1.0]):
        with pytest.raises(RuntimeError, match="non-negative"):
            gb.poisson(gb.tensor(rates))


def test_numbers_by_element_lie_in_any_layout() -> None:
    rates = gb.rand(6, 4).mul_(20)
    gb.manual_seed(2)
    wanted = gb.poisson(rates.clone())
    for laid in (rates.t().contiguous().t(), gb.stack([rates, rates], 2)[:, :, 1]):
        gb.manual_seed(2)
        assert gb.poisson(laid).equal(wanted)
    gb.manual_seed(2)
    assert gb.binomial(gb.tensor([[50.0], [3.0]]), gb.tensor([0.5, 1.0, 0.0])).shape == (2, 3)
    assert gb.poisson(rates.half()).dtype is gb.float16 and gb.poisson(gb.ones(0)).shape == (0,)


def test_every_permutation_is_as_likely() -> None:
    gb.manual_seed(12)
    counts: dict[tuple[int, ...], int] = {}
    for _ in range(12_000):
        drawn = tuple(gb.randperm(4).tolist())
        counts[drawn] = counts.get(drawn, 0) + 1
    assert len(counts) == 24 and sum((count - 500) ** 2 / 500 for count in counts.values()) < 60
    long = gb.randperm(100_003)
    assert long.sort()[0].equal(gb.arange(100_003)) and abs(np.corrcoef(long.numpy(), np.arange(100_003))[0, 1]) < 0.02


def test_places_are_shuffled_in_order() -> None:
    places = np.array([0, 0, 2, 1, 0])
    shuffle_kernel()(places.ctypes.data, len(places))
    assert places.tolist() == [4, 3, 2, 0, 1]
