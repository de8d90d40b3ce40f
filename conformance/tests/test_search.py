"""Properties: arguments read off a code, each example once, failures made small."""

from __future__ import annotations

from typing import Any

import pytest
from gaugeblock_conformance import strategies as st
from gaugeblock_conformance.backend import MissingCapability
from gaugeblock_conformance.backends.reference import ReferenceBackend
from gaugeblock_conformance.budget import STANDARD
from gaugeblock_conformance.failure import NoReproducer
from gaugeblock_conformance.forall import forall
from gaugeblock_conformance.session import ConformanceError, Session
from gaugeblock_conformance.strategies.arguments import Arguments
from gaugeblock_conformance.strategies.code import Digits, Odometer
from hypothesis import given, settings
from hypothesis import strategies as hs


@hs.composite
def _pairs(draw: hs.DrawFn) -> tuple[int, list[int]]:
    size = draw(hs.integers(1, 5))
    return size, draw(hs.permutations(range(size)))


READABLE: dict[str, hs.SearchStrategy[Any]] = {
    "booleans": hs.booleans(),
    "sampled": hs.sampled_from((3, 1, 2)).map(lambda n: 2 * n),
    "just": hs.just(7),
    "none": hs.none() | hs.integers(-3, 3),
    "wide": hs.integers(-(2**63), 2**63 - 1),
    "tuples": hs.tuples(hs.integers(2, 5), hs.booleans()),
    "lists": hs.lists(hs.integers(0, 9), min_size=2, max_size=70),
    "fixed": hs.lists(hs.integers(0, 9), min_size=3, max_size=3),
    "bytes": hs.binary(min_size=4, max_size=4),
    "flat": hs.integers(1, 4).flatmap(lambda n: hs.lists(hs.just(n), min_size=n, max_size=n)),
    "composite": _pairs(),
    "tensor": st.tensors(),
    "shaped": hs.tuples(st.tensors(sizes=hs.lists(hs.sampled_from((2, 0)), max_size=3).map(tuple)), hs.booleans()),
}


def _arguments(**strategies: hs.SearchStrategy[Any]) -> Arguments:
    arguments = Arguments.of(strategies)
    assert arguments is not None
    return arguments


@settings(max_examples=300, deadline=None)
@given(code=hs.binary(min_size=400, max_size=400))
def test_what_is_taken_reads_the_same_again(code: bytes) -> None:
    arguments = _arguments(**READABLE)
    digits = Digits(code)
    values = arguments.read(digits)
    taken = bytes(digits.taken)
    again = Digits(taken)
    assert repr(arguments.read(again)) == repr(values)
    assert bytes(again.taken) == taken
    assert repr(arguments.read_each(arguments.split(taken))) == repr(values)


@settings(max_examples=300, deadline=None)
@given(code=hs.binary(min_size=200, max_size=200))
def test_values_lie_where_the_strategies_say(code: bytes) -> None:
    values = _arguments(**READABLE).read(Digits(code))
    assert values["sampled"] in (6, 2, 4)
    assert values["none"] is None or -3 <= values["none"] <= 3
    assert -(2**63) <= values["wide"] < 2**63
    assert 2 <= len(values["lists"]) <= 70
    assert sorted(values["composite"][1]) == list(range(values["composite"][0]))
    assert values["flat"] == [len(values["flat"])] * len(values["flat"])


def test_zeros_are_the_simplest() -> None:
    values = _arguments(**READABLE).read(Digits(b""))
    assert values["wide"] == 0
    assert values["lists"] == [0, 0]
    assert values["none"] is None
    assert repr(values["tensor"]) == "Tensor(float32, sizes=(), hard, seed=0)"


def test_an_odometer_meets_every_combination_once() -> None:
    arguments = _arguments(n=hs.integers(-1, 1), names=hs.lists(hs.sampled_from("ab"), max_size=2), pair=_pairs())
    digits, seen = Odometer(), []
    while True:
        seen.append(repr(arguments.read(digits)))
        if not digits.turn():
            break
    assert len(seen) == len(set(seen)) == 3 * 7 * (1 + 2 + 6 + 24 + 120)


