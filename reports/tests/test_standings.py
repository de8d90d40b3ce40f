"""The README's table of peers says what the committed records say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from gaugeblock_reports.record import load
from gaugeblock_reports.standings import main, read, table
from sample_records import row, run

ROOT = Path(__file__).parents[2]
SCOREBOARD = ROOT / "reports" / "scoreboard"


def test_readme_has_the_table_of_the_committed_records() -> None:
    assert table(read(SCOREBOARD)) in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", sorted(SCOREBOARD.glob("*/record.json")), ids=lambda path: path.parent.name)
def test_committed_records_are_whole_runs(path: Path) -> None:
    made = load(path)
    environment = made["environment"]
    name = f"{environment['name']}-{environment['version'].split('+')[0]}"
    kind = environment["device"].partition(":")[0].lower()
    assert path.parent.name == (name if kind == "cpu" else f"{name}-{kind}")
    assert not environment["selection"]["requirements"] and environment["seed"] == 0
    assert path.stat().st_size < 3_000_000
    assert re.findall(r'File \\"/[^"]*', path.read_text(encoding="utf-8")) == []
    assert [r["id"] for r in made["requirements"] if r["status"] in ("timeout", "xpassed")] == []


def test_a_row_counts_every_status(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    main([str(tmp_path)])
    assert capsys.readouterr().out.count("\n") == 2
    statuses = ("passed", "passed", "xfailed", "failed", "crashed", "skipped")
    rows = [row(f"views/a-{k}", status=status) for k, status in enumerate(statuses)]
    made = run(*rows, name="odd|name", version="1", budget="quick")
    assert table([made]).splitlines()[2] == "| odd\\|name | 1 | quick | 6 | 2 | 0 | 1 | 2 | 1 |"
    made["environment"]["device"] = "cuda:0"
    assert table([made]).splitlines()[2] == "| odd\\|name on cuda | 1 | quick | 6 | 2 | 0 | 1 | 2 | 1 |"
