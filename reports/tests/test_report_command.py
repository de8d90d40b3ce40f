"""``gaugeblock report``."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from gaugeblock_reports.command import command
from gaugeblock_reports.record import RecordError

ENVIRONMENT: dict[str, Any] = {
    "backend": "numpy", "name": "numpy", "version": "2", "device": "cpu", "capabilities": [], "packages": {},
    "platform": "p", "python": "3", "cpu": "c", "cores": 1, "seed": 0, "budget": "quick", "jobs": 1, "timeout": 1.0,
    "memory_limit": 0, "selection": {"areas": [], "level": "may", "requirements": []}, "expectations": None,
    "spec_version": "1", "suite_version": "1", "started": "2026-01-01T00:00:00+00:00",
    "finished": "2026-01-01T00:00:00+00:00", "resumed": False, "seconds": 0.0, "examples": 0,
    "examples_per_second": 0.0, "calls": 0, "tensors": 0, "noncontiguous_share": 0.0,
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    run = {"schema": "gaugeblock-run/1", "environment": ENVIRONMENT, "requirements": []}
    (tmp_path / "record.json").write_text(json.dumps(run))
    return tmp_path


def parse(*argv: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return parser.parse_args(argv)


def test_prints(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.run(parse(str(folder), str(folder / "record.json"))) == 0
    assert capsys.readouterr().out.count("numpy 2 on cpu") == 2


def test_writes(folder: Path) -> None:
    assert command.run(parse(str(folder), "--format", "junit", "--out", str(folder / "x.xml"))) == 0
    assert ET.parse(folder / "x.xml").getroot().get("tests") == "0"


def test_bad_input(folder: Path) -> None:
    with pytest.raises(RecordError, match="unknown format 'pdf'; known: github, html, json, junit, markdown, terminal"):
        command.run(parse(str(folder), "--format", "pdf"))
    with pytest.raises(RecordError, match="--out /dev/null/x: cannot write there"):
        command.run(parse(str(folder), "--out", "/dev/null/x"))
    with pytest.raises(RecordError, match="No such file"):
        command.run(parse(str(folder / "absent")))


SAMPLE = Path(__file__).parent / "data" / "bench_sample.json"


def test_several_runs_go_into_one_file_and_come_back(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    both = folder / "both.json"
    assert command.run(parse(str(folder), str(folder), "--format", "json", "--out", str(both))) == 0
    assert command.run(parse(str(both), "--format", "markdown")) == 0
    assert capsys.readouterr().out.startswith("# Side by side\n")


def test_benchmarks_are_drawn_beside_runs(folder: Path) -> None:
    out = folder / "page.html"
    assert command.run(parse(str(folder), str(SAMPLE), "--format", "html", "--out", str(out))) == 0
    assert 'class="gb-chart"' in out.read_text()
    with pytest.raises(RecordError, match="a benchmark record has no --format terminal; --format html draws it"):
        command.run(parse(str(folder), str(SAMPLE)))
    with pytest.raises(RecordError, match="no run record among"):
        command.run(parse(str(SAMPLE), "--format", "html"))


def test_options_of_other_formats_are_refused(folder: Path) -> None:
    with pytest.raises(RecordError, match="--verbose is for --format terminal, not junit"):
        command.run(parse(str(folder), "--format", "junit", "--verbose"))
    with pytest.raises(RecordError, match="--chapters is for --format html, not junit"):
        command.run(parse(str(folder), "--format", "junit", "--chapters", "https://example.org"))


@pytest.mark.parametrize("arguments", [["nowhere"], ["README.md"], [".", "--format", "pdf"], ["--format"]])
def test_bad_input_is_one_line_and_status_two(arguments: list[str], tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# no record")
    done = subprocess.run(
        [sys.executable, "-m", "gaugeblock_conformance", "report", *arguments],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("gaugeblock")