@pytest.mark.parametrize("strategy", [hs.floats(), hs.integers(), hs.lists(hs.booleans()), hs.integers().filter(bool)])
def test_hypothesis_draws_what_cannot_be_read(strategy: hs.SearchStrategy[Any]) -> None:
    assert Arguments.of({"x": strategy}) is None
    met: list[Any] = []
    _session(lambda s, x: met.append(x), x=strategy)
    assert len(met) > 1


def test_every_example_is_tried_once() -> None:
    met: list[int] = []
    _session(lambda s, n: met.append(n), n=hs.integers(0, 3999))
    assert len(met) == len(set(met)) == STANDARD.examples
    assert met[0] == 0
    few: list[tuple[int, bool]] = []
    _session(lambda s, n, b: few.append((n, b)), n=hs.integers(0, 9), b=hs.booleans())
    assert sorted(few) == [(n, b) for n in range(10) for b in (False, True)]


def test_a_seed_decides_the_examples() -> None:
    runs: list[list[str]] = [[], [], []]
    for met, seed in zip(runs, (1, 1, 2), strict=True):
        _session(lambda s, x, met=met: met.append(repr(x)), seed, x=st.tensors())
    assert runs[0] == runs[1] != runs[2]


@pytest.mark.parametrize(
    ("breaks", "strategies", "smallest"),
    [
        (lambda x: len(x.sizes) > 1, {"x": st.tensors()}, {"x": "Tensor(float32, sizes=(2, 2), hard, seed=0)"}),
        (lambda x, k: x.dtype == "int64" and k > 7, {"x": st.tensors(), "k": hs.integers(-20, 20)},
         {"x": "Tensor(int64, sizes=(), hard, seed=0)", "k": "8"}),
        (lambda v: max(v, default=0) > 49, {"v": hs.lists(hs.integers(0, 60), max_size=20)}, {"v": "[50]"}),
        (lambda a, b: a > 3 and b, {"a": hs.integers(0, 9), "b": hs.booleans()}, {"a": "4", "b": "True"}),
        (lambda p: len(p[1]) > 1 and p[1][0], {"p": _pairs()}, {"p": "(2, [1, 0])"}),
    ],
)  # fmt: skip
def test_failures_are_made_small(breaks: Any, strategies: dict[str, Any], smallest: dict[str, str]) -> None:
    def body(s: Session, **drawn: Any) -> None:
        s.expect(bool(breaks(**drawn)), False, "broken")

    with pytest.raises(ConformanceError) as caught:
        _session(body, **strategies)
    assert caught.value.example == smallest


def test_what_passes_when_run_again_is_said() -> None:
    met: list[int] = []

    def body(s: Session, n: int) -> None:
        met.append(n)
        s.expect(len(met), len(met) if len(met) != 30 else 0, "broken")

    with pytest.raises(ConformanceError, match="not deterministic"):
        _session(body, n=hs.integers(0, 2**30))


def test_a_missing_capability_ends_the_search() -> None:
    met: list[int] = []

    def body(s: Session, n: int) -> None:
        met.append(n)
        s.require("time-travel")

    with pytest.raises(MissingCapability, match="time-travel"):
        _session(body, n=hs.integers(0, 2**30))
    assert len(met) == 1


def _session(body: Any, seed: int = 0, **strategies: Any) -> None:
    def named(s: Session, **drawn: Any) -> None:
        body(s, **drawn)

    forall(**strategies)(named)(Session(ReferenceBackend(), STANDARD, seed))


def test_what_is_drawn_inside_a_test_is_drawn_again_when_it_runs_again() -> None:
    seen: list[tuple[int, list[int]]] = []

    def body(s: Session, data: hs.DataObject, size: int) -> None:
        drawn = size, data.draw(hs.lists(hs.integers(0, 9), min_size=size, max_size=size))
        seen.append(drawn)
        s.expect(sum(drawn[1]) < 10, True, "the sum", NoReproducer("no call was made"))

    with pytest.raises(ConformanceError) as caught:
        forall(data=hs.data(), size=hs.integers(1, 3))(body)(Session(ReferenceBackend(), STANDARD, 0))
    assert caught.value.again is not None
    last = seen[-1]
    for _ in range(2):
        with pytest.raises(ConformanceError, match="the sum"):
            caught.value.again(Session(ReferenceBackend(), STANDARD, 0))
    assert seen[-2:] == [last, last]
