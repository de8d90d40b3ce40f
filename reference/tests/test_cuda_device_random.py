"""Random numbers on the simulated CUDA device: generators, seeds, states; the order of launches decides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gaugeblock as gb
import pytest


@pytest.fixture(autouse=True)
def driver() -> Iterator[Any]:
    yield gb.cuda.use_driver("simulated", devices=2, total_memory=1 << 28)
    gb.cuda.use_driver(None)


DRAWS = [
    lambda g: gb.rand(4, device="cuda", generator=g), lambda g: gb.randn(4, device="cuda", generator=g),
    lambda g: gb.randint(0, 100, (4,), device="cuda", generator=g),
    lambda g: gb.empty(4, device="cuda").uniform_(generator=g),
    lambda g: gb.zeros(4, device="cuda").normal_(generator=g),
    lambda g: gb.full((9,), 0.5, device="cuda").bernoulli(generator=g),
    lambda g: gb.arange(1.0, 9.0, device="cuda").multinomial(4, generator=g),
    lambda g: gb.zeros(4, device="cuda").exponential_(generator=g),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(DRAWS)))
def test_a_seed_gives_the_same_numbers(number: int) -> None:
    draw = DRAWS[number]
    own = gb.Generator("cuda").manual_seed(3)
    first, second = draw(own), draw(own)
    own.manual_seed(3)
    assert gb.equal(draw(own), first) and gb.equal(draw(own), second)
    gb.cuda.manual_seed(5)
    state = gb.cuda.get_rng_state()
    third = draw(None)
    gb.cuda.set_rng_state(state)
    assert gb.equal(draw(None), third)
    gb.manual_seed(5)
    assert gb.equal(draw(None), third)


def test_generators_belong_to_devices() -> None:
    assert [str(one.device) for one in gb.cuda.default_generators()] == ["cuda:0", "cuda:1"]
    gb.cuda.manual_seed_all(9)
    first, second = gb.rand(4, device="cuda:0"), gb.rand(4, device="cuda:1")
    assert first.tolist() == second.tolist() and gb.cuda.initial_seed() == 9
    with pytest.raises(RuntimeError, match="Expected a 'cuda:0' device type for generator but found 'cpu'"):
        gb.rand(3, device="cuda", generator=gb.Generator())
    with pytest.raises(RuntimeError, match="cpu or cuda"):
        gb.Generator("meta")
    gb.cuda.seed_all()
    assert gb.cuda.initial_seed() != 9 and len(gb.cuda.get_rng_state_all()) == 2


def test_drawing_leaves_the_generator_of_the_cpu_alone() -> None:
    gb.manual_seed(1)
    expected = gb.rand(3)
    gb.manual_seed(1)
    gb.rand(100, device="cuda").tolist()
    gb.nn.functional.dropout(gb.ones(100, device="cuda")).tolist()
    assert gb.equal(gb.rand(3), expected)


def test_dropout_and_permutations() -> None:
    gb.manual_seed(0)
    dropped = gb.nn.functional.dropout(gb.ones(1000, device="cuda"), 0.25)
    assert set(dropped.unique().tolist()) == {0.0, gb.tensor(4 / 3).item()} and 150 < (dropped == 0).sum().item() < 350
    assert sorted(gb.randperm(20, device="cuda").tolist()) == list(range(20))


def test_all_examples_of_a_vmap_get_the_same_numbers_if_asked_to() -> None:
    x = gb.zeros(5, 3, device="cuda")
    same = gb.vmap(gb.rand_like, randomness="same")(x)
    different = gb.vmap(gb.rand_like, randomness="different")(x)
    assert all(gb.equal(row, same[0]) for row in same)
    assert not any(gb.equal(row, different[0]) for row in different[1:])
