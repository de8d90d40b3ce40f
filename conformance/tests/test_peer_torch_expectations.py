"""torch:meta and wrapped torch, judged on a handful of operators by their files: nothing fails but what these say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from gaugeblock_conformance import command, expectations
from gaugeblock_conformance.expectations import manifest
from gaugeblock_conformance.expectations.peers import load, requirements

WRAPPED = "gaugeblock_conformance.backends.torch_wrapped"
FILES = {
    "torch:meta": "torch-2.13.toml",
    f"{WRAPPED}:UnderMode": "torch-2.13.toml",
    f"{WRAPPED}:References": "torch-refs-2.13.toml",
    f"{WRAPPED}:Compiled:eager": "torch-compile-eager-2.13.toml",
    f"{WRAPPED}:Compiled:aot_eager": "torch-compile-aot_eager-2.13.toml",
}
ASKED = {
    "torch:meta": "--op sub amax sort mm --area operators views",
    f"{WRAPPED}:UnderMode": "--op sub amax sort mm --area operators views",
    f"{WRAPPED}:References": "--op sub amax index_select view --area operators views",
    f"{WRAPPED}:Compiled:eager": "--op exp --requirement iteration/strided-inputs-give-the-same-values",
    f"{WRAPPED}:Compiled:aot_eager": "--op exp --requirement iteration/strided-inputs-give-the-same-values",
}


@pytest.mark.parametrize("name", ["torch-refs", "torch-compile-eager", "torch-compile-aot_eager"])
def test_wrapped_torch_takes_over_what_is_known_of_torch(name: str) -> None:
    found, torch = expectations.shipped(name, "2.13.0+cpu"), expectations.shipped("torch", "2.13.0")
    assert found is not None
    assert torch is not None
    own = {(row.requirement, row.operator) for row in load()[f"{name}-2.13"].rows}
    between = {(row.requirement, row.operator) for row in load()["torch-compile-eager-2.13"].rows}
    expected = manifest.read(found, requirements(), "cpu").expected
    inherited = manifest.read(torch, requirements(), "cpu").expected
    assert expected.keys() == inherited.keys() | own | (between if name == "torch-compile-aot_eager" else set())
    assert all(expected[key].sometimes for key in inherited.keys() - own)


@pytest.mark.parametrize("backend", FILES)
def test_nothing_fails_but_what_is_expected(backend: str, tmp_path: Path) -> None:
    pytest.importorskip("torch", minversion="2.13")
    arguments = [*ASKED[backend].split(), "--budget", "quick", "--total", "none", "--no-snippet-check", "--jobs", "1"]
    status = command.main(["validate", backend, *arguments, "--out", str(tmp_path)])
    record = json.loads((tmp_path / "record.json").read_text())
    assert record["environment"]["expectations"] == f"{FILES[backend]}, shipped with the suite"
    unexpected = {row["id"]: row["failure"] for row in record["requirements"] if row["status"] in ("failed", "xpassed")}
    assert not unexpected
    assert any(row["status"] in ("passed", "partial") for row in record["requirements"])
    assert status == 0
