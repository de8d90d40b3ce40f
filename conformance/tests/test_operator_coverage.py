"""The generic operator tests: no row of the operator table is left out without being named."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from gaugeblock_conformance.operators import coverage, drawing, judging, wishes
from gaugeblock_conformance.operators.calls import schema_arguments
from gaugeblock_conformance.oracles.near import Unjudged
from gaugeblock_spec import operators, requirements, samples


def test_every_row_is_judged_or_named() -> None:
    """A row without an oracle or samples stands in operators/unjudged.txt, and no other does."""
    assert set(coverage.unjudged()) - set(coverage.named_as_unjudged()) == set()
    assert set(coverage.named_as_unjudged()) - set(coverage.unjudged()) == set()


def test_rows_judged_elsewhere_name_a_requirement() -> None:
    assert set(coverage.ELSEWHERE) <= set(operators.load())
    assert set(coverage.ELSEWHERE.values()) <= set(requirements.load())


def test_samples_name_rows_and_their_arguments() -> None:
    for name, facts in ((name, facts) for name, forms in samples.load().items() for facts in forms):
        if name in operators.load():
            arguments = {argument.name for argument in schema_arguments(name)}
            assert set(facts) <= arguments, name
            for fact in facts.values():
                if isinstance(fact, samples.TensorFact):
                    assert {fact.of, fact.dim} - {""} <= arguments, name


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("N k", "sizes 'N k'; allowed: letters"),
        ("n | indx", "values 'indx'; allowed: index"),
        ("like", "sizes 'like'"),
        (3, "3 is neither a text nor a list"),
    ],
)
def test_wrong_sample_is_named(text: object, message: str) -> None:
    with pytest.raises(samples.SampleError, match=message):
        samples.parse(text)


def test_calls_are_drawn_alike_and_differ() -> None:
    for name in coverage.swept():
        random = np.random.default_rng(zlib.crc32(name.encode()))
        codes = [random.bytes(wishes.CODE_LENGTH) for _ in range(4)]
        drawn = [repr(drawing.draw(name, code)) for code in codes]
        assert drawn == [repr(drawing.draw(name, code)) for code in codes]
        assert len(set(drawn)) > 1 or len(schema_arguments(name)) < 2, name


def test_oracles_answer_for_drawn_calls() -> None:
    for name in coverage.swept():
        call = drawing.draw(name, bytes(wishes.CODE_LENGTH), least=1)
        try:
            assert judging.expected(call) is not None
        except Unjudged:
            continue
