"""Snippets of expectation files, run again on the peers that are installed: what they show is what the pages say."""

from __future__ import annotations

import platform

import pytest
from gaugeblock_conformance.expectations import peers
from gaugeblock_conformance.problem import UsageProblem

TRIED = ("x86_64", "AMD64")


@pytest.mark.skipif(platform.machine() not in TRIED, reason=f"snippets were tried on {TRIED[0]} alone")
@pytest.mark.parametrize("folder", peers.load())
def test_pages_are_not_stale(folder: str) -> None:
    try:
        found = peers.stale(peers.load()[folder])
    except UsageProblem as problem:
        pytest.skip(str(problem))
    assert not found, "\n\n".join(map(str, found))
