"""A failure names the use of the backend that raised it, and every operator of a sweep gets its verdict."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gaugeblock_conformance import discovery
from gaugeblock_conformance.exact import exact, use_that_raised
from gaugeblock_conformance.runner.preflight import check_adapter, withdrawn_of
from gaugeblock_conformance.runner.run import Record
from gaugeblock_reports import record as run_record

Run = Callable[..., Record]


def rows_of(record: Record) -> dict[str, Any]:
    run_record.check(record)
    return {row["id"]: row for row in record["requirements"]}


@pytest.mark.parametrize(
    ("backend", "use"),
    [("crashing_backends:Defers", "to_numpy"), ("crashing_backends:DefersAndFinishes", "bitwise_not")],
)
def test_an_error_told_later_ends_no_sweep(run_fake: Run, backend: str, use: str) -> None:
    rows = rows_of(run_fake(backend, suite="fake_suite:reading", check_snippets=True))
    sweep = rows["views/sweep"]
    assert sweep["subresults"] == {"neg": "passed", "bitwise_not": "failed", "clone": "passed"}
    assert sweep["failure"]["message"] == f"{use} raised RuntimeError: there is no kernel"
    assert sweep["failure"]["operator"] == "bitwise_not"
    assert rows["views/read"]["failure"]["message"] == f"{use} raised RuntimeError: there is no kernel"
    assert rows["views/apart"]["status"] == "passed"


def test_the_snippet_waits_where_the_backend_can_be_waited_for(run_fake: Run) -> None:
    rows = rows_of(run_fake("crashing_backends:DefersAndFinishes", suite="fake_suite:reading", check_snippets=True))
    failure = rows["views/read"]["failure"]
    assert failure["snippet"].endswith("\nbackend.finish(backend.call('bitwise_not', x))\n")
    assert failure["snippet_checked"] is True, failure["snippet_result"]


def test_a_result_that_is_no_tensor_is_told_as_that(run_fake: Run) -> None:
    rows = rows_of(run_fake("crashing_backends:GivesNumbers", suite="fake_suite:reading", check_snippets=True))
    for failure in (rows["views/read"]["failure"], rows["views/sweep"]["failure"]):
        assert failure["message"] == "bitwise_not gave an object of type list, not a tensor (ndarray)"
        assert (failure["expected"], failure["got"]) == ("ndarray", "list")
        assert failure["cause"] == "operators give list, not ndarray"
        assert failure["snippet_checked"] is True, failure["snippet_result"]


def test_what_raised_is_noted_in_the_exception(fakes: Path) -> None:
    backend = exact(discovery.load(discovery.resolve("crashing_backends:Defers")))
    x = backend.from_numpy(np.arange(3))
    backend.call("bitwise_not", x)
    with pytest.raises(RuntimeError) as caught:
        backend.shape(x)
    assert use_that_raised(caught.value) == "shape"
    assert use_that_raised(RuntimeError("another")) is None


def test_what_a_module_in_torchs_style_lacks_is_withdrawn(fakes: Path) -> None:
    backend = discovery.load(discovery.resolve("styled_backends:WithoutOut"))
    withdrawn = withdrawn_of(check_adapter(backend))
    assert {"out", "resize"} <= withdrawn.keys()
    assert "unexpected keyword argument 'out'" in withdrawn["out"]
    assert not {"views", "inplace", "reduce", "promote", "index.adv", "matmul"} & withdrawn.keys()
