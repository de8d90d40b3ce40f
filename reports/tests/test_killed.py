"""The journal of a run that was killed."""

from __future__ import annotations

import hashlib
import json
import os
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


def with_digest(**line: object) -> dict[str, object]:
    value = hashlib.blake2b(json.dumps(line).encode(), digest_size=8).hexdigest()
    return {**line, "digest": value}


def test_a_modified_line_is_damaged(tmp_path: Path) -> None:
    head = with_digest(**{**HEAD, "schema": "gaugeblock-journal/3"})
    whole = journal(tmp_path, head, with_digest(row=row("views/a")))
    assert [row["id"] for row in load(whole)["requirements"]] == ["views/a"]
    with pytest.raises(RecordError, match=r"journal\.jsonl:2: damaged: its digest does not match"):
        load(journal(tmp_path, head, with_digest(row=row("views/a")) | {"row": row("views/b")}))
    with pytest.raises(RecordError, match=r"journal\.jsonl:2: damaged: its digest does not match"):
        load(journal(tmp_path, head, {"row": row("views/a")}))
    with pytest.raises(RecordError, match=r"journal\.jsonl:3: views/a is decided twice"):
        load(journal(tmp_path, head, with_digest(row=row("views/a")), with_digest(row=row("views/a"))))
    with pytest.raises(RecordError, match=r"journal\.jsonl:2: nested too deeply"):
        load(journal(tmp_path, HEAD, tail="[" * 100_000 + "\n"))
    with pytest.raises(RecordError, match=r"journal\.jsonl:2: not a row of a requirement"):
        load(journal(tmp_path, HEAD, {"row": 3}))


def test_a_record_lists_a_requirement_once(tmp_path: Path) -> None:
    record = load(journal(tmp_path, HEAD, {"row": row("views/a")}))
    record["requirements"] *= 2
    (tmp_path / "record.json").write_text(json.dumps(record))
    with pytest.raises(RecordError, match="views/a occurs twice"):
        load(tmp_path)


@pytest.mark.parametrize("name", ["/dev/zero", "fifo"])
def test_records_are_read_from_regular_files(tmp_path: Path, name: str) -> None:
    if name == "fifo":
        os.mkfifo(tmp_path / name)
    with pytest.raises(RecordError, match="not a regular file"):
        load(tmp_path / name)
