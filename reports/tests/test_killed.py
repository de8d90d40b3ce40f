"""The journal of a run that was killed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from gaugeblock_reports import html, terminal
from gaugeblock_reports.record import RecordError, load
from sample_records import row

HEAD = {
    "schema": "gaugeblock-journal/1",
    "configuration": {
        "backend": "torch:cpu",
        "backend version": "2.13.0",
        "device": "cpu",
        "seed": 0,
        "budget": "quick",
        "spec version": "1",
        "suite version": "1",
        "selection": {"areas": [], "level": "may", "requirements": []},
    },
    "started": "2026-01-01T00:00:00+00:00",
}


def journal(folder: Path, *lines: object, tail: str = "") -> Path:
    path = folder / "journal.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines) + tail)
    return path


def test_what_was_decided_is_told(tmp_path: Path) -> None:
    path = journal(tmp_path, HEAD, {"row": row("views/b", "failed")}, {"row": row("storage/a")}, tail='{"row": {"id"')
    record = load(tmp_path)
    assert record == load(path)
    assert [row["id"] for row in record["requirements"]] == ["storage/a", "views/b"]
    assert record["environment"]["name"] == "torch"
    assert record["environment"]["unfinished"] is True
    assert "(an unfinished run): 1 of 2 MUST hold, 1 broken" in html.render([record]).replace("</bdi>", "")
    assert "unfinished" in terminal.render([record])


def test_a_record_goes_before_a_journal(tmp_path: Path) -> None:
    journal(tmp_path, HEAD)
    (tmp_path / "record.json").write_text("{}")
    with pytest.raises(RecordError, match=r"record\.json: schema is None"):
        load(tmp_path)


def test_damage_is_named(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"journal\.jsonl:2: not JSON"):
        load(journal(tmp_path, HEAD, tail="nonsense\n"))
    with pytest.raises(RecordError, match=r"journal\.jsonl:2: not an object"):
        load(journal(tmp_path, HEAD, 3))
    with pytest.raises(RecordError, match="schema is 'x'"):
        load(journal(tmp_path, {"schema": "x"}))
    with pytest.raises(RecordError, match="schema is None"):
        load(journal(tmp_path))
    with pytest.raises(RecordError, match="first line lacks 'configuration'"):
        load(journal(tmp_path, {"schema": HEAD["schema"]}))
    with pytest.raises(RecordError, match=r"requirements\[0\]\.status"):
        load(journal(tmp_path, HEAD, {"row": row("views/a") | {"status": "odd"}}))
