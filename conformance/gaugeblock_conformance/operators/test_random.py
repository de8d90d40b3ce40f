"""Random numbers: what a seed repeats, and where the draws lie."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as hs

from .. import strategies as st
from ..backend import Array, DType
from ..failure import NoReproducer
from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session

_UNTOLD = NoReproducer("the test judges all elements of random draws together")

_DRAWS = ("rand", "randn", "randint", "randperm", "bernoulli", "normal_", "uniform_", "multinomial")


def _draw(s: Session, name: str, count: int) -> Handle:
    flat = s.tensor(np.full(count, 0.5, np.float32))
    calls = {
        "randint": lambda: s.call("randint.low", -1000, 1000, (count,)),
        "randperm": lambda: s.call("randperm", count),
        "bernoulli": lambda: s.call("bernoulli", flat),
        "normal_": lambda: s.call("normal_", flat, 1.0, 2.0),
        "uniform_": lambda: s.call("uniform_", flat, -1.0, 1.0),
        "multinomial": lambda: s.call("multinomial", flat, count, True),
    }
    y: Handle = calls[name]() if name in calls else s.call(name, (count,))
    return y


def _values(s: Session, y: Handle) -> Array:
    return s.read(y).copy()


@requirement("operators/a-seed-repeats-the-draws")
@forall(name=hs.sampled_from(_DRAWS), count=st.thresholds(), seed=hs.integers(0, 2**31), weight=0.5)
def test_seeds(s: Session, name: str, count: int, seed: int) -> None:
    s.call("manual_seed", seed)
    first, second = _values(s, _draw(s, name, count)), _values(s, _draw(s, name, count))
    s.call("manual_seed", seed)
    s.expect_values(_draw(s, name, count), first)
    s.expect_values(_draw(s, name, count), second)
    if count >= 64:
        s.expect(bool((first == second).all()), False, f"two draws of {name} with one seed are equal", _UNTOLD)


@requirement("operators/a-seed-repeats-the-draws")
def test_other_seeds_give_other_draws(s: Session) -> None:
    seen = set()
    for seed in range(5):
        s.call("manual_seed", seed)
        seen.add(_values(s, _draw(s, "rand", 16)).tobytes())
    s.expect(len(seen), 5, "different draws of five seeds", _UNTOLD)


@requirement("operators/draws-stay-in-their-range")
@forall(
    count=st.thresholds(),
    seed=hs.integers(0, 999),
    low=hs.integers(-5, 5),
    width=hs.sampled_from([1, 2, 7, 300]),
    dtype=st.dtypes("float32", "float64", "float16", "bfloat16"),
    weight=0.5,
)
def test_ranges(s: Session, count: int, seed: int, low: int, width: int, dtype: str) -> None:
    s.call("manual_seed", seed)
    _between(s, s.call("rand", (count,), dtype=DType(dtype)), 0, 1, f"rand of {dtype}")
    _between(s, s.call("uniform_", s.tensor(np.zeros(count), dtype), float(low), float(low + width)), low, low + width,
             f"uniform_ of {dtype}")  # fmt: skip
    _between(s, s.call("randint.low", low, low + width, (count,)), low, low + width, "randint")
    drawn = s.call("random_.from", s.tensor(np.zeros(count, np.int32)), low, low + width)
    _between(s, drawn, low, low + width, "random_")
    y = s.call("randperm", count)
    order, text = np.sort(_values(s, y)), f"sorted({s.dialect.whole(y.name)}) == list(range({count}))"
    s.expect(bool((order == np.arange(count)).all()), True, "randperm has each number once", text, [y])
    y = s.call("bernoulli", s.tensor(np.full(count, 0.5, np.float32)))
    text = f"set({s.dialect.whole(y.name)}) <= {{0.0, 1.0}}"
    s.expect(set(_values(s, y).tolist()) <= {0.0, 1.0}, True, "bernoulli gives zeros and ones", text, [y])


def _between(s: Session, y: Handle, low: float, high: float, what: str) -> None:
    got = _values(s, y).astype(np.float64)
    text = f"all({low} <= value < {high} for value in {s.dialect.whole(y.name)})"
    s.expect(bool(((got >= low) & (got < high)).all()), True, f"{what} within [{low}, {high})", text, [y])


@requirement("operators/draws-stay-in-their-range")
def test_distributions(s: Session) -> None:
    """Means and spreads of many draws, within six standard errors."""
    s.call("manual_seed", 3)
    count = 20000
    for name, mean, spread in (
        ("rand", 0.5, 12**-0.5), ("randn", 0.0, 1.0), ("normal_", 1.0, 2.0), ("uniform_", 0.0, 3**-0.5)
    ):  # fmt: skip
        got = _values(s, _draw(s, name, count)).astype(np.float64)
        off = abs(got.mean() - mean) <= 6 * spread / count**0.5
        s.expect(bool(off), True, f"mean of {name}", _UNTOLD)
        s.expect(bool(abs(got.std() / spread - 1) <= 6 / count**0.5), True, f"spread of {name}", _UNTOLD)
    chance = s.call("bernoulli_.float", s.tensor(np.zeros(count, np.float32)), 0.25)
    share = float(_values(s, chance).mean())
    s.expect(abs(share - 0.25) <= 6 * (0.1875 / count) ** 0.5, True, "share of ones of bernoulli_(0.25)", _UNTOLD)


# Call, mean and variance of one draw, and the least and largest draw.
_LAWS: tuple[tuple[str, tuple[Any, ...], float, float, float, float], ...] = (
    ("geometric_", (0.0, 0.25), 4.0, 12.0, 1.0, np.inf),
    ("poisson", (3.0,), 3.0, 3.0, 0.0, np.inf),
    ("poisson", (0.0,), 0.0, 0.0, 0.0, 0.0),
    ("binomial", (10.0, 0.25), 2.5, 1.875, 0.0, 10.0),
    ("binomial", (7.0, 1.0), 7.0, 0.0, 7.0, 7.0),
    ("exponential_", (0.0, 2.0), 0.5, 0.25, 0.0, np.inf),
    ("normal.Tensor_float", (2.0, 0.5), 2.0, 0.25, -np.inf, np.inf),
    ("normal.float_Tensor", (2.0, 0.5), 2.0, 0.25, -np.inf, np.inf),
    ("normal.Tensor_Tensor", (-1.0, 3.0), -1.0, 9.0, -np.inf, np.inf),
    ("normal.float_float", (-1.0, 3.0), -1.0, 9.0, -np.inf, np.inf),
)
# Which of the arguments are tensors; the others are numbers.
_FILLED = {"binomial": (0, 1), "normal.float_Tensor": (1,), "normal.Tensor_Tensor": (0, 1), "normal.float_float": ()}


@requirement("operators/draws-follow-their-distribution")
def test_laws(s: Session) -> None:
    """Means within six standard errors, and variances within a tenth; the draws are many."""
    count = 20000

    def body(
        s: Session, name: str, values: tuple[float, ...], mean: float, spread: float, low: float, high: float
    ) -> None:
        s.call("manual_seed", 5)
        filled = _FILLED.get(name, (0,))
        given = [s.tensor(np.full(count, v, np.float32)) if k in filled else v for k, v in enumerate(values)]
        size = [(count,)] if name == "normal.float_float" else []
        got = _values(s, s.call(name, *given, *size)).astype(np.float64)
        s.expect(bool(abs(got.mean() - mean) <= 6 * (spread / count) ** 0.5), True, f"mean of {name}", _UNTOLD)
        s.expect(bool(abs(got.var() - spread) <= 0.1 * spread), True, f"variance of {name}", _UNTOLD)
        s.expect(bool((got >= low).all() and (got <= high).all()), True, f"range of {name}", _UNTOLD)

    s.table(_LAWS, body)


@requirement("operators/draws-follow-their-distribution")
def test_quartiles(s: Session) -> None:
    """Shares below the quartiles, where there is no mean, or none that is soon reached."""
    count = 20000
    cauchy = [1.5, 2.0, 2.5]
    log_normal = np.exp(1 + 0.5 * np.array([-0.6744897501960817, 0.0, 0.6744897501960817])).tolist()
    for name, numbers, quartiles in (("cauchy_", (2.0, 0.5), cauchy), ("log_normal_", (1.0, 0.5), log_normal)):
        s.call("manual_seed", 5)
        got = _values(s, s.call(name, s.tensor(np.zeros(count, np.float32)), *numbers)).astype(np.float64)
        for share, quartile in zip((0.25, 0.5, 0.75), quartiles, strict=True):
            off = abs((got < quartile).mean() - share)
            near = off <= 6 * (share * (1 - share) / count) ** 0.5
            s.expect(bool(near), True, f"quartile {share} of {name}", _UNTOLD)
